"""Truth about an upsert table, from its ticks as they are committed and the logs alone.

By brute force: of all records below the ends of a tick, the newest of each key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aggregator.upsert.tick import Lane, Tick
from aggregator.upsert.tick_codec import decode
from replicator.config.names import upsert_group
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from tests.world.checks.commit_view import CommitView
from tests.world.checks.records_of_log import RecordsOfLog
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.sinks.loaded_feed import FEED
from tests.world.upserts.load import Told, told
from tests.world.upserts.stored import TABLE

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
    """

    def __init__(self, home: KafkaCluster, wrong: Callable[[str], object]) -> None:
        self._wrong = wrong
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

    def _tick_seen(self, tick: Tick) -> None:
        known = self.ticks.get(tick.number)
        if known is not None:
            if known != tick:
                self._wrong(f"tick {tick.number} is cut again: {known} and {tick} (65)")
            return
        before = self.ticks.get(tick.number - 1)
        if tick.number > 1 and before is None:
            self._wrong(f"tick {tick.number} follows none (65)")
        if before is not None:
            self._check_following(before, tick)
        self.ticks[tick.number] = tick

    def _check_following(self, before: Tick, tick: Tick) -> None:
        if tick.lanes[: len(before.lanes)] != before.lanes:
            self._wrong(f"lanes of {before} have other numbers in {tick} (66)")
        if tick.time_ms < before.time_ms:
            self._wrong(f"tick {tick.number} is before {before.number} in time (65)")
        for lane, old, new in zip(tick.lanes, before.ranges, tick.ranges, strict=False):
            if new.begin != old.end:
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
            self.told[number] = {
                lane: {at: it for at, it in self._told(lane, end).items() if at >= begin}
                for lane, (begin, end) in zip(tick.lanes, tick.ranges, strict=True)
                if end > begin
            }
        return self.told[number]

    def newest(self, number: int) -> dict[int, Best]:
        """Returns the newest record of each key below the ends of a tick."""
        if number not in self._visible:
            found = dict(self.newest(number - 1))
            tick = self.ticks[number]
            for lane, records in self.rows_of(number).items():
                for offset, row in records.items():
                    if row is not None:
                        best = (row.version, tick.lanes.index(lane), offset), row
                        found[row.key] = max(best, found.get(row.key, best))
            self._visible[number] = found
        return self._visible[number]

    def visible(self, number: int) -> list[SeenRow]:
        """Returns the rows that a query sees at a tick, sorted."""
        rows = (row for _, row in self.newest(number).values() if not row.is_delete)
        return sorted((it.key, it.version, it.name, 0) for it in rows)
