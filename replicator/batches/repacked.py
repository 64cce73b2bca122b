"""Parcels in other batches: the same records in the same order, taken apart or joined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from replicator.batches.batch import BrokenBatch
from replicator.batches.parcel import Parcel
from replicator.batches.records import Records, opened, rebatch

NO_LIMIT_BYTES = 1 << 30


def apart(parcel: Parcel, bounds: Sequence[int], *, codec: int | None = None) -> list[Parcel]:
    """Parcels that begin at the first record and at each of these indexes.

    Args:
        codec: of the new batches; that of the parcel if none is given.
    Raises:
        BrokenBatch.
    """
    records = _records(parcel)
    limits = [0, *bounds, parcel.count]
    return [
        part
        for first, last in pairwise(limits)
        for part in rebatch(_between(records, first, last), max_bytes=NO_LIMIT_BYTES, codec=codec)[
            0
        ]
    ]


def joined(first: Parcel, second: Parcel) -> Parcel | None:
    """A parcel with the records of both; None where they cannot be read or are too many."""
    try:
        records = _both(_records(first), _records(second))
    except BrokenBatch:
        return None
    parcels, _ = rebatch(records, max_bytes=NO_LIMIT_BYTES)
    return parcels[0] if len(parcels) == 1 else None


def sizes_alone(parcel: Parcel) -> Iterator[int]:
    """Bytes that each record takes in a batch of its own. Raises BrokenBatch."""
    if parcel.count == 1:
        yield len(parcel.data)
        return
    records = _records(parcel)
    for index in range(parcel.count):
        (part,), _ = rebatch(_between(records, index, index + 1), max_bytes=NO_LIMIT_BYTES)
        yield len(part.data)


def _records(parcel: Parcel) -> Records:
    """Records by source offset; the parcel's own bytes may have been stamped with others."""
    records = opened(memoryview(parcel.data), [0])
    offsets = [np.arange(offset, offset + count) for offset, count in parcel.spans]
    return replace(records, offset=np.concatenate(offsets))


def _between(records: Records, first: int, last: int) -> Records:
    return replace(
        records,
        offset=records.offset[first:last],
        timestamp=records.timestamp[first:last],
        tail=records.tail[first:last],
        end=records.end[first:last],
    )


def _both(one: Records, other: Records) -> Records:
    shift = len(one.data)
    return Records(
        b"".join((one.data, other.data)),
        np.concatenate((one.offset, other.offset)),
        np.concatenate((one.timestamp, other.timestamp)),
        np.concatenate((one.tail, other.tail + shift)),
        np.concatenate((one.end, other.end + shift)),
        one.codec,
    )
