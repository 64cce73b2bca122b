"""Watch for long open transactions of the source: records behind them cannot be mirrored."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from balancer.topic_partition import TopicPartition
from replicator.kafka.client.cluster import Answered, Cluster
from replicator.kafka.client.open_transactions import OpenTransaction, open_transaction
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline

log = logging.getLogger(__name__)

ASK_SECONDS = 5.0


@dataclass(eq=False)
class TransactionWatch:
    """Logs a transaction that has been open for long, and its end.

    Args:
        pipelines: read again at each check.
        log_fields: route and carrier, the first fields of each log line.
        seconds_max: age from which an open transaction is reported.
    """

    source: Cluster
    pipelines: Mapping[TopicPartition, PartitionPipeline]
    log_fields: tuple[str, int]
    seconds_max: float
    _reported: dict[TopicPartition, int] = field(init=False, default_factory=dict)
    """Last stable offset that was reported, by partition."""

    async def check(self) -> None:
        """Checks all pipelines once."""
        now = time.time()
        for partition, pipeline in list(self.pipelines.items()):
            reported_at = self._reported.get(partition)
            # Of the clock, not of the pipeline: the newest end has to belong to the newest age.
            stable = pipeline.clock.stable_end
            if reported_at is not None and stable is not None and stable > reported_at:
                del self._reported[partition]
                log.warning(
                    "event=source-transaction-ended route=%s carrier=%d %s-%d: "
                    "the transaction at source offset %d has ended",
                    *self.log_fields,
                    *partition,
                    reported_at,
                )
            seconds = pipeline.clock.open_transaction_seconds(now) or 0.0
            is_late = seconds > self.seconds_max
            if is_late and stable is not None and partition not in self._reported:
                await self._report(partition, stable, seconds)
        # Partitions that moved away are reported by their new carriers.
        gone = self._reported.keys() - self.pipelines.keys()
        for partition in gone:
            del self._reported[partition]

    async def _report(self, partition: TopicPartition, stable: int, seconds: float) -> None:
        found = await self._found(partition)
        if found and found.first_offset > stable:
            return  # it ended during the request, and another one began
        self._reported[partition] = stable
        log.warning(
            "event=source-transaction-open route=%s carrier=%d %s-%d: records from source offset "
            "%d on have waited %.0f s for the end of a transaction of %s",
            *self.log_fields,
            *partition,
            stable,
            seconds,
            found or "a producer that the leader does not name",
        )

    async def _found(self, partition: TopicPartition) -> OpenTransaction | None:
        try:
            async with asyncio.timeout(ASK_SECONDS):
                return await open_transaction(self.source, *partition)
        except (Answered, TimeoutError):
            return None
