"""Column records: the Arrow columns of an object as Kafka's records, byte for byte as they were.

Layout of a record behind its offset delta: key length, key, value length, value, number of headers,
headers. Lengths are zigzag varints, and -1 stands for null (see formats/record_fields.py).
"""

from __future__ import annotations

from functools import reduce
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aggregator.files.record_columns import SCHEMA
from aggregator.restore.restore_range import RestoreRange
from replicator.batches import varints
from replicator.batches.records import Ints, Records

COLUMNS = ("key", "value", "headers", "timestamp", "offset")
_NOTHING = pa.scalar(b"")


def lacking(schema: pa.Schema) -> str | None:
    """Returns the first column that a file lacks to be restored; None if it has all of them.

    A file of decoded values has none of them: a field of theirs may have the name of a column.
    """
    if schema.names != [name for name in SCHEMA.names if name in schema.names]:
        return "value"
    for name in COLUMNS:
        at = schema.get_field_index(name)
        if at < 0 or schema.field(at).type != SCHEMA.field(name).type:
            return name
    return None


def within(table: pa.Table, begin: int, end: int, wanted: RestoreRange) -> pa.Table:
    """Returns the records with offsets begin..end-1 and a time of the range."""
    offsets = table["offset"]
    keep = [pc.greater_equal(offsets, begin), pc.less(offsets, end)]
    if wanted.has_times:
        times = table["timestamp"].cast(pa.int64())
        if wanted.since_ms is not None:
            keep.append(pc.greater_equal(times, wanted.since_ms))
        if wanted.until_ms is not None:
            keep.append(pc.less(times, wanted.until_ms))
    mask = reduce(pc.and_, keep)
    # A record without a time gives null, and is left out.
    return table if pc.all(mask, skip_nulls=False).as_py() else table.filter(mask)


def records_of(table: pa.Table) -> Records:
    """Returns the records of a table with the columns of COLUMNS; one without a time has -1."""
    key, value, headers = (_whole(table, name) for name in ("key", "value", "headers"))
    tails = pc.binary_join_element_wise(
        _lengths(key),
        key.fill_null(b""),
        _lengths(value),
        value.fill_null(b""),
        _headers(headers),
        _NOTHING,
    )
    limits = _limits(tails)
    return Records(
        data=_data(tails),
        offset=_numbers(_whole(table, "offset")),
        timestamp=_numbers(_whole(table, "timestamp").cast(pa.int64()).fill_null(-1)),
        tail=limits[:-1],
        end=limits[1:],
        codec=0,
    )


def _headers(column: pa.ListArray) -> pa.BinaryArray:
    """Returns the encoded headers of each record, their count in front."""
    counts = _numbers(pc.list_value_length(column).fill_null(0))
    names, values = column.flatten().flatten()
    names = names.cast(pa.binary())
    each = pc.binary_join_element_wise(
        _lengths(names), names, _lengths(values), values.fill_null(b""), _NOTHING
    )
    # The headers of a record are one behind the other: its bytes are those between two limits.
    limits = _limits(each)[np.concatenate(([0], np.cumsum(counts)))]
    encoded = _binary(limits, pa.py_buffer(_data(each)))
    return pc.binary_join_element_wise(_varints(counts), encoded, _NOTHING)


def _lengths(column: pa.BinaryArray) -> pa.BinaryArray:
    """Returns the encoded length of each value, -1 for null."""
    return _varints(_numbers(pc.binary_length(column).fill_null(-1)))


def _varints(numbers: Ints) -> pa.BinaryArray:
    unsigned = varints.signed_to_unsigned(numbers)
    sizes = varints.sizes(unsigned)
    limits = np.concatenate(([0], np.cumsum(sizes)))
    octets = np.zeros(int(limits[-1]), np.uint8)
    varints.write(octets, limits[:-1], unsigned, sizes)
    return _binary(limits, pa.py_buffer(octets))


def _binary(limits: Ints, data: pa.Buffer) -> pa.BinaryArray:
    offsets = pa.py_buffer(limits.astype(np.int32))
    return pa.BinaryArray.from_buffers(pa.binary(), len(limits) - 1, [None, offsets, data])


def _limits(column: pa.BinaryArray) -> Ints:
    """Returns where each value begins in the column's data, and where the last one ends."""
    offsets = column.buffers()[1]
    if offsets is None or not len(column):
        return np.zeros(len(column) + 1, np.int64)
    found = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    return found.astype(np.int64)


def _data(column: pa.BinaryArray) -> memoryview:
    data = column.buffers()[2]
    return memoryview(b"" if data is None else data)


def _whole(table: pa.Table, name: str) -> pa.Array:
    return pa.concat_arrays(table[name].chunks or [pa.array([], table[name].type)])


def _numbers(column: pa.Array) -> Ints:
    return cast(Ints, column.to_numpy(zero_copy_only=False).astype(np.int64))
