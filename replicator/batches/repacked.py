"""Splitting and joining of outgoing batches: the same records in the same order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from replicator.batches.batch import BrokenBatch
from replicator.batches.outgoing_batch import OutgoingBatch
from replicator.batches.records import Records, opened, rebatch

NO_LIMIT_BYTES = 1 << 30


def apart(
    outgoing: OutgoingBatch, bounds: Sequence[int], *, codec: int | None = None
) -> list[OutgoingBatch]:
    """Splits an outgoing batch before the records at these indexes.

    Args:
        bounds: ascending indexes of records within the batch.
        codec: of the new batches; by default that of the given batch.
    Raises:
        BrokenBatch: the records cannot be read.
    """
    records = _records(outgoing)
    limits = [0, *bounds, outgoing.count]
    return [
        part
        for first, last in pairwise(limits)
        for part in rebatch(
            records.between(first, last),
            max_bytes=NO_LIMIT_BYTES,
            codec=codec,
            # No part needs to be larger than the whole was.
            fit_bytes=len(outgoing.data) if codec is None else None,
        )[0]
    ]


def joined(first: OutgoingBatch, second: OutgoingBatch) -> OutgoingBatch | None:
    """Returns one outgoing batch with the records of both.

    Returns None if the records cannot be read or do not fit into one batch.
    """
    try:
        records = _both(_records(first), _records(second))
    except BrokenBatch:
        return None
    batches, _ = rebatch(records, max_bytes=NO_LIMIT_BYTES)
    return batches[0] if len(batches) == 1 else None


def sizes_alone(outgoing: OutgoingBatch) -> Iterator[int]:
    """Yields the size in bytes that each record takes in a batch of its own.

    Raises:
        BrokenBatch: the records cannot be read.
    """
    if outgoing.count == 1:
        yield len(outgoing.data)
        return
    records = _records(outgoing)
    for index in range(outgoing.count):
        (part,), _ = rebatch(records.between(index, index + 1), max_bytes=NO_LIMIT_BYTES)
        yield len(part.data)


def _records(outgoing: OutgoingBatch) -> Records:
    """Returns the records with their source offsets; stamping may have overwritten the batch's
    own."""
    records = opened(memoryview(outgoing.data), [0])
    offsets = [np.arange(offset, offset + count) for offset, count in outgoing.spans]
    return replace(records, offset=np.concatenate(offsets))


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
