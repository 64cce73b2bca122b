"""Reporting of a carrier to Redis: rates, lag and counts, for operators and the balancer."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from balancer.topic_partition import TopicPartition
from replicator.mirror.carrier.pace import Pace
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.pipelines import Pipelines
from replicator.mirror.carrier.progress_committer import ProgressCommitter
from replicator.mirror.carrier.receipt_book import ReceiptBook
from replicator.mirror.offset_map.redis_writer import RedisWriter
from replicator.notices.condition import Kind

REFUSALS_MIN = 5
"""Reports in a row that find a partition refused, before that is noted: elections take seconds."""


@dataclass(eq=False)
class Reporting:
    """Reporter of one carrier session.

    Args:
        receipts: holds the counts of earlier sessions as well.
    """

    pace: Pace
    pipelines: Pipelines
    committer: ProgressCommitter
    receipts: ReceiptBook
    redis_writer: RedisWriter
    _refusals: dict[TopicPartition, int] = field(init=False, default_factory=dict)

    async def report(self) -> None:
        """Reports all partitions as they are now, and the counts."""
        pipelines = self.pipelines.values()
        self._note_refusals(pipelines)
        self.redis_writer.report(self.pace.reports(pipelines, self.committer.parked, time.time()))
        self.count()

    def count(self) -> None:
        """Reports the counts so far; also called when the session has ended."""
        carrier_counts = self.receipts.carrier_counts
        self.redis_writer.count(
            carrier_counts.id, carrier_counts.totals(self.receipts.carried(self.pipelines.values()))
        )

    def _note_refusals(self, pipelines: Iterable[PartitionPipeline]) -> None:
        """Notes as conditions which partitions the target has refused for some time."""
        refused = {each.partition: each.refused for each in pipelines if each.refused}
        self._refusals = {each: self._refusals.get(each, 0) + 1 for each in refused}
        lasting = {
            each: f"the target refuses its records for now: {answer}"
            for each, answer in refused.items()
            if self._refusals[each] >= REFUSALS_MIN
        }
        self.receipts.note_conditions(Kind.REFUSED, lasting)
