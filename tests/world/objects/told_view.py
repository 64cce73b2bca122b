"""View of what is told of a feed's objects, from outside."""

from __future__ import annotations

from collections.abc import Callable

from aggregator.objects.told_object import ToldObject, decode
from replicator.config.names import objects_topic
from tests.replicator.batches.source_batches import decoded
from tests.world.checks.log_reading import LogReading
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.kafka.log_batch import Batch
from tests.world.kafka.partition import Observer, Partition


class ToldView(Observer):
    """Observer of the topic of a feed's objects.

    Args:
        seen: called with each object that is told of once the transaction is committed.
    """

    def __init__(
        self, cluster: KafkaCluster, feed: str, seen: Callable[[ToldObject], object]
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
            self.sent |= {each.key for each in _told(batch)}
        for batch in self._stable[partition.number].batches():
            for each in _told(batch):
                self._seen(each)


def _told(batch: Batch) -> list[ToldObject]:
    if batch.is_marker:
        return []
    return [decode(record.key or b"", record.value or b"") for record in decoded(batch.data)]
