"""View of the ledger from outside: the entries that are committed, each at the moment it is."""

from __future__ import annotations

from collections.abc import Callable

from balancer.plan import TopicPartition
from replicator.config.names import PLAN_TOPIC
from replicator.config.topology import Route
from replicator.mirror.ledger.entry import Entry, decode
from replicator.mirror.ledger.ledger import group_of, groups_of
from tests.world.checks.log_reading import LogReading
from tests.world.kafka.group_requests import OffsetCommit, TopicDeletion
from tests.world.kafka.kafka_cluster import GROUPS, KafkaCluster
from tests.world.kafka.log_batch import Batch
from tests.world.kafka.partition import Partition

Seen = Callable[[TopicPartition, Entry], object]


class EntryView:
    """Observer of the partitions that keep a route's ledger.

    Args:
        seen: called with each entry once it is committed.
    """

    def __init__(self, cluster: KafkaCluster, route: Route, seen: Seen) -> None:
        self.entries: dict[TopicPartition, Entry] = {}
        self._seen = seen
        self._cluster, self._route = cluster, route
        self._groups = frozenset(groups_of(route))
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
            elif batch.is_transactional:
                self._pending.setdefault(writer, []).append(batch.value)
            elif isinstance(batch.value, OffsetCommit):
                self._show(batch.value)
            elif isinstance(batch.value, TopicDeletion):
                self._forget(batch.value.topic, partition)

    def _forget(self, topic: str, log: Partition) -> None:
        """Forgets the entries of a deleted topic, as far as this log keeps them."""
        for place in [it for it in self.entries if it.topic == topic]:
            if self._cluster.internal(GROUPS, group_of(self._route, place)) is log:
                del self.entries[place]

    def _show(self, commit: OffsetCommit) -> None:
        if commit.group not in self._groups:
            return
        for (topic, number), (offset, metadata) in commit.rows:
            if topic == PLAN_TOPIC:
                continue  # an aborted confirmation whose marker was left out
            place, entry = TopicPartition(topic, number), decode(offset, metadata)
            self.entries[place] = entry
            self._seen(place, entry)
