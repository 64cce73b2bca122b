"""View of what is told of a feed's objects, from outside."""

from __future__ import annotations

from collections.abc import Callable

from aggregator.objects.forgotten import decoded as told_of
from aggregator.objects.told_object import ToldObject
from aggregator.s3.object_listing import ToldRecord
from replicator.config.names import objects_topic
from tests.replicator.batches.source_batches import decoded
from tests.world.checks.log_reading import LogReading
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.kafka.log_batch import Batch
from tests.world.kafka.partition import Observer, Partition


class ToldView(Observer):
    """Observer of the topic of a feed's objects.

    Args:
        seen: called with what each record says, once its transaction is committed.
    """

    def __init__(
        self, cluster: KafkaCluster, feed: str, seen: Callable[[ToldRecord], object]
    ) -> None:
        self._seen = seen
        self.sent: set[str] = set()
        """Keys of objects with records on disk, committed or not."""
        self._any: dict[int, LogReading] = {}
        self._stable: dict[int, LogReading] = {}
        for partition in cluster.topics[objects_topic(feed)].partitions:
            self._any[partition.number] = LogReading(partition)
            self._stable[partition.number] = LogReading(partition, is_stable=True)
            partition.observers.append(self)

    def advanced(self, partition: Partition) -> None:
        for batch in self._any[partition.number].batches():
            self.sent |= {it.key for it in _told(batch) if isinstance(it, ToldObject)}
        for batch in self._stable[partition.number].batches():
            for each in _told(batch):
                self._seen(each)


def _told(batch: Batch) -> list[ToldRecord]:
    if batch.is_marker:
        return []
    return [told_of(record.key or b"", record.value) for record in decoded(batch.data)]
