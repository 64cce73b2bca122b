"""Text values: what formats write as text, turned into the values that a table stores."""

from __future__ import annotations

from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from aggregator.formats.time_texts import Flags, times
from aggregator.formats.wide_numbers import wide_of_texts
from aggregator.tables.column_type import ADDRESSES, ENUMS, TIMES, ColumnType
from aggregator.tables.value_limits import limits_of

_UUID_TEXT = 36
_DASHES = (8, 13, 18, 23)
_NO_DIGIT = 255
_HEX = np.full(256, _NO_DIGIT, np.uint8)
for _digit in range(16):
    _HEX[[ord(f"{_digit:x}"), ord(f"{_digit:X}")]] = _digit
DIGITS_OF_A_DOUBLE = 15
"""Digits of a decimal number that any double keeps."""


def of_texts(kind: ColumnType, texts: pa.Array, timezone: str) -> tuple[pa.Array, Flags]:
    """Returns the values of these texts (null where there is none), and True for each bad one.

    Args:
        texts: a column of large strings.
        timezone: of the server, for times that have none.
    """
    if kind.base in TIMES:
        return times(kind, texts, timezone)
    if kind.base in ENUMS:
        return _enum(kind, texts)
    if kind.base == "UUID":
        return _uuid(texts)
    if kind.base in ADDRESSES:
        return _addresses(kind, texts)
    if kind.is_wide:
        return wide_of_texts(kind, texts)
    if kind.base == "Decimal":
        return _decimal(kind, texts)
    return of_octets(kind, texts.cast(pa.large_binary()))


def of_octets(kind: ColumnType, octets: pa.Array) -> tuple[pa.Array, Flags]:
    """Returns bytes as values of a String or FixedString, and True for each that is too long."""
    if kind.base == "String":
        return octets, np.zeros(len(octets), np.bool_)
    size = np.asarray(pc.fill_null(pc.binary_length(octets), 0))
    bad = size > kind.length
    if bad.any():
        octets = pc.if_else(pa.array(bad), pa.scalar(b"", pa.large_binary()), octets)
    lack = kind.length - np.where(bad, 0, size)
    zeros = pa.array([bytes(count) for count in range(kind.length + 1)], pa.large_binary())
    nothing = pa.scalar(b"", pa.large_binary())
    filled = pc.binary_join_element_wise(
        pc.fill_null(octets, b""), zeros.take(pa.array(lack)), nothing
    )
    is_null = np.asarray(octets.is_null())
    return _fixed(filled.buffers()[2], len(filled), kind.length, is_null), bad


def _fixed(data: pa.Buffer, count: int, width: int, is_null: Flags) -> pa.Array:
    validity = None
    if is_null.any():
        validity = pa.py_buffer(np.packbits(~is_null, bitorder="little"))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), count, [validity, data])


def _enum(kind: ColumnType, texts: pa.Array) -> tuple[pa.Array, Flags]:
    names = pa.array([name for name, _ in kind.values], pa.large_string())
    numbers = pa.array([number for _, number in kind.values], kind.arrow)
    at = pc.index_in(texts, names)
    bad = np.asarray(at.is_null()) & np.asarray(texts.is_valid())
    return numbers.take(at), bad


def _uuid(texts: pa.Array) -> tuple[pa.Array, Flags]:
    is_text = np.asarray(texts.is_valid())
    limits = limits_of(texts)
    good = is_text & (np.diff(limits) == _UUID_TEXT)
    which = np.flatnonzero(good)
    octets = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
    text = octets[limits[which] + np.arange(_UUID_TEXT)[:, np.newaxis]]
    digits = _HEX[np.delete(text, _DASHES, axis=0)]
    fine = (text[list(_DASHES)] == ord("-")).all(axis=0) & (digits != _NO_DIGIT).all(axis=0)
    good[which] = fine
    values = np.zeros((len(texts), 16), np.uint8)
    values[which[fine]] = (digits[0::2] << 4 | digits[1::2]).T[fine]
    column = _fixed(pa.py_buffer(values.tobytes()), len(texts), 16, ~is_text)
    return column, is_text & ~good


def _addresses(kind: ColumnType, texts: pa.Array) -> tuple[pa.Array, Flags]:
    """Returns addresses; that of an IPv4 is within ::ffff:0:0/96 in a column of IPv6."""
    encoded = texts.dictionary_encode()
    known = pa.array([address(kind, text) for text in encoded.dictionary.to_pylist()], kind.arrow)
    column = known.take(encoded.indices)
    return column, np.asarray(column.is_null()) & np.asarray(texts.is_valid())


def address(kind: ColumnType, text: str) -> int | bytes | None:
    """Returns a text as an IPv4 or IPv6 is stored; None if it is none."""
    with suppress(ValueError):
        if kind.base == "IPv4":
            return int(IPv4Address(text))
        if ":" not in text:
            return IPv6Address(f"::ffff:{IPv4Address(text)}").packed
        # Servers know no zones.
        return IPv6Address(text).packed if "%" not in text else None
    return None


def _decimal(kind: ColumnType, texts: pa.Array) -> tuple[pa.Array, Flags]:
    """Returns decimal numbers; a number of more digits than the column has is bad."""
    series = pl.Series(texts)
    plain = series.str.contains(r"^-?[0-9]{1,38}(\.[0-9]*)?$").fill_null(False)
    whole_digits = kind.arrow.precision - kind.scale
    # Zeros behind the last digit of the scale change nothing.
    exact = series.str.replace(rf"^(-?[0-9]+)(?:\.([0-9]{{0,{kind.scale}}})0*)?$", "$1.$2")
    digits = rf"^-?0*[0-9]{{0,{whole_digits}}}\.[0-9]{{0,{kind.scale}}}$"
    good = plain & exact.str.contains(digits).fill_null(False)
    values = exact.zip_with(good, pl.Series([None], dtype=pl.String).new_from_index(0, len(exact)))
    column = values.str.strip_suffix(".").to_arrow(compat_level=pl.CompatLevel.oldest())
    bad = np.asarray(texts.is_valid()) & ~good.to_numpy()
    return column.cast(kind.arrow), bad
