"""Detection of replaced timestamps: a topic with LogAppendTime changes ours without an error."""

from __future__ import annotations

from replicator.batches.batch import header_at
from replicator.mirror.carrier.partition_pipeline import InFlightBatch, PartitionPipeline
from replicator.mirror.ledger.loss import Loss, LossKind

DETAIL = (
    "message.timestamp.type=LogAppendTime: set CreateTime on the target's topic, then accept-loss; "
    "batches that were in flight are counted in"
)


def stamped_times(
    pipeline: PartitionPipeline, unit: InFlightBatch, log_append_time_ms: int
) -> Loss | None:
    """Returns the loss of timestamps that an acknowledgement reveals, if any.

    Args:
        unit: in flight; not yet acknowledged by this answer.
        log_append_time_ms: of the answer; negative if the topic keeps our timestamps.
    """
    if log_append_time_ms < 0:
        return None
    # For a duplicate the broker answers the largest timestamp of the batch in its log, whatever the
    # topic's timestamp type. A value equal to ours proves no replacement.
    largest = header_at(unit.parcel.data).max_timestamp
    if unit.is_in_doubt and log_append_time_ms == largest:
        return None
    return Loss(LossKind.TIMES_CHANGED, unit.parcel.first_offset, pipeline.flight_ends_at, DETAIL)
