"""History of one seed: a feed that is loaded while loaders, servers and brokers fail.

At the end the faults are mended, and every record has to be its rows on every replica, or a dead
letter, within a bound of virtual time.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field

from aggregator.loader.assembly import MAKERS, Makers
from tests.world.checks.wrong import Wrong, shown
from tests.world.sinks.end_checks import differences
from tests.world.sinks.faults import FAULTS
from tests.world.sinks.loader_faults import Fault
from tests.world.sinks.scene import Course, Scene
from tests.world.sinks.sink_loop import SinkLoop, run

QUIET_SECONDS = 120.0
"""Bound for the end: virtual time within which everything has to be loaded without faults."""
DEALT_SHARE = 0.5
"""Share of the kinds of faults that one seed deals."""


@dataclass(slots=True)
class Outcome:
    """Result of a history."""

    seed: int
    records: int
    parts: int
    seconds: float
    steps: int
    log: list[str] = field(default_factory=list)


class History:
    """History of one scene."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.is_loaded = True
        only = scene.course.only
        self.dealt: list[tuple[Fault, int]] = [
            (fault, fault.weight * scene.dice.choice([1, 2, 4]))
            for fault in FAULTS
            if (fault.name in only if only else scene.dice.random() < DEALT_SHARE)
        ]

    async def run(self) -> Outcome:
        scene, loop = self.scene, self.scene.loop
        scene.tell("deals " + ", ".join(fault.name for fault, _ in self.dealt))
        await scene.begin()
        await scene.plan()
        load = [
            asyncio.create_task(sender.keep_sending(lambda: self.is_loaded, 8, 2.0))
            for sender in scene.senders
        ]
        if scene.course.stalls:
            await self._stall()
        kinds, weights = zip(*self.dealt, strict=True)
        while loop.time() < scene.course.seconds:
            await asyncio.sleep(scene.dice.expovariate(1 / scene.course.fault_seconds))
            await scene.dice.choices(kinds, weights)[0].act(scene)
        self.is_loaded = False
        self._mend()
        await asyncio.gather(*load)
        await self._settle()
        await scene.feeding.close()
        assert scene.checks is not None
        return Outcome(
            scene.seed,
            sum(map(len, scene.checks.source.offsets.values())),
            sum(len(table.log) for table in scene.feeding.keeper.tables.values()),
            loop.time(),
            loop.steps,
            scene.log,
        )

    async def _stall(self) -> None:
        """Lets a table take no inserts; the others are loaded within the course's bound (45)."""
        scene, checks = self.scene, self.scene.checks
        assert checks is not None
        stalled = scene.feeding.keeper.tables[scene.course.stalls]
        stalled.refusal = (497, "Not enough privileges")
        while scene.loop.time() < scene.course.seconds:
            await asyncio.sleep(1.0)
            checks.check_waits(stalled.name, scene.course.bound_seconds)

    def _mend(self) -> None:
        scene = self.scene
        scene.tell("all is mended")
        scene.feeding.cluster.mend()
        for server in scene.feeding.servers.values():
            if not server.is_up:
                server.start()
            server.resume()
            server.open_session()
            server.loses_answers, server.slowness = False, 1.0
        for table in scene.feeding.keeper.tables.values():
            table.is_full, table.refusal = False, None
        for loader in scene.feeding.loaders:
            if loader.is_stopped:
                loader.resume()

    async def _settle(self) -> None:
        """Waits until both ends are the same; raises Wrong if they do not become so."""
        scene = self.scene
        assert scene.checks is not None
        await scene.end_faults()
        give_up_at = scene.loop.time() + QUIET_SECONDS
        while differing := differences(scene.feeding, scene.checks):
            if scene.loop.time() > give_up_at:
                raise Wrong("; ".join(differing))
            await asyncio.sleep(1.0)


def play(seed: int, course: Course | None = None, makers: Makers = MAKERS) -> Outcome:
    """Plays the history of a seed; raises Wrong with the history's log."""
    random.seed(seed)
    scenes: list[Scene] = []

    async def main(loop: SinkLoop) -> Outcome:
        scenes.append(Scene(loop, seed, course or Course(), makers))
        return await History(scenes[0]).run()

    try:
        found: Outcome = run(main)
    except Exception as wrong:
        told = scenes[0].log if scenes else []
        raise Wrong(f"seed {seed}: {shown(wrong)}", told) from wrong
    return found
