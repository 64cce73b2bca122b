"""Faults of loaders and of their driver, whichever store their feed has."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context
from dataclasses import dataclass
from typing import Any

from aggregator.intents.intent import Intent
from tests.world.process import Process
from tests.world.sinks.feed_scene import FeedScene

WINDOW_SECONDS = 30.0
"""Time for which ClickHouse keeps hashes of blocks. Longer than any server is stopped: operators
have to choose it so (docs/aggregate.md). Loaders are stopped, and are absent, for longer than it.
"""
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


def later(scene: FeedScene[Any], seconds: float, act: Callable[..., object], *args: Any) -> None:
    """Does something after some time, outside of all processes."""
    scene.loop.call_later(seconds, act, *args, context=Context())


async def kill_loader(scene: FeedScene[Any]) -> None:
    if running := scene.running():
        victim = scene.dice.choice(running)
        scene.tell(f"kill {victim.name}")
        victim.kill()
    if scene.dice.random() < 0.8:
        await scene.plan()


async def kill_loader_soon(scene: FeedScene[Any]) -> None:
    """Kills a loader while it takes over, or loads for the first time."""
    await scene.plan()
    victim = scene.dice.choice(scene.running())
    seconds = scene.dice.uniform(0.05, 1.5)
    scene.tell(f"kill {victim.name} in {seconds:.2f} s")
    later(scene, seconds, victim.kill)


async def stop_loader(scene: FeedScene[Any]) -> None:
    if running := scene.running():
        victim = scene.dice.choice(running)
        seconds = scene.dice.choice(STOP_SECONDS)
        scene.tell(f"stop {victim.name} for {seconds} s")
        victim.stop()
        later(scene, seconds, victim.resume)
    if scene.dice.random() < 0.7:
        await scene.plan()


async def strike_at_intent(scene: FeedScene[Any]) -> None:
    """Kills or stops a loader just when an intent of its is committed, and its blocks go out."""
    kills, seconds = scene.dice.random() < 0.5, scene.dice.choice(STOP_SECONDS)
    delay, plans = scene.dice.uniform(0.0, 0.02), scene.dice.random() < 0.7

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
        # Without a new plan it has to notice by itself that its transaction is over.
        if plans:
            scene.plan_soon()

    assert scene.checks is not None
    scene.checks.armed = strike


async def new_epoch(scene: FeedScene[Any]) -> None:
    await scene.plan()


async def new_driver(scene: FeedScene[Any]) -> None:
    scene.tell("a new driver")
    await scene.feeding.lead_again()
    await scene.plan()


async def outage(scene: FeedScene[Any]) -> None:
    """Ends all loaders, for longer than tables know the hashes of their blocks."""
    seconds = scene.dice.uniform(1.1, 1.5) * WINDOW_SECONDS
    scene.tell(f"no loader for {seconds:.0f} s")
    for loader in scene.running():
        loader.kill()
    await asyncio.sleep(seconds)
    await scene.plan()


FAULTS = (
    Fault("kill a loader", kill_loader, 4),
    Fault("kill a loader soon", kill_loader_soon, 3),
    Fault("stop a loader", stop_loader, 4),
    Fault("strike at an intent", strike_at_intent, 4),
    Fault("new epoch", new_epoch, 2),
    Fault("new driver", new_driver, 1),
    Fault("outage", outage, 1),
)
