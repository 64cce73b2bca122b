"""Retransmission: batches in flight are queued again, and a refused batch is repacked.

Sent again, a batch has the same bytes. The broker detects it as a duplicate as long as it remembers
the producer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from replicator.batches.packer import MAX_MESSAGE_BYTES
from replicator.kafka.client.cluster import ProducerStateLost
from replicator.kafka.client.loss import Loss, NeededLimit
from replicator.kafka.protocol.error_codes import named
from replicator.mirror.carrier.parking import Parking
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.refusals import BY_SIZE, NextStep, next_step

REMEMBERED_SECONDS = 3600.0
"""Age up to which a broker surely remembers a batch. It forgets a producer only once the newest of
its records is older than producer.id.expiration.ms."""


@dataclass(eq=False)
class Retransmission:
    """Prepares pipelines of one target for another attempt.

    Args:
        target_name: name of the cluster, for error texts.
        parking: parks a pipeline whose next records the target refuses.
        limits: largest batch that the target takes, by topic, as the driver read it.
        remembered_seconds: age up to which batches in doubt are sent again.
        next_step: decides what follows a refused batch.
    """

    target_name: str
    parking: Parking
    limits: Mapping[str, int] = field(default_factory=dict)
    remembered_seconds: float = REMEMBERED_SECONDS
    next_step: NextStep = next_step

    async def prepare(self, pipeline: PartitionPipeline, now: float) -> None:
        """Queues the batches in flight again; repacks a refused batch, or parks the pipeline.

        Args:
            pipeline: with no unanswered request.
            now: unix seconds.
        Raises:
            ProducerStateLost: sent again, a batch might be appended twice. A takeover must find
                what has landed.
        """
        self._refuse_forgotten(pipeline, pipeline.queue.oldest_in_doubt_ms, now)
        pipeline.rewind()
        await self._repack_refused(pipeline)

    def check(self, pipeline: PartitionPipeline, now: float) -> None:
        """Checks the next batch right before it is sent: it may have waited long for a leader.

        Raises ProducerStateLost as `prepare` does.
        """
        head = pipeline.queue.head
        if head and head.is_in_doubt:
            self._refuse_forgotten(pipeline, head.max_timestamp_ms, now)

    def _refuse_forgotten(self, pipeline: PartitionPipeline, oldest_ms: float, now: float) -> None:
        if oldest_ms < (now - self.remembered_seconds) * 1000:
            raise ProducerStateLost(
                f"{self.target_name}: Produce {pipeline.partition}: not answered, and the "
                "records are so old that the broker may have forgotten them"
            )

    async def _repack_refused(self, pipeline: PartitionPipeline) -> None:
        batches = pipeline.queue.queued()
        refusal = batches[0].refusal if batches else None
        for batch in batches:
            # A refusal behind a failed batch is dropped: that batch is sent and answered again.
            batch.refusal = None
        if refusal is None:
            return
        if any(batch.is_in_doubt for batch in batches):
            raise ProducerStateLost(
                f"{self.target_name}: Produce {pipeline.partition}: {named(refusal.code)}, and an "
                "earlier try, or a later batch, may have landed"
            )
        if refusal.code in BY_SIZE:
            pipeline.refused_bytes = min(pipeline.refused_bytes, batches[0].size_bytes)
        step = self.next_step(
            [batch.outgoing for batch in batches], refusal, pipeline.refused_bytes
        )
        if isinstance(step, Loss):
            if refusal.code in BY_SIZE:
                limit = self.limits.get(pipeline.partition.topic, MAX_MESSAGE_BYTES)
                step = replace(step, needs=NeededLimit(batches[0].size_bytes, limit))
            await self.parking.park(pipeline, step)
        else:
            pipeline.repack(step.replaced, step.batches)
