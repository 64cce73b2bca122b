"""Record columns: key, value, headers, timestamp, topic, partition and offset as Arrow columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
import pyarrow as pa

from aggregator.formats.byte_columns import byte_column
from aggregator.formats.record_fields import field_at
from aggregator.formats.record_slice import NO_TIME, Ints, RecordSlice, gathered
from replicator.batches.records import Octets
from replicator.batches.varints import read_signed

HEADERS = pa.list_(
    pa.field(
        "header",
        pa.struct([pa.field("name", pa.string(), nullable=False), pa.field("value", pa.binary())]),
        nullable=False,
    )
)
SCHEMA = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", HEADERS, nullable=False),
        pa.field("timestamp", pa.timestamp("ms", "UTC")),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
    ]
)

REPEATING = ("headers.list.header.name", "topic", "partition")
"""Columns of a file whose values repeat."""


def schema_of(names: Collection[str]) -> pa.Schema:
    """Returns the schema of the columns of these names."""
    return pa.schema([each for each in SCHEMA if each.name in names])


def record_table(
    slices: Sequence[RecordSlice],
    topic: str,
    partition: int,
    names: Collection[str] = tuple(SCHEMA.names),
) -> pa.Table:
    """Returns columns of records. Null and empty keys and values stay different.

    A record without a timestamp has null. Names of headers that are not UTF-8 have U+FFFD in place
    of what is none.

    Args:
        names: of the columns.
    """
    schema = schema_of(names)
    return pa.Table.from_batches(
        [_batch(part, topic, partition, schema) for part in gathered(slices)], schema
    ).combine_chunks()


def _batch(part: RecordSlice, topic: str, partition: int, schema: pa.Schema) -> pa.RecordBatch:
    count = len(part)
    made: dict[str, Callable[[], pa.Array]] = {
        "key": lambda: part.key_column,
        "value": lambda: part.value_column,
        "headers": lambda: headers_column(part),
        "timestamp": lambda: _times(part),
        "topic": lambda: pa.array([topic]).take(pa.array(np.zeros(count, np.int32))),
        "partition": lambda: pa.array(np.full(count, partition, np.int32)),
        "offset": lambda: pa.array(part.offset),
    }
    return pa.RecordBatch.from_arrays([made[name]() for name in schema.names], schema=schema)


def _times(part: RecordSlice) -> pa.Array:
    return pa.array(part.timestamp_ms, mask=part.timestamp_ms == NO_TIME).cast(
        pa.timestamp("ms", "UTC")
    )


def headers_column(part: RecordSlice) -> pa.ListArray:
    """Returns the headers of records. All records are read in step, header by header."""
    octets = np.frombuffer(part.data, np.uint8)
    count, at = read_signed(octets, part.headers_begin)
    record, limits = _limits(octets, count, at, part.headers_end)
    order = np.argsort(record, kind="stable")
    name_begin, name_end, value_begin, value_end = (each[order] for each in limits)
    names = _text(byte_column(part.data, name_begin, name_end))
    values = byte_column(part.data, value_begin, value_end)
    pairs = pa.StructArray.from_arrays([names, values], fields=list(HEADERS.value_type))
    offsets = np.concatenate(([0], np.cumsum(count))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pairs, type=HEADERS)


def _limits(octets: Octets, count: Ints, at: Ints, end: Ints) -> tuple[Ints, list[Ints]]:
    """Returns the record of each header, and begin and end of its name and of its value."""
    found: list[tuple[Ints, ...]] = [(np.empty(0, np.int64),) * 5]
    at = at.copy()
    for number in range(int(count.max(initial=0))):
        which = np.flatnonzero(count > number)
        name_begin, name_end, behind = field_at(octets, at[which], end[which])
        value_begin, value_end, at[which] = field_at(octets, behind, end[which])
        found.append((which, name_begin, name_end, value_begin, value_end))
    record, *limits = (np.concatenate(column) for column in zip(*found, strict=True))
    return record, limits


def _text(names: pa.BinaryArray) -> pa.StringArray:
    try:
        return names.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([each.decode(errors="replace") for each in names.to_pylist()], pa.string())
