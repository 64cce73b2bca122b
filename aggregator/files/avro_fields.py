"""Avro fields of a record: key, headers and so on as the bytes of Avro values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aggregator.files.record_columns import headers_column
from aggregator.formats.binary_pieces import blocks, joined, with_length, zigzags
from aggregator.formats.byte_columns import byte_column
from aggregator.formats.record_slice import NO_TIME, RecordSlice

_NULLABLE_BYTES = ["null", "bytes"]
_HEADER = {
    "type": "record",
    "name": "sluice_header",
    "namespace": "",
    "fields": [
        {"name": "name", "type": "string"},
        {"name": "value", "type": _NULLABLE_BYTES},
    ],
}
_MILLISECONDS = {"type": "long", "logicalType": "timestamp-millis"}
TYPES: dict[str, Any] = {
    "key": _NULLABLE_BYTES,
    "headers": {"type": "array", "items": _HEADER},
    "timestamp": ["null", _MILLISECONDS],
    "topic": "string",
    "partition": "int",
    "offset": "long",
}
"""Types of the fields."""
_NULL, _VALUE = b"\x00", b"\x02"
"""Branches of a union of null and another type."""


def avro_fields(names: Sequence[str]) -> list[dict[str, Any]]:
    """Returns the fields as a schema has them."""
    return [{"name": name, "type": TYPES[name]} for name in names]


def encoded_fields(
    records: RecordSlice, names: Sequence[str], topic: str, partition: int
) -> list[pa.BinaryArray | bytes]:
    """Returns the fields of each record, in the order of the names; bytes are those of all."""
    made: dict[str, Callable[[], pa.BinaryArray | bytes]] = {
        "key": lambda: _nullable(byte_column(records.data, records.key_begin, records.key_end)),
        "headers": lambda: _headers(records),
        "timestamp": lambda: _timestamps(records),
        "topic": lambda: _of_all(with_length(pa.array([topic.encode()], pa.binary()))),
        "partition": lambda: _of_all(zigzags(np.array([partition]))),
        "offset": lambda: zigzags(records.offset),
    }
    return [made[name]() for name in names]


def _of_all(column: pa.BinaryArray) -> bytes:
    return bytes(column[0].as_py())


def _nullable(values: pa.BinaryArray) -> pa.BinaryArray:
    """Returns values of a union of null and bytes."""
    present = values.fill_null(b"")
    if not values.null_count:
        return joined([_VALUE, with_length(present)])
    return pc.if_else(values.is_valid(), joined([_VALUE, with_length(present)]), _NULL)


def _timestamps(records: RecordSlice) -> pa.BinaryArray:
    is_missing = records.timestamp_ms == NO_TIME
    found = joined([_VALUE, zigzags(records.timestamp_ms)])
    return pc.if_else(pa.array(~is_missing), found, _NULL) if is_missing.any() else found


def _headers(records: RecordSlice) -> pa.BinaryArray | bytes:
    column = headers_column(records)
    count = np.diff(np.asarray(column.offsets)).astype(np.int64)
    if not count.any():
        return b"\0"
    names, values = column.values.flatten()
    items = joined([with_length(names.cast(pa.binary())), _nullable(values)])
    return blocks(items, count)
