"""Refusals of the target: which of a batch's records it will never take.

A broker takes a batch as a whole or not at all. The refused batch is packed anew, so that the
records before the first refused one travel alone and arrive; then the refused ones are named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from replicator.batches.batch import CODEC_BITS, BrokenBatch, header_at
from replicator.batches.parcel import Parcel
from replicator.batches.repacked import apart, joined, sizes_alone
from replicator.kafka.verdict import Code, named
from replicator.ledger.loss import Loss, LossKind

BY_SIZE = (Code.MESSAGE_TOO_LARGE, Code.RECORD_LIST_TOO_LARGE)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The answer to a batch that the target does not take.

    Args:
        records: indexes of the refused records, where the broker names them.
        message: the broker's words.
    """

    code: int
    records: tuple[int, ...] = ()
    message: str = ""

    def loss(self, begin: int, end: int) -> Loss:
        """Source offsets begin..end-1 are refused, each record of them."""
        detail = f"{named(self.code)}: {self.message}" if self.message else named(self.code)
        return Loss(LossKind.RECORDS_REFUSED, begin, end, detail)


@dataclass(frozen=True, slots=True)
class Repacked:
    """The first `replaced` parcels of a lane become `parcels`: the same records in order."""

    replaced: int
    parcels: tuple[Parcel, ...]


def next_step(parcels: Sequence[Parcel], refusal: Refusal, refused_bytes: float) -> Repacked | Loss:
    """Returns the parcels to send instead; or the loss, once the first record is known to be
    refused and how many of those behind it are.

    Args:
        parcels: of one partition, in order; the first was refused, and none of them appended.
        refused_bytes: the smallest batch that the target refused for its size.
    """
    first = parcels[0]
    refused = sorted(index for index in set(refusal.records) if 0 <= index < first.count)
    try:
        if refused:
            return _by_names(parcels, refusal, refused, refused_bytes)
        return _by_trial(parcels, refusal)
    except BrokenBatch:
        # Its CRC is right and its records cannot be read: nobody can take it apart.
        return refusal.loss(first.first_offset, first.next_offset)


def _by_names(
    parcels: Sequence[Parcel], refusal: Refusal, refused: Sequence[int], refused_bytes: float
) -> Repacked | Loss:
    first = parcels[0]
    if refused[0] > 0:
        return Repacked(1, tuple(apart(first, refused[:1])))
    run = 1 + next(
        (at for at, (one, other) in enumerate(pairwise(refused)) if other != one + 1),
        len(refused) - 1,
    )
    if run == first.count and len(parcels) > 1:
        # A batch with a refused record in it is never appended: sent with the records behind it,
        # it says how far the refused ones reach, and one word of the operator is enough.
        both = joined(first, parcels[1])
        if both and len(both.data) < refused_bytes:
            return Repacked(2, (both,))
    return refusal.loss(first.first_offset, _offset(first, run - 1) + 1)


def _by_trial(parcels: Sequence[Parcel], refusal: Refusal) -> Repacked | Loss:
    """No record is named: halves of the batch are sent, and halves of those."""
    first = parcels[0]
    if refusal.code == Code.UNSUPPORTED_COMPRESSION_TYPE and _codec(first):
        return Repacked(1, tuple(apart(first, (), codec=0)))
    by_size = refusal.code in BY_SIZE
    if first.count == 1:
        end = _end_of_large(parcels) if by_size else first.next_offset
        return refusal.loss(first.first_offset, end)
    parts = apart(first, (first.count // 2,))
    if not by_size:
        return Repacked(1, tuple(parts))
    # All that is about as large: else each of them would be refused before it is halved.
    half = len(first.data) // 2
    for parcel in parcels[1:]:
        parts += _halves(parcel) if len(parcel.data) > half else (parcel,)
    return Repacked(len(parcels), tuple(parts))


def _end_of_large(parcels: Sequence[Parcel]) -> int:
    """Source offset behind the first record and those behind it that are no smaller."""
    limit = len(parcels[0].data)
    end = parcels[0].next_offset
    for parcel in parcels[1:]:
        if len(parcel.data) < limit:
            return end  # it may be taken as it is, however large its records are alone
        try:
            for index, size in enumerate(sizes_alone(parcel)):
                if size < limit:
                    return end
                end = _offset(parcel, index) + 1
        except BrokenBatch:
            return end
    return end


def _halves(parcel: Parcel) -> list[Parcel]:
    if parcel.count == 1:
        return [parcel]
    try:
        return apart(parcel, (parcel.count // 2,))
    except BrokenBatch:
        return [parcel]


def _codec(parcel: Parcel) -> int:
    return header_at(parcel.data).attributes & CODEC_BITS


def _offset(parcel: Parcel, index: int) -> int:
    """Source offset of one of its records."""
    for offset, count in parcel.spans:
        if index < count:
            return offset + index
        index -= count
    raise IndexError(index)
