"""A coordinator that calls transactions complete which are not (KAFKA-20734)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import SimpleNamespace
from typing import Any

from balancer.topic_partition import TopicPartition
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
        aborts_left_out: as `left_out`, for the transactions that are aborted.
        pending: offsets of a transaction of the same producer id that has no marker.
        stuck: groups in which a transaction of another producer has no marker, and never gets one.
        epoch: of who opens an id.
    """

    def __init__(
        self,
        shown: GroupRows,
        left_out: list[set[str]],
        put_behind: GroupRows | None = None,
        aborts_left_out: Sequence[set[str]] = (),
        pending: GroupRows | None = None,
        stuck: Collection[str] = (),
        epoch: int = 3,
    ):
        super().__init__("pretend", KafkaCluster.model_validate({"bootstrap": ["127.0.0.1:1"]}))
        self.shown = {
            (group, *row[:2]): OffsetAndMetadata(*row[2:])
            for group, rows in shown.items()
            for row in rows
        }
        self.ended: list[tuple[bool, GroupRows]] = []
        self._left_out = {True: left_out, False: list(aborts_left_out)}
        self._put_behind = put_behind or {}
        self._put: GroupRows = {}
        self._pending: GroupRows = dict(pending or {})
        self._stuck, self._epoch = frozenset(stuck), epoch

    async def ask_coordinator(
        self, kind: int, key: str, request: Any, *_: Any, **options: object
    ) -> Any:
        match type(request).__name__:
            case "TxnOffsetCommitRequest":
                rows = [(topic, *row) for topic, rows in request._topics for row in rows]
                self._put.setdefault(request._group_id, []).extend(rows)
            case "EndTxnRequest":
                self._end(request._transaction_result)
        return SimpleNamespace(error_code=0, producer_id=1, producer_epoch=self._epoch)

    def _end(self, commit: bool) -> None:
        """Ends a transaction. A marker ends all that its producer has put into the group, and what
        it left behind (OffsetMetadataManager.replayEndTransactionMarker)."""
        self.ended.append((commit, self._put))
        left_out = self._left_out[commit].pop(0) if self._left_out[commit] else set()
        for group, rows in self._put.items():
            self._pending.setdefault(group, []).extend(rows)
        for group in self._put.keys() - left_out:
            rows = self._pending.pop(group)
            self._show({group: rows} if commit else {})
        self._show(self._put_behind)
        self._put_behind, self._put = {}, {}

    def _show(self, groups: GroupRows) -> None:
        for group, rows in groups.items():
            for row in rows:
                self.shown[group, *row[:2]] = OffsetAndMetadata(*row[2:])

    async def is_pending(self, group: str, partition: TopicPartition) -> bool:
        rows = (*self._put.get(group, ()), *self._pending.get(group, ()))
        return group in self._stuck or any(row[:2] == partition for row in rows)

    async def commits(self, group: str, partitions: Any) -> dict[TopicPartition, OffsetAndMetadata]:
        return {
            TopicPartition(topic, number): self.shown[group, topic, number]
            for topic, numbers in partitions
            for number in numbers
            if (group, topic, number) in self.shown
        }
