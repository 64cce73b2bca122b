"""View of a feed's topics from outside: every committed record, with its destination."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from balancer.plan import TopicPartition
from tests.replicator.batches.source_batches import Record, decoded
from tests.world.checks.log_reading import LogReading
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.kafka.partition import Observer, Partition

W = TypeVar("W")


class SourceView(Observer, Generic[W]):
    """Observer of the partitions of a feed.

    Args:
        wanted: returns the destination of a record of a partition.
    """

    def __init__(
        self,
        cluster: KafkaCluster,
        places: Iterable[TopicPartition],
        wanted: Callable[[TopicPartition, Record], W],
    ) -> None:
        self._wanted = wanted
        self.offsets: dict[TopicPartition, list[int]] = {}
        self.records: dict[TopicPartition, dict[int, W]] = {}
        self.seen_at: dict[TopicPartition, dict[int, float]] = {}
        """Times at which the records could be read."""
        self._readings: dict[TopicPartition, LogReading] = {}
        for place in places:
            partition = cluster.partition(*place)
            assert partition is not None
            self.offsets[place], self.records[place], self.seen_at[place] = [], {}, {}
            self._readings[place] = LogReading(partition, is_stable=True)
            partition.observers.append(self)

    def advanced(self, partition: Partition) -> None:
        place = TopicPartition(partition.topic, partition.number)
        for batch in self._readings[place].batches():
            for record in decoded(batch.data) if not batch.is_marker else ():
                self.offsets[place].append(record.offset)
                self.records[place][record.offset] = self._wanted(place, record)
                self.seen_at[place][record.offset] = time.monotonic()

    def between(self, place: TopicPartition, begin: int, end: int) -> list[tuple[int, W]]:
        """Returns the records with offsets begin..end-1."""
        offsets, records = self.offsets[place], self.records[place]
        found = offsets[bisect_left(offsets, begin) : bisect_left(offsets, end)]
        return [(offset, records[offset]) for offset in found]

    def end(self, place: TopicPartition) -> int:
        """Returns the offset up to which everything was read."""
        return self._readings[place].position
