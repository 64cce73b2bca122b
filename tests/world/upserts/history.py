"""History of one seed: an upsert table that is kept while daemons, servers and brokers fail.

At the end the faults are mended. Within a bound of virtual time every record has to be in a claimed
tick, every server has to show what brute force says, settled as well, and each broken record has
to be one dead letter.
"""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from aggregator.upsert.query_mark import FRESH, SETTLED
from aggregator.upsert.tick import Lane
from tests.world.checks.wrong import Wrong
from tests.world.faults.dealer import Dealer, SharedDice, all_of, some_of
from tests.world.outcome import Outcome
from tests.world.replay import WHOLE, Replay, replayed
from tests.world.sinks.letter_view import RecordPlace
from tests.world.sinks.sink_loop import run
from tests.world.upserts import world_store
from tests.world.upserts.daemon import played
from tests.world.upserts.faults import FAULTS, NAMED, order_rotation
from tests.world.upserts.load import SEND_COUNT_MAX, SENDS_PER_SECOND
from tests.world.upserts.log_faults import accept, is_there
from tests.world.upserts.scene import Course, Scene, UpsertLoop

LOAD_SECONDS = 60.0


class UpsertHistory:
    """History of one scene."""

    def __init__(self, scene: Scene, replay: Replay) -> None:
        self.scene = scene
        self.is_loaded = True
        only = scene.course.only
        kinds = (
            all_of([it for it in (*FAULTS, *NAMED) if it.name in only], scene.dice)
            if only
            else some_of(FAULTS, scene.dice)
        )
        self.dealer = Dealer(kinds, SharedDice(replay.dice), replay.left_out)

    async def run(self) -> Outcome:
        scene, loop = self.scene, self.scene.loop
        self.dealer.tell(scene)
        scene.start_daemon()
        load = [
            asyncio.create_task(
                sender.keep_sending(lambda: self.is_loaded, SEND_COUNT_MAX, SENDS_PER_SECOND)
            )
            for sender in scene.senders
        ]
        looking = loop.in_background(self._keep_looking())
        while loop.time() < scene.course.seconds:
            await self.dealer.deal(scene)
        self.is_loaded = False
        self._mend()
        async with asyncio.timeout(LOAD_SECONDS):
            await asyncio.gather(*load)
        await self._settle()
        looking.cancel()
        await scene.close()
        checks = scene.checks
        scene.tell(
            f"{checks.claimed} ticks, settled {checks.settled}, horizon {checks.horizon}, "
            f"{len(scene.keeper.dropped)} parts dropped, {checks.shown} answers"
        )
        records = sum(len(it.offsets) for it in scene.truth.records.values())
        return Outcome(scene.seed, records, loop.time(), loop.steps, scene.log)

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(1.0)
            self.scene.checks.look()

    def _mend(self) -> None:
        scene = self.scene
        scene.tell("all is mended")
        scene.is_mended = True
        for cluster in scene.clusters.values():
            cluster.mend()
        for server in scene.servers.values():
            if not server.is_up:
                server.start()
            server.resume()
            server.open_session()
            server.loses_answers, server.slowness = False, 1.0
            server.lagging.clear()
            server.mutates_at = 0.0
            server.create_tables()
        for table in scene.keeper.tables.values():
            table.is_full, table.refusal = False, None
        for daemon in scene.daemons:
            if daemon.process.is_stopped:
                daemon.process.resume()
        if not scene.daemons[-1].is_running:
            scene.start_daemon()

    async def _settle(self) -> None:
        await self._be_right()
        if self.scene.rotated_at:
            order_rotation(self.scene)
            await self._be_right()

    async def _be_right(self) -> None:
        give_up_at = self.scene.loop.time() + self.scene.course.quiet_seconds
        while differing := self._differences():
            if self.scene.loop.time() > give_up_at:
                raise Wrong("; ".join(differing))
            accept(self.scene)
            await asyncio.sleep(1.0)

    def _differences(self) -> list[str]:
        scene, truth, checks = self.scene, self.scene.truth, self.scene.checks
        newest = truth.ticks.get(max(truth.ticks, default=0))
        if newest is None or checks.claimed != newest.number:
            return [f"{checks.claimed} ticks are claimed, {len(truth.ticks)} were cut"]
        found = []
        ends = dict(zip(newest.lanes, newest.ends, strict=True))
        stopped = {newest.lanes[it.lane] for it in newest.stops if it.is_accepted}
        for lane, records in truth.records.items():
            if is_there(scene, lane):
                left = [it for it in records.offsets if it >= ends.get(lane, 0)]
                if left:
                    found.append(f"{lane} has {len(left)} records behind {ends.get(lane)}")
            elif lane in ends and lane not in stopped:
                found.append(f"{lane} is gone, and not stopped")
        keeper = scene.daemons[-1].tables.keepers[0]
        folder = keeper.checkpoint.folder if keeper.checkpoint else Path()
        if scene.rotated_at > world_store.began_at(folder):
            found.append(f"the state was not read anew since {scene.rotated_at:.1f} s (68)")
        for server in scene.servers.values():
            for at in (FRESH, SETTLED):
                answer = checks.answer(server, at)
                if answer is None or answer[0] != newest.number:
                    found.append(f"{server.name} is at {answer and answer[0]} at {at}")
        return found + self._letters()

    def _letters(self) -> list[str]:
        truth = self.scene.truth
        wanted, allowed = set(), set()
        for number in truth.ticks:
            for lane, records in truth.rows_of(number).items():
                for offset, row in records.items():
                    if row is None:
                        place = RecordPlace(lane.topic, lane.partition, offset)
                        (allowed if self._is_lost(lane, offset) else wanted).add(place)
        sent = {place for place, count in self.scene.letters.committed.items() if count}
        if wanted <= sent <= wanted | allowed:
            return []
        return [f"no letter: {sorted(wanted - sent)}; foreign: {sorted(sent - wanted - allowed)}"]

    def _is_lost(self, lane: Lane, offset: int) -> bool:
        """Returns True for a record that its log has lost, perhaps before anybody read it."""
        cluster = self.scene.clusters[lane.cluster]
        partition = cluster.partition(lane.topic_id, lane.partition)
        return partition is None or offset < min(it.start for it in partition.logs.values())


def play(
    seed: int,
    course: Course | None = None,
    replay: Replay = WHOLE,
) -> Outcome:
    """Plays the history of a seed; raises Wrong with the history's log."""

    def make(loop: UpsertLoop) -> UpsertHistory:
        return UpsertHistory(Scene(loop, seed, course or Course()), replay)

    with played(course or Course()):
        return replayed(seed, make, replay, partial(run, make_loop=UpsertLoop))
