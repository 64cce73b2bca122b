"""Truth about an upsert table, from its ticks as they are committed and the logs alone.

By brute force: of all records below the ends of a tick, the newest of each key. What a log has lost
before it was stored, and an operator has accepted, is the only thing that is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from aggregator.upsert.tick import Lane, Stop, Tick
from aggregator.upsert.tick_codec import decode
from replicator.config.names import upsert_group
from replicator.kafka.client.loss import Loss, LossKind
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from tests.world.checks.commit_view import CommitView
from tests.world.checks.records_of_log import RecordsOfLog
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.sinks.loaded_feed import FEED
from tests.world.upserts.load import Told, told
from tests.world.upserts.stored import DAY_SECONDS, TABLE

if TYPE_CHECKING:
    from tests.world.upserts.scene import Course

SeenRow = tuple[int, int, str, int]
"""Columns of a row that a query sees: id, version, name, gone."""
Best = tuple[tuple[int, int, int], Told]
"""Order of a record, and its row."""


class TickView(CommitView):
    """Observer of the ticks in the home cluster.

    Args:
        seen: called with each tick that is committed.
    """

    def __init__(self, cluster: KafkaCluster, seen: Callable[[Tick], object]) -> None:
        self._group = upsert_group(FEED, TABLE, 0)
        super().__init__(cluster, [self._group])
        self._seen = seen

    def offset_seen(self, topic: str, number: int, offset: int, metadata: str) -> None:
        if metadata:
            self._seen(decode({0: OffsetAndMetadata(offset, metadata)}))


class Truth:
    """Truth of one table.

    Args:
        wrong: called with what is wrong.
        tick_seen: called with each tick that is committed.
    """

    def __init__(self, home: KafkaCluster, course: Course, wrong: Callable[[str], object]) -> None:
        self._course, self._wrong = course, wrong
        self.tick_seen: list[Callable[[Tick], object]] = []
        self.accepted: set[Stop] = set()
        """Losses that an operator has accepted."""
        self.ticks: dict[int, Tick] = {}
        """Ticks that were committed, by number."""
        self.records: dict[Lane, RecordsOfLog] = {}
        """Records of all logs that there are or were."""
        self._visible: dict[int, dict[int, Best]] = {0: {}}
        self.told: dict[int, dict[Lane, dict[int, Told | None]]] = {}
        """Rows that the records of each tick tell."""
        self.view = TickView(home, self._tick_seen)

    def watch(self, cluster: str, partition: Any) -> None:
        """Takes down the records of a partition from now on."""
        lane = Lane(cluster, partition.topic, partition.topic_id, partition.number)
        self.records[lane] = RecordsOfLog(partition, is_stable=True)

    def lanes_at(self, topic: str, partition: int) -> list[Lane]:
        """Returns the lanes with a name and a number: one for each time the topic was created."""
        return [it for it in self.records if (it.topic, it.partition) == (topic, partition)]

    def _tick_seen(self, tick: Tick) -> None:
        known = self.ticks.get(tick.number)
        if known is not None:
            if replace(known, gaps=()) != replace(tick, gaps=()):
                self._wrong(f"tick {tick.number} is cut again: {known} and {tick} (65)")
            self._check_gaps(known, tick)
            self.ticks[tick.number] = tick
            return
        before = self.ticks.get(tick.number - 1)
        if tick.number > 1 and before is None:
            self._wrong(f"tick {tick.number} follows none (65)")
        if before is not None:
            self._check_following(before, tick)
        self.ticks[tick.number] = tick
        for act in [*self.tick_seen]:
            act(tick)

    def _check_gaps(self, before: Tick, tick: Tick) -> None:
        if lost := [it for it in before.gaps if it.is_accepted and it not in tick.gaps]:
            self._wrong(f"tick {tick.number} forgets the accepted gaps {lost} (66)")
        for gap in tick.gaps:
            if gap.is_accepted and not self._is_accepted(gap):
                self._wrong(f"tick {tick.number} leaves out {gap}, which nobody accepted (66)")

    def _is_accepted(self, stop: Stop) -> bool:
        return stop._replace(is_accepted=False) in self.accepted

    def _check_following(self, before: Tick, tick: Tick) -> None:
        if tick.lanes[: len(before.lanes)] != before.lanes:
            self._wrong(f"lanes of {before} have other numbers in {tick} (66)")
        if tick.time_ms < before.time_ms:
            self._wrong(f"tick {tick.number} is before {before.number} in time (65)")
        losses = {it.lane: it.loss for it in (*before.gaps, *before.stops) if self._is_accepted(it)}
        for number, (old, new) in enumerate(zip(before.ranges, tick.ranges, strict=False)):
            lane = tick.lanes[number]
            if new.begin != old.end and not _goes_on(losses.get(number), new.begin):
                passed = [it for it in self._told(lane, new.begin) if it >= old.end]
                self._wrong(f"{lane} goes from {old.end} to {new.begin}, past {passed} (66)")

    def _told(self, lane: Lane, end: int) -> dict[int, Told | None]:
        """Returns what the records of a lane below an offset tell, by offset."""
        offsets, values = self.records[lane].up_to(end)
        return {at: told(value) for at, value in zip(offsets, values, strict=True)}

    def rows_of(self, number: int) -> dict[Lane, dict[int, Told | None]]:
        """Returns what the records of a tick tell, by lane and offset."""
        if number not in self.told:
            tick = self.ticks[number]
            # What is older has no row (retention).
            since_ms = tick.time_ms - round(self._course.retention_hours * 3_600_000)
            self.told[number] = {
                lane: {
                    at: it
                    for at, it in self._told(lane, end).items()
                    if at >= begin and (it is None or it.at_ms >= since_ms)
                }
                for lane, (begin, end) in zip(tick.lanes, tick.ranges, strict=True)
                if end > begin
            }
        return self.told[number]

    def gap_of(self, number: int) -> set[tuple[Lane, int]]:
        """Returns the records of a tick that may have no row: an operator accepted their loss."""
        tick = self.ticks[number]
        gaps = [(tick.lanes[it.lane], it.loss) for it in tick.gaps if it.is_accepted]
        return {
            (lane, offset)
            for lane, loss in gaps
            for offset in self.rows_of(number).get(lane, ())
            if loss.begin <= offset and (loss.end is None or offset < loss.end)
        }

    def leave_out(self, number: int, records: Iterable[tuple[Lane, int]]) -> None:
        """Takes records of a tick for lost: they have no row."""
        for lane, offset in records:
            del self.rows_of(number)[lane][offset]

    def newest(self, number: int) -> dict[int, Best]:
        """Returns the newest record of each key below the ends of a tick."""
        if number not in self._visible:
            found = dict(self.newest(number - 1))
            tick = self.ticks[number]
            for lane, records in self.rows_of(number).items():
                for offset, row in records.items():
                    if row is not None:
                        order = row.at_ms if self._course.is_by_time else row.version
                        best = (order, tick.lanes.index(lane), offset), row
                        found[row.key] = max(best, found.get(row.key, best))
            self._visible[number] = found
        return self._visible[number]

    def visible(self, number: int) -> list[SeenRow]:
        """Returns the rows that a query sees at a tick, sorted: none of a day of UTC that is over
        by its time."""
        since_s = 0
        if number:
            time_ms = self.ticks[number].time_ms
            since_s = round(time_ms - self._course.retention_hours * 3_600_000) // 1000
        begin_s = since_s - since_s % DAY_SECONDS
        rows = (
            row
            for _, row in self.newest(number).values()
            if not row.is_delete and row.at_ms // 1000 >= begin_s
        )
        return sorted((it.key, it.version, it.name, 0) for it in rows)


def _goes_on(loss: Loss | None, begin: int) -> bool:
    """Returns True if a lane may go on at an offset behind a loss that was accepted."""
    if loss is None:
        return False
    if loss.kind is LossKind.SOURCE_TRUNCATED:
        return loss.begin <= begin
    return loss.end == begin
