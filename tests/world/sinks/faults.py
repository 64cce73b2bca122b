"""Faults of a feed: loaders, drivers and servers of ClickHouse; brokers fail as for carriers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context
from dataclasses import dataclass
from typing import Any

from aggregator.intents.intent import Intent
from tests.world.faults import brokers
from tests.world.process import Process
from tests.world.sinks.scene import WINDOW_SECONDS, Scene

STOP_SECONDS = (0.5, 3.0, 7.0, 20.0, 1.3 * WINDOW_SECONDS)


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of fault.

    Args:
        name: for people.
        act: does it, by the scene's dice. Whatever has to be mended later, it mends itself.
        weight: how often it is dealt, compared with the others.
    """

    name: str
    act: Callable[[Any], Awaitable[None]]
    weight: int = 1


def later(scene: Scene, seconds: float, act: Callable[..., object], *args: Any) -> None:
    """Does something after some time, outside of all processes."""
    scene.loop.call_later(seconds, act, *args, context=Context())


# -- loaders and their driver


async def kill_loader(scene: Scene) -> None:
    if running := scene.running():
        victim = scene.dice.choice(running)
        scene.tell(f"kill {victim.name}")
        victim.kill()
    if scene.dice.random() < 0.8:
        await scene.plan()


async def kill_loader_soon(scene: Scene) -> None:
    """Kills a loader while it takes over, or loads for the first time."""
    await scene.plan()
    victim = scene.dice.choice(scene.running())
    seconds = scene.dice.uniform(0.05, 1.5)
    scene.tell(f"kill {victim.name} in {seconds:.2f} s")
    later(scene, seconds, victim.kill)


async def stop_loader(scene: Scene) -> None:
    if running := scene.running():
        victim = scene.dice.choice(running)
        seconds = scene.dice.choice(STOP_SECONDS)
        scene.tell(f"stop {victim.name} for {seconds} s")
        victim.stop()
        later(scene, seconds, victim.resume)
    if scene.dice.random() < 0.7:
        await scene.plan()


async def strike_at_intent(scene: Scene) -> None:
    """Kills or stops a loader just when an intent of its is committed, and its blocks go out."""
    kills, seconds = scene.dice.random() < 0.5, scene.dice.choice(STOP_SECONDS)
    delay = scene.dice.uniform(0.0, 0.02)

    def strike(intent: Intent) -> None:
        victim = scene.holder_of(intent)
        if victim is not None:
            later(scene, delay, hit, victim)

    def hit(victim: Process) -> None:
        scene.tell(f"{'kill' if kills else f'stop for {seconds} s'} {victim.name} at its intent")
        if kills:
            victim.kill()
        else:
            victim.stop()
            later(scene, seconds, victim.resume)
        scene.plan_soon()

    assert scene.checks is not None
    scene.checks.armed = strike


async def new_epoch(scene: Scene) -> None:
    await scene.plan()


async def new_driver(scene: Scene) -> None:
    scene.tell("a new driver")
    await scene.feeding.lead_again()
    await scene.plan()


async def outage(scene: Scene) -> None:
    """Ends all loaders, for longer than tables know the hashes of their blocks."""
    seconds = scene.dice.uniform(1.1, 1.5) * WINDOW_SECONDS
    scene.tell(f"no loader for {seconds:.0f} s")
    for loader in scene.running():
        loader.kill()
    await asyncio.sleep(seconds)
    await scene.plan()


# -- servers


async def kill_server(scene: Scene) -> None:
    server = scene.any_server()
    if server.is_up:
        seconds = scene.dice.uniform(0.2, 15.0)
        scene.tell(f"kill {server.name} for {seconds:.1f} s")
        server.kill()
        later(scene, seconds, server.start)


async def stop_server(scene: Scene) -> None:
    server = scene.any_server()
    if server.is_up and not server.is_stopped:
        seconds = scene.dice.choice([0.5, 4.0, 7.0, 12.0, 20.0])
        scene.tell(f"stop {server.name} for {seconds} s")
        server.stop()
        later(scene, seconds, server.resume)


async def slow_server(scene: Scene) -> None:
    server = scene.any_server()
    server.slowness = scene.dice.choice([30.0, 300.0])
    scene.tell(f"{server.name} is slow")
    later(scene, scene.dice.uniform(1.0, 10.0), setattr, server, "slowness", 1.0)


async def cut_lines(scene: Scene) -> None:
    server = scene.any_server()
    scene.tell(f"cut {len(server.lines)} connections of {server.name}")
    for line in list(server.lines):
        line.cut(ConnectionResetError(104, "Connection reset by peer"))


async def lose_session(scene: Scene) -> None:
    server = scene.any_server()
    seconds = scene.dice.uniform(0.2, 10.0)
    scene.tell(f"{server.name} loses its session for {seconds:.1f} s")
    server.lose_session()
    later(scene, seconds, server.open_session)


async def lose_answers(scene: Scene) -> None:
    server = scene.any_server()
    scene.tell(f"{server.name} loses answers of the keeper")
    server.loses_answers = True
    later(scene, scene.dice.uniform(0.5, 3.0), setattr, server, "loses_answers", False)


async def refuse_inserts(scene: Scene) -> None:
    table = scene.dice.choice(list(scene.feeding.keeper.tables.values()))
    seconds = scene.dice.uniform(1.0, 15.0)
    scene.tell(f"{table.name} takes no inserts for {seconds:.1f} s")
    if scene.dice.random() < 0.5:
        table.is_full = True
    else:
        table.refusal = (497, "Not enough privileges")

    def relent() -> None:
        table.is_full, table.refusal = False, None

    later(scene, seconds, relent)


FAULTS = (
    Fault("kill a loader", kill_loader, 4),
    Fault("kill a loader soon", kill_loader_soon, 3),
    Fault("stop a loader", stop_loader, 4),
    Fault("strike at an intent", strike_at_intent, 4),
    Fault("new epoch", new_epoch, 2),
    Fault("new driver", new_driver, 1),
    Fault("outage", outage, 1),
    Fault("kill a server", kill_server, 3),
    Fault("stop a server", stop_server, 3),
    Fault("slow server", slow_server, 2),
    Fault("cut lines", cut_lines, 3),
    Fault("lose a session", lose_session, 2),
    Fault("lose answers", lose_answers, 3),
    Fault("refuse inserts", refuse_inserts, 1),
    *(Fault(each.name, each.act, 1) for each in brokers.FAULTS),
)
