"""Binary pieces: columns of bytes that are put together, and numbers as Avro writes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aggregator.formats.record_slice import Ints
from aggregator.tables.value_limits import limits_of
from replicator.batches.varints import signed_to_unsigned, sizes, write


def zigzags(numbers: Ints) -> pa.BinaryArray:
    """Returns each number as a zigzag varint."""
    unsigned = signed_to_unsigned(numbers)
    size = sizes(unsigned)
    ends = np.cumsum(size)
    octets = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
    write(octets, ends - size, unsigned, size)
    return cut(octets.tobytes(), np.concatenate(([0], ends)))


def cut(data: bytes, limits: Ints) -> pa.BinaryArray:
    """Returns the parts of data between limits."""
    buffers = [None, pa.py_buffer(limits.astype(np.int32)), pa.py_buffer(data)]
    return pa.BinaryArray.from_buffers(pa.binary(), len(limits) - 1, buffers)


def joined(pieces: Sequence[pa.Array | bytes]) -> pa.BinaryArray:
    """Returns the pieces of each row, one behind the other; a null piece is empty."""
    if len(pieces) == 1 and not isinstance(pieces[0], bytes):
        return pieces[0]
    binary = [pa.scalar(each, pa.binary()) if isinstance(each, bytes) else each for each in pieces]
    return pc.binary_join_element_wise(
        *binary, pa.scalar(b"", pa.binary()), null_handling="replace", null_replacement=b""
    )


def grouped(items: pa.BinaryArray, ends: Ints) -> pa.BinaryArray:
    """Returns the items of each group, one behind the other.

    Args:
        ends: number of items up to the end of each group.
    """
    limits = limits_of(items)[np.concatenate(([0], ends))]
    return cut(items.buffers()[2] or b"", limits)


def blocks(items: pa.BinaryArray, count: Ints) -> pa.BinaryArray:
    """Returns arrays as Avro writes them: their items in one block, and an empty block behind.

    Args:
        count: number of items of each.
    """
    end = pc.if_else(
        pa.array(count > 0), pa.scalar(b"\0", pa.binary()), pa.scalar(b"", pa.binary())
    )
    return joined([zigzags(count), grouped(items, np.cumsum(count)), end])


def with_length(values: pa.BinaryArray) -> pa.BinaryArray:
    """Returns values behind their length, as Avro writes bytes and strings."""
    return joined([zigzags(np.diff(limits_of(values))), values])
