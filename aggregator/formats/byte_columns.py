"""Byte columns: parts of fetched data as Arrow columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from replicator.batches.records import Ints


def taken(
    data: bytes | memoryview, begin: Ints, end: Ints, order: Ints | None = None
) -> pa.BinaryArray:
    """Returns a copy of data[begin:end] for each pair of positions; the pairs ascend.

    Args:
        order: indexes of the pairs in the order of the result; None: as they are.
    """
    count = len(begin)
    if not count:
        return pa.array([], pa.binary())
    # Every other slice between these limits is one of the parts.
    limits = np.column_stack((begin, end)).ravel().astype(np.int32)
    slices = pa.BinaryArray.from_buffers(
        pa.binary(), 2 * count - 1, [None, pa.py_buffer(limits), pa.py_buffer(data)]
    )
    return slices.take(pa.array(np.arange(0, 2 * count, 2) if order is None else 2 * order))


def byte_column(data: bytes | memoryview, begin: Ints, end: Ints) -> pa.BinaryArray:
    """Returns data[begin:end] of each pair of positions; null where begin is -1."""
    is_null = begin < 0
    if not is_null.any():
        return taken(data, begin, end)
    behind = np.maximum.accumulate(np.where(is_null, 0, end))
    values = taken(data, np.where(is_null, behind, begin), behind)
    bitmap = pa.array(~is_null).buffers()[1]
    _, offsets, octets = values.buffers()
    return pa.BinaryArray.from_buffers(pa.binary(), len(values), [bitmap, offsets, octets])
