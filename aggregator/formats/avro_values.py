"""Avro values: scalars of datums as typed Arrow columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from aggregator.formats.avro_cursors import Cursors
from aggregator.formats.avro_schema import AvroType
from aggregator.formats.byte_columns import taken
from aggregator.formats.record_slice import Ints
from aggregator.formats.varint_words import words_at
from aggregator.tables.column_type import ColumnType
from replicator.batches.varints import Octets

_INT_MAX = 2**31 - 1
_MOMENTS = {
    "timestamp-millis": pa.timestamp("ms", tz="UTC"),
    "timestamp-micros": pa.timestamp("us", tz="UTC"),
    "timestamp-nanos": pa.timestamp("ns", tz="UTC"),
    "local-timestamp-millis": pa.timestamp("ms"),
    "local-timestamp-micros": pa.timestamp("us"),
    "local-timestamp-nanos": pa.timestamp("ns"),
}
_DECIMAL_DIGITS, _DECIMAL_BYTES = 76, 32
_DECIMAL_BYTES_MAX = 31
"""Any number of so many bytes has at most _DECIMAL_DIGITS digits."""


def values_of(kind: AvroType, cursors: Cursors, column: ColumnType | None) -> pa.Array | None:
    """Reads a scalar of each datum; returns None if it has no column.

    Args:
        column: that the values are meant for.
    """
    is_text = column is not None and column.base not in ("String", "FixedString")
    return scalars_of(kind, cursors, is_wanted=column is not None, is_text=is_text)


def scalars_of(
    kind: AvroType,
    cursors: Cursors,
    *,
    is_wanted: bool = True,
    is_text: bool = True,
    is_large: bool = True,
) -> pa.Array | None:
    """Reads a scalar of each datum; returns None if it is not wanted.

    Values of broken datums mean nothing. An enum is a dictionary of its symbols.

    Args:
        is_text: strings have to be UTF-8.
        is_large: bytes and strings may be more than 2 GiB together.
    """
    base = kind.base
    if base == "null":
        return pa.nulls(len(cursors)) if is_wanted else None
    if base == "boolean":
        octet = cursors.octet()
        cursors.break_where(octet > 1)
        return pa.array(octet == 1) if is_wanted else None
    if base in ("int", "long", "enum"):
        return _number(kind, cursors, is_wanted)
    if base in ("float", "double"):
        begin = cursors.fixed(4 if base == "float" else 8)
        return _float(base, cursors.octets, begin) if is_wanted else None
    if base == "fixed":
        begin = cursors.fixed(kind.size)
        end = begin + kind.size
        if cursors.is_broken.any():
            begin = np.where(cursors.is_broken, cursors.end, begin)
            end = np.where(cursors.is_broken, cursors.end, end)
    else:
        begin, end = cursors.content()
    if not is_wanted:
        return None
    if kind.logical == "decimal":
        return _decimal(kind, cursors, begin, end)
    octets = taken(cursors.octets.data, begin, end)
    if base == "string" and is_text:
        return _text(octets, cursors, pa.large_string() if is_large else pa.string())
    return octets.cast(pa.large_binary()) if is_large else octets


def _number(kind: AvroType, cursors: Cursors, is_wanted: bool) -> pa.Array | None:
    number = cursors.number()
    if kind.base == "int":
        cursors.break_where((number < -_INT_MAX - 1) | (number > _INT_MAX))
    if kind.base == "enum":
        cursors.break_where((number < 0) | (number >= len(kind.symbols)))
    if not is_wanted:
        return None
    if kind.base == "enum":
        index = np.where(cursors.is_broken, 0, number).astype(np.int32)
        symbols = pa.array(kind.symbols, pa.large_string())
        return pa.DictionaryArray.from_arrays(pa.array(index), symbols)
    if kind.logical == "date":
        return pa.array(number.astype(np.int32)).view(pa.date32())
    numbers = pa.array(number)
    return numbers.view(_MOMENTS[kind.logical]) if kind.logical else numbers


def _float(base: str, octets: Octets, begin: Ints) -> pa.Array:
    words = words_at(octets, begin)
    if base == "double":
        return pa.array(words.view(np.float64))
    return pa.array(words.astype(np.uint32).view(np.float32))


def _text(octets: pa.Array, cursors: Cursors, wanted: pa.DataType) -> pa.Array:
    try:
        return octets.cast(wanted)
    except pa.ArrowInvalid:
        texts = [_decoded(value) for value in octets.to_pylist()]
        cursors.break_where(np.array([text is None for text in texts]))
        return pa.array(texts, wanted)


def _decoded(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _decimal(kind: AvroType, cursors: Cursors, begin: Ints, end: Ints) -> pa.Array:
    """Returns big-endian numbers of any size as decimals."""
    size = end - begin
    bad = size > _DECIMAL_BYTES_MAX
    cursors.break_where(bad)
    size = np.where(bad, 0, size)
    octets = cursors.octets
    sign = np.where((size > 0) & (octets[begin] > 127), np.uint8(255), np.uint8(0))
    number = np.empty((len(size), _DECIMAL_BYTES), np.uint8)
    number[:] = sign[:, np.newaxis]
    for place in range(int(size.max(initial=0))):
        octet = octets[np.maximum(end - 1 - place, 0)]
        number[:, place] = np.where(place < size, octet, sign)
    decimals = pa.decimal256(_DECIMAL_DIGITS, kind.scale)
    return pa.Array.from_buffers(decimals, len(size), [None, pa.py_buffer(number)])
