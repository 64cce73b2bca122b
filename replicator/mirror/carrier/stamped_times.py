"""Detection of replaced timestamps: a topic with LogAppendTime changes ours without an error."""

from __future__ import annotations

from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.sequenced_batch import SequencedBatch

DETAIL = (
    "message.timestamp.type=LogAppendTime: set CreateTime on the target's topic, then accept-loss; "
    "batches that may have landed are counted in"
)


def stamped_times(
    pipeline: PartitionPipeline, batch: SequencedBatch, log_append_time_ms: int
) -> Loss | None:
    """Returns the loss of timestamps that an acknowledgement reveals, if any.

    Args:
        batch: in flight; not yet acknowledged by this answer.
        log_append_time_ms: of the answer; negative if the topic keeps our timestamps.
    """
    if log_append_time_ms < 0:
        return None
    # For a duplicate the broker answers the largest timestamp of the batch in its log, whatever the
    # topic's timestamp type. A value equal to ours proves no replacement.
    if batch.is_in_doubt and log_append_time_ms == batch.max_timestamp_ms:
        return None
    return Loss(LossKind.TIMES_CHANGED, batch.outgoing.first_offset, pipeline.sent_end, DETAIL)
