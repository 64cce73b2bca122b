"""A coordinator that calls transactions complete which are not (KAFKA-20734)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from balancer.plan import TopicPartition
from replicator.config.topology import KafkaCluster
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.fenced_committer import Row
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata

GroupRows = dict[str, list[Row]]


class Coordinator(Cluster):
    """Coordinator of all groups and ids; completes some transactions without what they committed.

    Args:
        shown: offsets that readers find, by group.
        left_out: for each of the first transactions, the groups whose markers are left out.
        put_behind: offsets that the next writer commits right after the first transaction.
    """

    def __init__(
        self, shown: GroupRows, left_out: list[set[str]], put_behind: GroupRows | None = None
    ):
        super().__init__("pretend", KafkaCluster.model_validate({"bootstrap": ["127.0.0.1:1"]}))
        self.shown = {
            (group, *row[:2]): OffsetAndMetadata(*row[2:])
            for group, rows in shown.items()
            for row in rows
        }
        self.ended: list[tuple[bool, GroupRows]] = []
        self._left_out = left_out
        self._put_behind = put_behind or {}
        self._pending: GroupRows = {}

    async def ask_coordinator(
        self, kind: int, key: str, request: Any, *_: Any, **options: object
    ) -> Any:
        match type(request).__name__:
            case "TxnOffsetCommitRequest":
                rows = [(topic, *row) for topic, rows in request._topics for row in rows]
                self._pending.setdefault(request._group_id, []).extend(rows)
            case "EndTxnRequest":
                self._end(request._transaction_result)
        return SimpleNamespace(error_code=0)

    def _end(self, commit: bool) -> None:
        self.ended.append((commit, self._pending))
        if commit:
            left_out = self._left_out.pop(0) if self._left_out else set()
            self._show({g: rows for g, rows in self._pending.items() if g not in left_out})
        self._show(self._put_behind)
        self._put_behind, self._pending = {}, {}

    def _show(self, groups: GroupRows) -> None:
        for group, rows in groups.items():
            for row in rows:
                self.shown[group, *row[:2]] = OffsetAndMetadata(*row[2:])

    async def commits(self, group: str, partitions: Any) -> dict[TopicPartition, OffsetAndMetadata]:
        return {
            TopicPartition(topic, number): self.shown[group, topic, number]
            for topic, numbers in partitions
            for number in numbers
            if (group, topic, number) in self.shown
        }
