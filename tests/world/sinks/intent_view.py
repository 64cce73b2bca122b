"""View of a feed's intents from outside: each at the moment when it is committed."""

from __future__ import annotations

from collections.abc import Callable

from aggregator.intents.intent import Intent, decode
from aggregator.intents.intent_store import groups_of
from balancer.plan import TopicPartition
from tests.world.checks.log_reading import LogReading
from tests.world.kafka.group_requests import OffsetCommit
from tests.world.kafka.kafka_cluster import GROUPS, KafkaCluster
from tests.world.kafka.log_batch import Batch
from tests.world.kafka.partition import Partition

Seen = Callable[[TopicPartition, Intent], object]


class IntentView:
    """Observer of the partitions that keep a feed's intents.

    Args:
        seen: called with each intent once it is committed.
    """

    def __init__(self, cluster: KafkaCluster, feed: str, seen: Seen) -> None:
        self._seen = seen
        self._groups = frozenset(groups_of(feed))
        self._readings: dict[int, LogReading] = {}
        self._pending: dict[tuple[int, int], list[OffsetCommit]] = {}
        for partition in cluster.topics[GROUPS].partitions:
            self._readings[partition.number] = LogReading(partition)
            partition.observers.append(self)

    def appended(self, partition: Partition, broker: int, batch: Batch) -> None:
        pass

    def advanced(self, partition: Partition) -> None:
        for batch in self._readings[partition.number].batches():
            writer = partition.number, batch.producer_id
            if batch.is_marker:
                for commit in self._pending.pop(writer, []):
                    if batch.is_commit:
                        self._show(commit)
            elif isinstance(batch.value, OffsetCommit) and batch.value.group in self._groups:
                if batch.is_transactional:
                    self._pending.setdefault(writer, []).append(batch.value)
                else:
                    self._show(batch.value)

    def _show(self, commit: OffsetCommit) -> None:
        for (topic, number), (offset, text) in commit.rows:
            # A fence confirms its coordinator by an offset without text, which it aborts.
            if text:
                self._seen(TopicPartition(topic, number), decode(offset, text))
