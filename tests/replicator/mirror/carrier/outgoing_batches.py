"""Outgoing batches for tests: one content, and any source offsets."""

from __future__ import annotations

from balancer.topic_partition import TopicPartition
from replicator.batches.outgoing_batch import OutgoingBatch
from tests.replicator.batches.source_batches import encoded, one_record

PLACE = TopicPartition("topic", 0)
BATCH = encoded([one_record(0)])
WRITTEN_MS = 1_700_000_000_000
"""Timestamp of the records in BATCH."""
WINDOW = 5


def outgoing(*spans: tuple[int, int]) -> OutgoingBatch:
    return OutgoingBatch(bytearray(BATCH), sum(count for _, count in spans), spans, False)
