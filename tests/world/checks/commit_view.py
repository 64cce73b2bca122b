"""View of committed offsets from outside: each commit at the moment when readers see it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tests.world.checks.log_reading import LogReading
from tests.world.kafka.group_requests import OffsetCommit
from tests.world.kafka.kafka_cluster import GROUPS, KafkaCluster
from tests.world.kafka.partition import Observer, Partition


class CommitView(Observer):
    """Observer of the partitions that keep the offsets of some groups."""

    def __init__(self, cluster: KafkaCluster, groups: Collection[str]) -> None:
        self._groups = frozenset(groups)
        self._readings: dict[int, LogReading] = {}
        self._pending: dict[tuple[int, int], list[OffsetCommit]] = {}
        for partition in cluster.topics[GROUPS].partitions:
            self._readings[partition.number] = LogReading(partition)
            partition.observers.append(self)

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
            else:
                self.other_seen(partition, batch.value)

    def _show(self, commit: OffsetCommit) -> None:
        if commit.group in self._groups:
            for (topic, number), (offset, metadata) in commit.rows:
                self.offset_seen(topic, number, offset, metadata)

    def offset_seen(self, topic: str, number: int, offset: int, metadata: str) -> None:
        """Called with each offset that is committed."""

    def other_seen(self, partition: Partition, value: Any) -> None:
        """Called with what else is written there, such as the deletion of a topic."""
