"""Key hash: 128 bits that stand for the values of a primary key, in the state and in the store.

The hash is of canonical bytes: of each column its length and its value, as the column's type stores
it. So "1", 1 and 1.0 of one column are one key, as far as the column takes them. No two keys have
the same bytes, wherever one column ends and the next begins. Hashes are stored: the form never
changes.

    number   8 bytes, little endian, in two's complement; of Date, DateTime, Enum and IPv4 too
    Decimal  16 bytes, or 32 beyond 38 digits, of the number without its point
    others   their bytes as they are

A hash outlives a change of an integer column to a wider one.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aggregator.tables.column_type import ColumnType

HASH_BYTES = 16
_PREFIX_BYTES = 4
_NOTHING = pa.scalar(b"", pa.large_binary())

Octets = npt.NDArray[np.uint8]


class KeyRefused(ValueError):
    """Column or value that cannot be part of a primary key."""


def refusal(kind: ColumnType) -> str:
    """Returns why columns of a type cannot be part of a primary key; empty if they can."""
    if kind.is_nullable:
        return f"{kind.name} has NULL, which equals nothing: make the column {kind.base}"
    if pa.types.is_floating(kind.arrow):
        return f"{kind.name} has several values that are written alike: use a Decimal or a String"
    if kind.element is not None or kind.fields:
        return f"{kind.name} is not one value: name columns of single values"
    return ""


def key_hashes(columns: Sequence[pa.Array], types: Sequence[ColumnType]) -> pa.Array:
    """Returns the hash of each row's key, as a FixedString(16).

    Args:
        columns: of the primary key, in its order, each in the Arrow type of its column.
        types: of these columns.

    Raises:
        KeyRefused: a type cannot be part of a key, or a row has no value (its record is a dead
            letter).
    """
    if not columns:
        raise KeyRefused("a primary key has at least one column")
    parts = [_parts(values, kind) for values, kind in zip(columns, types, strict=True)]
    made = [
        blake2b(each, digest_size=HASH_BYTES).digest() for each in _joined(parts, len(columns[0]))
    ]
    buffers = [None, pa.py_buffer(b"".join(made))]
    return pa.Array.from_buffers(pa.binary(HASH_BYTES), len(made), buffers)


def _parts(values: pa.Array, kind: ColumnType) -> Octets | pa.Array:
    """Returns a column as bytes: as many of each row, or an array of texts."""
    if reason := refusal(kind):
        raise KeyRefused(reason)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if values.null_count:
        raise KeyRefused(f"{values.null_count} rows have no value in a column of the primary key")
    if values.type != kind.arrow:
        values = values.cast(kind.arrow)
    if pa.types.is_integer(values.type):
        numbers = np.asarray(values)
        wide = numbers.astype("<u8") if values.type == pa.uint64() else numbers.astype("<i8")
        return wide.view(np.uint8).reshape(-1, 8)
    if pa.types.is_decimal(values.type) or pa.types.is_fixed_size_binary(values.type):
        width = values.type.bit_width // 8 if pa.types.is_decimal(values.type) else None
        width = width or values.type.byte_width
        octets = np.frombuffer(values.buffers()[1] or b"", np.uint8)
        return octets[values.offset * width : (values.offset + len(values)) * width].reshape(
            -1, width
        )
    return values.cast(pa.large_binary())


def _joined(parts: Sequence[Octets | pa.Array], rows: int) -> list[bytes]:
    """Returns the canonical bytes of each row's key."""
    if not rows:
        return []
    if all(isinstance(each, np.ndarray) for each in parts):
        return _texts(np.hstack([_with_length(each) for each in parts]))
    columns = []
    for each in parts:
        if isinstance(each, np.ndarray):
            columns.append(_binary(_with_length(each)))
        else:
            columns += [_lengths(each), each]
    joined = pc.binary_join_element_wise(*columns, _NOTHING)
    found: Any = joined.to_numpy(zero_copy_only=False).tolist()
    return list(found)


def _with_length(octets: Octets) -> Octets:
    rows, width = octets.shape
    length = np.frombuffer(width.to_bytes(_PREFIX_BYTES, "big"), np.uint8)
    return np.hstack([np.broadcast_to(length, (rows, _PREFIX_BYTES)), octets])


def _lengths(texts: pa.Array) -> pa.Array:
    lengths = np.asarray(pc.binary_length(texts)).astype(">u4")
    return _binary(lengths.view(np.uint8).reshape(-1, _PREFIX_BYTES))


def _binary(octets: Octets) -> pa.Array:
    """Returns as many bytes of each row as an array of texts."""
    rows, width = octets.shape
    ends = np.arange(rows + 1, dtype=np.int64) * width
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(np.ascontiguousarray(octets))]
    return pa.Array.from_buffers(pa.large_binary(), rows, buffers)


def _texts(octets: Octets) -> list[bytes]:
    whole = np.ascontiguousarray(octets).view(np.dtype((np.void, octets.shape[1]))).ravel()
    found: Any = whole.tolist()
    return list(found)
