"""Outgoing batch: a record batch packed for the target, with the source offsets it contains."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from replicator.batches import batch

# A ledger entry lists the source gaps that it covers in at most 4096 bytes of metadata, so the
# number of spans per batch is bounded.
SPANS_MAX = 150


class Reason(Enum):
    """Reason why a source batch cannot, or should not, be forwarded unopened."""

    THINNED = "thinned"
    """Compaction removed records. Sequence numbers cannot have gaps, source offsets can."""
    CUT = "cut"
    """The position to continue from lies inside the batch."""
    LOG_APPEND_TIME = "log append time"
    """The source broker set the timestamps; the target would accept the batch and replace them."""
    TOO_LARGE = "too large"
    """The batch exceeds max.message.bytes of the target topic and is split."""
    SMALL = "small"
    """A request for so few records costs more than merging them with their neighbors."""


@dataclass(frozen=True, slots=True)
class OutgoingBatch:
    """A record batch for the target; `stamp` writes the producer fields into its bytes."""

    data: bytearray | memoryview
    count: int
    spans: tuple[tuple[int, int], ...]
    """(source offset, count) of each contiguous range of records, ascending."""
    opened: bool

    @property
    def first_offset(self) -> int:
        """Source offset of the first record."""
        return self.spans[0][0]

    @property
    def next_offset(self) -> int:
        """Source offset behind the last record."""
        offset, count = self.spans[-1]
        return offset + count

    def stamp(self, *, producer_id: int, producer_epoch: int, base_sequence: int) -> None:
        """Writes the producer fields into `data`, in place; may be repeated with other numbers."""
        batch.stamp(
            self.data,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
        )


@dataclass(frozen=True, slots=True)
class RecordTooLarge:
    """A record that the target refuses even in a batch of its own, under its present limit."""

    offset: int
    size_bytes: int
    max_bytes: int

    def __str__(self) -> str:
        return (
            f"the record at source offset {self.offset} is a batch of {self.size_bytes} bytes, the"
            f" target takes {self.max_bytes}: raise max.message.bytes of the target's topic, or"
            " accept the loss of this record"
        )
