"""A record batch packed for the target, and the source offsets that travel in it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from replicator.batches import batch

# A ledger entry lists the gaps of what it lets through in its metadata, 4096 bytes at most.
SPANS_MAX = 150


class Reason(Enum):
    """Why a source batch cannot, or should not, ride unopened."""

    THINNED = "thinned"
    """Compaction took records out: sequence numbers have no gaps, offsets do."""
    CUT = "cut"
    """The position to go on from lies inside the batch."""
    LOG_APPEND_TIME = "log append time"
    """The target would take it, and set other timestamps."""
    TOO_LARGE = "too large"
    """Larger than the target's max.message.bytes: it travels in pieces."""
    SMALL = "small"
    """One request for so few records costs more than merging it with its neighbours."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """One record batch for the target; `stamp` gives its bytes the writer's numbers."""

    data: bytearray | memoryview
    count: int
    # (source offset, count) of the contiguous stretches in it, ascending.
    spans: tuple[tuple[int, int], ...]
    opened: bool

    @property
    def first_offset(self) -> int:
        """Source offset of its first record."""
        return self.spans[0][0]

    @property
    def next_offset(self) -> int:
        """Source offset behind its last record."""
        offset, count = self.spans[-1]
        return offset + count

    def stamp(self, *, producer_id: int, producer_epoch: int, base_sequence: int) -> None:
        """Makes `data` ready to be produced, in place; again when one of the numbers changes."""
        batch.stamp(
            self.data,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
        )


@dataclass(frozen=True, slots=True)
class RecordTooLarge:
    """A record that the target does not take even alone: an operator must decide."""

    offset: int
    size_bytes: int
    max_bytes: int

    def __str__(self) -> str:
        return (
            f"the record at source offset {self.offset} is a batch of {self.size_bytes} bytes, the"
            f" target takes {self.max_bytes}: raise max.message.bytes of the target's topic, or"
            " accept the loss of this record"
        )
