"""Typed values: numbers, moments and bytes of typed formats as the values that a table stores.

    into            from
    integers        integers; a boolean into UInt8
    Float32, 64     floats, rounded to the nearest; integers that the column holds exactly
    Bool            booleans
    Date, Date32    dates, moments, integers (days)
    DateTime        moments, dates, integers (seconds)
    DateTime64      moments, dates, integers (seconds, or ticks: see time_texts)
    Enum            its numbers
    UUID            16 bytes
    String          bytes
    FixedString     bytes, filled with zeros
    Decimal         decimals, integers, floats of up to 15 digits
    Int128, Int256  integers, decimals that are whole; the same without a sign

A moment is floored to the seconds or ticks of its column. A moment without a time zone is a local
time of the column's zone, else of the server's. Any other value that a column cannot hold is bad.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aggregator.formats.moments import of_moments
from aggregator.formats.text_values import DIGITS_OF_A_DOUBLE, of_octets
from aggregator.formats.time_texts import Flags
from aggregator.formats.wide_numbers import wide_of_values
from aggregator.tables.column_type import ENUMS, NUMBERS, TIMES, ColumnType

_BINARY_DIGITS = {"Float32": 24, "Float64": 53}
_UUID_BYTES = 16
_DECIMAL_OF_INTEGERS = pa.decimal128(20, 0)
_WIDE_DIGITS = 76


def of_typed(kind: ColumnType, values: pa.Array, timezone: str) -> tuple[pa.Array, Flags]:
    """Returns the values of a column that is no Array, and True for each bad one.

    Args:
        values: of any type but text. Of a type that the column does not take, all are bad.
        timezone: of the server.
    """
    given = values.type
    if kind.base in NUMBERS:
        return _numbers(kind, values)
    if kind.base in TIMES:
        return of_moments(kind, values, timezone)
    if kind.is_wide and (pa.types.is_integer(given) or pa.types.is_decimal(given)):
        return wide_of_values(kind, values)
    if kind.base == "Decimal":
        return _decimals(kind, values)
    if kind.base in ENUMS and pa.types.is_integer(given):
        numbers, unfit = _integers(kind, values)
        known = pc.is_in(numbers, pa.array([number for _, number in kind.values], kind.arrow))
        column, unknown = _fitting(kind, numbers, np.asarray(known))
        return column, unfit | unknown
    if pa.types.is_binary(given) or pa.types.is_large_binary(given):
        return _octets(kind, values.cast(pa.large_binary()))
    return refused(kind, values)


def refused(kind: ColumnType, values: pa.Array) -> tuple[pa.Array, Flags]:
    """Returns nulls, and True for each value that is none."""
    return pa.nulls(len(values), kind.arrow), np.asarray(values.is_valid())


def _fitting(kind: ColumnType, values: pa.Array, fits: Flags) -> tuple[pa.Array, Flags]:
    """Returns values in the column's type, and True for each that does not fit."""
    bad = ~fits & np.asarray(values.is_valid())
    if bad.any():
        values = pc.if_else(pa.array(bad), pa.scalar(None, values.type), values)
    return values.cast(kind.arrow, safe=False), bad


def _numbers(kind: ColumnType, values: pa.Array) -> tuple[pa.Array, Flags]:
    given = values.type
    if pa.types.is_boolean(given):
        if kind.base in ("UInt8", "Bool"):
            return values.cast(kind.arrow), np.zeros(len(values), np.bool_)
        return refused(kind, values)
    if kind.base == "Bool":
        return refused(kind, values)
    if given == kind.arrow:
        return values, np.zeros(len(values), np.bool_)
    if pa.types.is_floating(kind.arrow):
        return _floats(kind, values)
    if not pa.types.is_integer(given):
        return refused(kind, values)
    return _integers(kind, values)


def _integers(kind: ColumnType, values: pa.Array) -> tuple[pa.Array, Flags]:
    limits = np.iinfo(kind.arrow.to_pandas_dtype())
    found = pc.min_max(values)
    least, most = found["min"].as_py(), found["max"].as_py()
    if least is None or (least >= limits.min and most <= limits.max):
        return values.cast(kind.arrow, safe=False), np.zeros(len(values), np.bool_)
    number = np.asarray(pc.fill_null(values, 0))
    return _fitting(kind, values, (number >= limits.min) & (number <= limits.max))


def _floats(kind: ColumnType, values: pa.Array) -> tuple[pa.Array, Flags]:
    if pa.types.is_floating(values.type):
        rounded = values.cast(kind.arrow, safe=False)
        # A number that is too large for the column would become infinite.
        is_lost = pc.and_(pc.is_inf(rounded), pc.is_finite(values))
        return _fitting(kind, values, ~np.asarray(pc.fill_null(is_lost, False)))
    if pa.types.is_integer(values.type):
        digits = _BINARY_DIGITS[kind.base]
        size = _sizes(values)
        least_bit = size & (~size + np.uint64(1))
        return _fitting(kind, values, (size == 0) | (size >> np.uint64(digits) < least_bit))
    return refused(kind, values)


def _sizes(integers: pa.Array) -> npt.NDArray[np.uint64]:
    """Returns the integers without their sign."""
    number = np.asarray(pc.fill_null(integers, 0))
    if number.dtype.kind == "u":
        return number.astype(np.uint64)
    return np.abs(number.astype(np.int64)).view(np.uint64)


def _octets(kind: ColumnType, values: pa.Array) -> tuple[pa.Array, Flags]:
    if kind.base in ("String", "FixedString"):
        return of_octets(kind, values)
    if kind.base != "UUID":
        return refused(kind, values)
    is_uuid = np.asarray(pc.fill_null(pc.equal(pc.binary_length(values), _UUID_BYTES), True))
    return _fitting(kind, values, is_uuid)


def _decimals(kind: ColumnType, values: pa.Array) -> tuple[pa.Array, Flags]:
    given, is_value = values.type, np.asarray(values.is_valid())
    if pa.types.is_floating(given):
        values = _decimals_of_floats(kind, values)
        if kind.is_wide:
            column, _ = wide_of_values(kind, values)
            return column, is_value & np.asarray(column.is_null())
    elif pa.types.is_integer(given):
        values = values.cast(_DECIMAL_OF_INTEGERS)
    elif not pa.types.is_decimal(given):
        return refused(kind, values)
    values = _without_large(kind, values)
    values = values.cast(pa.decimal256(_WIDE_DIGITS, max(values.type.scale, kind.scale)))
    is_whole = np.ones(len(values), np.bool_)
    if values.type.scale > kind.scale:
        cut = pc.round(values, ndigits=kind.scale, round_mode="towards_zero")
        is_whole = np.asarray(pc.fill_null(pc.equal(cut, values), True))
    column, _ = _fitting(kind, values, is_whole)
    return column, is_value & np.asarray(column.is_null())


def _without_large(kind: ColumnType, values: pa.Array) -> pa.Array:
    """Returns decimals without those that have too many digits before the point."""
    digits, scale = kind.precision - kind.scale, values.type.scale
    if values.type.precision - scale <= digits:
        return values
    # As many digits as any value has: they do not become more, so nothing overflows.
    wide = values.cast(pa.decimal256(_WIDE_DIGITS, scale))
    limit = pa.scalar(Decimal(10) ** digits, wide.type)
    return pc.if_else(pc.less(pc.abs(wide), limit), wide, pa.scalar(None, wide.type))


def _decimals_of_floats(kind: ColumnType, values: pa.Array) -> pa.Array:
    """Returns decimals with the column's scale; null for floats that are no such number.

    A float stands for the decimal that it is nearest to.
    """
    number = np.asarray(pc.fill_null(values.cast(pa.float64()), 0))
    unit = 10.0 ** min(kind.scale, DIGITS_OF_A_DOUBLE)
    with np.errstate(over="ignore", invalid="ignore"):
        ticks = np.rint(number * unit)
        is_exact = (np.abs(ticks) < 10.0**DIGITS_OF_A_DOUBLE) & (ticks / unit == number)
    whole = pa.array(np.where(is_exact, ticks, 0).astype(np.int64))
    # Ticks of 10**-scale: the digits are the same, the point is moved.
    scale = min(kind.scale, DIGITS_OF_A_DOUBLE)
    decimals = pc.multiply(whole.cast(pa.decimal128(19, 0)), pa.scalar(Decimal(1).scaleb(-scale)))
    nothing = ~is_exact | np.asarray(values.is_null())
    return pc.if_else(pa.array(nothing), pa.scalar(None, decimals.type), decimals)
