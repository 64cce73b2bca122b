"""Sequenced batch: a batch of one partition with its sequence, from queue to acknowledgement."""

from __future__ import annotations

from dataclasses import dataclass

from replicator.batches.batch import header_at
from replicator.batches.outgoing_batch import OutgoingBatch
from replicator.mirror.carrier.refusals import Refusal
from replicator.mirror.ledger.entry import SEQUENCE_MASK


@dataclass(slots=True, eq=False)
class SequencedBatch:
    """An outgoing batch with its first sequence; sent again, it has the same bytes."""

    sequence: int
    outgoing: OutgoingBatch
    was_sent: bool = False
    base_offset: int | None = None
    """Target offset of the first record; None until acknowledged, -1 if it landed at an unknown
    offset."""
    readable_ms: int | None = None
    """Unix milliseconds at which the batch became readable; None if unknown or already counted."""
    is_in_doubt: bool = False
    """True if the batch was sent and may have landed: sent again, it may be a duplicate."""
    refusal: Refusal | None = None
    """Answer of a target that does not take the batch as it is."""

    @property
    def next_sequence(self) -> int:
        return (self.sequence + self.outgoing.count) & SEQUENCE_MASK

    @property
    def size_bytes(self) -> int:
        return len(self.outgoing.data)

    @property
    def max_timestamp_ms(self) -> int:
        """Largest timestamp of the records, in unix milliseconds."""
        return header_at(self.outgoing.data).max_timestamp
