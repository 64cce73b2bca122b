"""Logs of a feed's partitions from outside: each with its committed records, also once a cut or
another topic of the name has ended it.

A cut leaves the records below it: they are of the same origin in both logs.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from balancer.topic_partition import TopicPartition
from tests.replicator.batches.source_batches import Record, decoded
from tests.world.checks.log_reading import LogReading
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.kafka.partition import Observer, Partition

W = TypeVar("W")


@dataclass(slots=True, eq=False)
class SeenLog(Generic[W]):
    """Log with the records that were committed in it.

    Args:
        number: of the log, from 0 on.
        cut: first offset that is not the former log's; 0 for another topic of the name.
    """

    number: int
    reading: LogReading
    cut: int = 0
    offsets: list[int] = field(default_factory=list)
    records: dict[int, W] = field(default_factory=dict)
    origins: dict[int, int] = field(default_factory=dict)
    """Numbers of the logs in which the records came."""

    def between(self, begin: int, end: int) -> list[int]:
        """Returns the offsets of the records at begin..end-1."""
        return self.offsets[bisect_left(self.offsets, begin) : bisect_left(self.offsets, end)]


class RecordOfLog(NamedTuple):
    """A record, in whichever log it came first.

    Args:
        origin: number of that log.
    """

    place: TopicPartition
    origin: int
    offset: int


class SeenLogs(Observer, Generic[W]):
    """Observer of the partitions of a feed, whose topics may lose records, or come back.

    Args:
        wanted: returns the destination of a record of a partition.
    """

    def __init__(
        self,
        cluster: KafkaCluster,
        places: Iterable[TopicPartition],
        wanted: Callable[[TopicPartition, Record], W],
    ) -> None:
        self._cluster, self._wanted = cluster, wanted
        self.of: dict[TopicPartition, list[SeenLog[W]]] = {it: [] for it in places}
        self.seen_at: dict[TopicPartition, dict[int, float]] = {it: {} for it in self.of}
        """Times at which the records of today's log could be read."""
        for place in self.of:
            self._begin(place, 0)

    def changed(self, place: TopicPartition, cut: int) -> None:
        """Begins another log.

        Args:
            cut: first offset that is not the former log's; 0 for another topic of the name.
        """
        self._begin(place, cut)

    def today(self, place: TopicPartition) -> SeenLog[W]:
        """Returns the log of now."""
        return self.of[place][-1]

    @property
    def offsets(self) -> dict[TopicPartition, list[int]]:
        """Offsets of the records of today's logs."""
        return {place: logs[-1].offsets for place, logs in self.of.items()}

    def between(self, place: TopicPartition, begin: int, end: int) -> list[tuple[int, W]]:
        """Returns the records of today's log with offsets begin..end-1."""
        log = self.today(place)
        return [(offset, log.records[offset]) for offset in log.between(begin, end)]

    def end(self, place: TopicPartition) -> int:
        """Returns the offset up to which everything was read."""
        return self.today(place).reading.position

    def advanced(self, partition: Partition) -> None:
        place = TopicPartition(partition.topic, partition.number)
        log = self.today(place)
        if log.reading.partition is not partition:
            return
        former = self.of[place][-2] if len(self.of[place]) > 1 else None
        for batch in log.reading.batches():
            for record in decoded(batch.data) if not batch.is_marker else ():
                at = record.offset
                is_former = former is not None and at < log.cut and at in former.records
                log.offsets.append(at)
                log.records[at] = self._wanted(place, record)
                log.origins[at] = former.origins[at] if former and is_former else log.number
                self.seen_at[place].setdefault(at, time.monotonic())

    def _begin(self, place: TopicPartition, cut: int) -> None:
        partition = self._cluster.partition(*place)
        assert partition is not None
        reading = LogReading(partition, is_stable=True)
        self.of[place].append(SeenLog(len(self.of[place]), reading, cut))
        seen = self.seen_at[place]
        self.seen_at[place] = {at: seconds for at, seconds in seen.items() if at < cut}
        if self not in partition.observers:
            partition.observers.append(self)
        self.advanced(partition)
