"""Refusals of the target: finds the records of a batch that it will never accept.

A broker accepts a batch as a whole or not at all. The refused batch is repacked, so that the
records before the first refused one are sent alone and arrive. The refused records are then named
(decision 0019).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from replicator.batches.batch import CODEC_BITS, BrokenBatch, header_at
from replicator.batches.outgoing_batch import OutgoingBatch
from replicator.batches.repacked import apart, joined, sizes_alone
from replicator.kafka.client.loss import Loss, LossKind
from replicator.kafka.protocol.error_codes import Code, named

BY_SIZE = (Code.MESSAGE_TOO_LARGE, Code.RECORD_LIST_TOO_LARGE)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Answer to a batch that the target does not accept.

    Args:
        records: indexes of the refused records, if the broker names them.
        message: error text of the broker.
    """

    code: int
    records: tuple[int, ...] = ()
    message: str = ""

    def loss(self, begin: int, end: int) -> Loss:
        """Returns the loss of the source offsets begin..end-1, all of them refused."""
        detail = f"{named(self.code)}: {self.message}" if self.message else named(self.code)
        return Loss(LossKind.RECORDS_REFUSED, begin, end, detail)


@dataclass(frozen=True, slots=True)
class Repacked:
    """Replacement of the first `replaced` batches of a pipeline: the same records in order."""

    replaced: int
    batches: tuple[OutgoingBatch, ...]


NextStep = Callable[[Sequence[OutgoingBatch], Refusal, float], Repacked | Loss]
"""Decision about a refused batch, such as `next_step`."""


def next_step(
    batches: Sequence[OutgoingBatch], refusal: Refusal, refused_bytes: float
) -> Repacked | Loss:
    """Returns the batches to send instead, or the loss.

    The loss is returned once the first record is known to be refused, with the refused records
    right behind it as far as known.

    Args:
        batches: of one partition, in order; the first was refused, and none was appended.
        refused_bytes: size of the smallest batch that the target refused for its size.
    """
    first = batches[0]
    refused = sorted(index for index in set(refusal.records) if 0 <= index < first.count)
    try:
        if refused:
            return _by_names(batches, refusal, refused, refused_bytes)
        return _by_trial(batches, refusal)
    except BrokenBatch:
        # Its CRC is right but its records cannot be read, so it cannot be split.
        return refusal.loss(first.first_offset, first.next_offset)


def _by_names(
    batches: Sequence[OutgoingBatch], refusal: Refusal, refused: Sequence[int], refused_bytes: float
) -> Repacked | Loss:
    first = batches[0]
    if refused[0] > 0:
        return Repacked(1, tuple(apart(first, refused[:1])))
    run = 1 + next(
        (at for at, (one, other) in enumerate(pairwise(refused)) if other != one + 1),
        len(refused) - 1,
    )
    if run == first.count and len(batches) > 1:
        # A batch with a refused record is never appended. Sent together with the records behind it,
        # its answer shows how far the refused records reach, so that one acceptance covers them.
        both = joined(first, batches[1])
        if both and len(both.data) < refused_bytes:
            return Repacked(2, (both,))
    return refusal.loss(first.first_offset, _offset(first, run - 1) + 1)


def _by_trial(batches: Sequence[OutgoingBatch], refusal: Refusal) -> Repacked | Loss:
    """Halves the batch until single records are left: the broker names none."""
    first = batches[0]
    if refusal.code == Code.UNSUPPORTED_COMPRESSION_TYPE and _codec(first):
        return Repacked(1, tuple(apart(first, (), codec=0)))
    by_size = refusal.code in BY_SIZE
    if first.count == 1:
        end = _end_of_large(batches) if by_size else first.next_offset
        return refusal.loss(first.first_offset, end)
    parts = apart(first, (first.count // 2,))
    if not by_size:
        return Repacked(1, tuple(parts))
    # Batches behind it of similar size are halved too: each would be refused before it is halved.
    half = len(first.data) // 2
    for batch in batches[1:]:
        parts += _halves(batch) if len(batch.data) > half else (batch,)
    return Repacked(len(batches), tuple(parts))


def _end_of_large(batches: Sequence[OutgoingBatch]) -> int:
    """Returns the offset behind the run of records that begins with the first one and in which none
    is smaller."""
    limit = len(batches[0].data)
    end = batches[0].next_offset
    for batch in batches[1:]:
        if len(batch.data) < limit:
            return end  # the target may accept it as a batch, however large its records are alone
        try:
            for index, size in enumerate(sizes_alone(batch)):
                if size < limit:
                    return end
                end = _offset(batch, index) + 1
        except BrokenBatch:
            return end
    return end


def _halves(batch: OutgoingBatch) -> list[OutgoingBatch]:
    if batch.count == 1:
        return [batch]
    try:
        return apart(batch, (batch.count // 2,))
    except BrokenBatch:
        return [batch]


def _codec(batch: OutgoingBatch) -> int:
    return header_at(batch.data).attributes & CODEC_BITS


def _offset(batch: OutgoingBatch, index: int) -> int:
    """Returns the source offset of a record by its index."""
    for offset, count in batch.spans:
        if index < count:
            return offset + index
        index -= count
    raise IndexError(index)
