"""Faults of loaders and of their driver, whichever store their feed has."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextvars import Context
from typing import Any, Protocol

from aggregator.intents.intent import Intent
from tests.world.faults.fault import Fault
from tests.world.kafka.kafka_cluster import TRANSACTIONS
from tests.world.kafka.log_batch import Batch
from tests.world.kafka.partition import Observer, Partition
from tests.world.kafka.transaction_log import State, Transaction
from tests.world.process import Process
from tests.world.sinks.feed_scene import FeedScene

WINDOW_SECONDS = 30.0
"""Time for which ClickHouse keeps hashes of blocks. Longer than any server is stopped: operators
have to choose it so (docs/aggregate.md). Loaders are stopped, and are absent, for longer than it.
"""
LOADER = re.compile(r"sluice\.feed\..*\.\d+(~\d+)?")
"""Transactional ids of loaders."""
STOP_SECONDS = (0.5, 3.0, 7.0, 20.0, 1.3 * WINDOW_SECONDS)


class TimedScene(Protocol):
    """Scene with a loop."""

    @property
    def loop(self) -> asyncio.AbstractEventLoop: ...


def later(scene: TimedScene, seconds: float, act: Callable[..., object], *args: Any) -> None:
    """Does something after some time, outside of all processes."""
    scene.loop.call_later(seconds, act, *args, context=Context())


def strike_later(
    scene: FeedScene[Any], seconds: float, strike: Callable[[Process], object], victim: Process
) -> None:
    """Strikes a loader after some time, unless all is mended by then."""

    def act() -> None:
        if not scene.is_mended:
            strike(victim)

    later(scene, seconds, act)


def kill_or_stop(
    scene: FeedScene[Any], victim: Process, stop_seconds: float | None, where: str
) -> None:
    """Kills a loader, or stops it for some seconds.

    Args:
        stop_seconds: None: it is killed.
        where: tells at what, in the history's log.
    """
    if stop_seconds is None:
        scene.tell(f"kill {victim.name}{where}")
        victim.kill()
        return
    scene.tell(f"stop for {stop_seconds} s {victim.name}{where}")
    victim.stop()
    later(scene, stop_seconds, victim.resume)


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
    strike_later(scene, seconds, Process.kill, victim)


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
    delay = scene.dice.uniform(0.0, 0.02)

    def strike(intent: Intent) -> None:
        victim = scene.holder_of(intent.transactional_id)
        if victim is not None:
            strike_later(scene, delay, hit, victim)

    def hit(victim: Process) -> None:
        kill_or_stop(scene, victim, None if kills else seconds, " at its intent")
        scene.plan_soon()

    assert scene.checks is not None
    scene.checks.armed = strike


class _Amid(Observer):
    """Acts once, when a loader's transaction has begun.

    Args:
        act: is told the transactional id.
    """

    def __init__(self, act: Callable[[str], object]) -> None:
        self._act: Callable[[str], object] | None = act

    def appended(self, partition: Partition, broker: int, batch: Batch) -> None:
        found = batch.value
        is_loader = isinstance(found, Transaction) and LOADER.fullmatch(found.transactional_id)
        if self._act and is_loader and found.state is State.ONGOING:
            act, self._act = self._act, None
            act(found.transactional_id)


async def stop_amid_transaction(scene: FeedScene[Any]) -> None:
    """Stops a loader amid a commit, mostly until its coordinator has aborted it. Without a new
    plan, it has to notice by itself that it has lost its id."""
    seconds, delay = scene.dice.choice(STOP_SECONDS[2:]), scene.dice.uniform(0.0, 0.01)
    plans = scene.dice.random() < 0.3

    def strike(transactional_id: str) -> None:
        victim = scene.holder_of(transactional_id)
        if victim is not None:
            strike_later(scene, delay, stop, victim)

    def stop(victim: Process) -> None:
        scene.tell(f"stop for {seconds} s {victim.name} amid a transaction")
        victim.stop()
        later(scene, seconds, victim.resume)
        if plans:
            scene.plan_soon()

    amid = _Amid(strike)
    for partition in scene.feeding.cluster.topics[TRANSACTIONS].partitions:
        partition.observers.append(amid)


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


async def set_clock_at_intent(scene: FeedScene[Any]) -> None:
    """Stops a loader just when an intent of its is committed, until tables have forgotten its
    block, and sets its clock meanwhile."""
    seconds, delay = STOP_SECONDS[-1], scene.dice.uniform(0.0, 0.01)

    def strike(intent: Intent) -> None:
        victim = scene.holder_of(intent.transactional_id)
        if victim is not None:
            strike_later(scene, delay, hit, victim)

    def hit(victim: Process) -> None:
        before = victim.clock_ahead
        scene.feeding.set_clock(victim)
        gained = victim.clock_ahead - before
        scene.tell(f"stop for {seconds} s {victim.name}, whose clock is set by {gained:+.0f} s")
        victim.stop()
        later(scene, seconds, victim.resume)
        scene.plan_soon()

    assert scene.checks is not None
    scene.checks.armed = strike


CLOCKS = (Fault("set a clock at an intent", set_clock_at_intent, 8),)
"""Dealt only where a course names it."""
FAULTS = (
    Fault("kill a loader", kill_loader, 4),
    Fault("kill a loader soon", kill_loader_soon, 3),
    Fault("stop a loader", stop_loader, 4),
    Fault("strike at an intent", strike_at_intent, 4),
    Fault("stop a loader amid a transaction", stop_amid_transaction, 2),
    Fault("new epoch", new_epoch, 2),
    Fault("new driver", new_driver, 1),
    Fault("outage", outage, 1),
)
