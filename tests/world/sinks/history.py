"""History of one seed: a feed that is loaded while loaders, servers and brokers fail.

At the end the faults are mended, and every record has to be its rows on every replica, or a dead
letter, within a bound of virtual time.
"""

from __future__ import annotations

import asyncio

from aggregator.loader.loader_assembly import MAKERS, Makers
from replicator.kafka.client.loss import LossKind
from tests.world.outcome import Outcome
from tests.world.replay import WHOLE, Replay, replayed
from tests.world.sinks import letters, loader_faults, markers, other_logs, resting
from tests.world.sinks.end_checks import differences
from tests.world.sinks.faults import FAULTS, REBUILDS
from tests.world.sinks.feed_history import FeedHistory
from tests.world.sinks.keeper import KeptTable
from tests.world.sinks.log_checks import LogChecks
from tests.world.sinks.scene import Course, Scene
from tests.world.sinks.sink_loop import SinkLoop, run

REFUSAL = (497, "Not enough privileges")


class History(FeedHistory[Scene]):
    """History of one scene."""

    async def before_faults(self) -> None:
        """Lets tables take no inserts; the others are loaded within the course's bound (45). Or
        watches what becomes of partitions with fatal records, and of the others."""
        scene, checks = self.scene, self.scene.checks
        if scene.feeding.defect and not scene.course.accepting:
            self._watch = scene.loop.in_background(self._keep_watching())
        if not scene.course.stalls:
            return
        assert checks is not None
        stalled = [scene.feeding.keeper.tables[name] for name in scene.course.stalls]
        if scene.course.returns_seconds:
            for number, table in enumerate(stalled):
                scene.loop.in_background(self._refuse(table, number))
            return
        for table in stalled:
            table.refusal = REFUSAL
        while scene.loop.time() < scene.course.seconds:
            await asyncio.sleep(1.0)
            checks.check_waits(scene.course.stalls, scene.course.bound_seconds)

    async def _keep_watching(self) -> None:
        checks = self.scene.checks
        assert checks is not None
        while self.is_loaded:
            checks.check_parked()
            await asyncio.sleep(1.0)

    async def _refuse(self, table: KeptTable, number: int) -> None:
        """Lets a table take inserts and not, in turns, beside all other faults."""
        await asyncio.sleep(number * self.scene.course.returns_seconds / 4)
        while self.is_loaded:
            table.refusal = REFUSAL
            await asyncio.sleep(self.scene.course.returns_seconds)
            table.refusal = None
            await asyncio.sleep(self.scene.course.returns_seconds / 4)
        table.refusal = None

    def mend_store(self) -> None:
        feeding = self.scene.feeding
        if feeding.defect:
            feeding.defect.is_mended = True
        for server in feeding.servers.values():
            if not server.is_up:
                server.start()
            server.resume()
            server.open_session()
            server.create_tables()
            server.loses_answers, server.slowness = False, 1.0
        for table in feeding.keeper.tables.values():
            table.is_full, table.refusal = False, None
        if self.scene.letters:
            self.scene.letters.topic.limit(letters.LIMITS[-1])

    async def while_waiting(self) -> None:
        """Lets partitions go on that are parked for a dead letter."""
        if self.scene.course.accepting:
            await other_logs.accept_losses(self.scene)
        elif self.scene.feeding.defect:
            await resting.accept_letters(self.scene, LossKind.LOADER_FAILED)
        elif self.scene.course.driving or self.scene.letters:
            await resting.accept_letters(self.scene)

    def differences(self) -> list[str]:
        if isinstance(self.scene.checks, LogChecks):
            return self.scene.checks.differences()
        assert self.scene.checks is not None
        found = differences(self.scene.feeding, self.scene.checks)
        if self.scene.letters:
            found += self.scene.letters.differences(self.scene.checks.intents)
        return found


def play(
    seed: int, course: Course | None = None, makers: Makers = MAKERS, replay: Replay = WHOLE
) -> Outcome:
    """Plays the history of a seed; raises Wrong with the history's log."""

    def make(loop: SinkLoop) -> History:
        found = course or Course()
        named = (
            *other_logs.FAULTS,
            *REBUILDS,
            *resting.FAULTS,
            *loader_faults.CLOCKS,
            *letters.FAULTS,
            *markers.FAULTS,
            *markers.BESIDE_LOGS,
        )
        faults = (*FAULTS, *(named if found.only else ()))
        return History(Scene(loop, seed, found, makers), faults, replay)

    return replayed(seed, make, replay, run)
