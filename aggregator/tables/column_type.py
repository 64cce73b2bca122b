"""Column types of ClickHouse, parsed from their names."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

import pyarrow as pa

NUMBERS = {
    "Int8": pa.int8(),
    "Int16": pa.int16(),
    "Int32": pa.int32(),
    "Int64": pa.int64(),
    "UInt8": pa.uint8(),
    "UInt16": pa.uint16(),
    "UInt32": pa.uint32(),
    "UInt64": pa.uint64(),
    "Float32": pa.float32(),
    "Float64": pa.float64(),
    "Bool": pa.uint8(),
}
TIMES = {
    "Date": pa.uint16(),
    "Date32": pa.int32(),
    "DateTime": pa.uint32(),
    "DateTime64": pa.int64(),
}
ENUMS = {"Enum8": pa.int8(), "Enum16": pa.int16()}
WIDE_INTEGERS = {"Int128": 16, "UInt128": 16, "Int256": 32, "UInt256": 32}
"""Bytes of integers that Arrow has no type for."""
ADDRESSES = {"IPv4": pa.uint32(), "IPv6": pa.binary(16)}
DECIMAL_PRECISIONS = {"Decimal32": 9, "Decimal64": 18, "Decimal128": 38, "Decimal256": 76}
DECIMAL_PRECISION_MAX = 76
_NARROW_PRECISION_MAX = 38
FIXED_STRING_BYTES_MAX = 1 << 20
WRAPPERS_MAX = 16
"""Most types within each other: names may come from records, and each takes a call."""
SCALE_MAX = 9
"""Largest scale of a DateTime64."""

_CALL = re.compile(r"(\w+)(?:\((.*)\))?", re.DOTALL)
_TEXT = r"'((?:[^'\\]|\\.)*)'"
_ENUM_VALUE = re.compile(rf"\s*{_TEXT}\s*=\s*(-?\d+)\s*(?:,|$)", re.DOTALL)
_WRAPPERS = re.compile(r"(?:\s*(?:Array|Nullable|LowCardinality)\()*")
_DIGITS = re.compile(r"\s*[0-9]{1,9}\s*")
_TIMEZONE = re.compile(rf"\s*{_TEXT}\s*")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "f": "\f"}


class UnsupportedType(Exception):
    """A column type that cannot be loaded. Change the column, or give it a MATERIALIZED value."""


@dataclass(frozen=True, slots=True)
class ColumnType:
    """Type of a column.

    Args:
        name: as the server writes it.
        base: without Nullable and LowCardinality, and without what stands in parentheses.
        arrow: the Arrow type whose values are those that the server stores: days of a Date,
            seconds of a DateTime, ticks of a DateTime64, numbers of an Enum or an IPv4. Strings
            are bytes, a UUID and an IPv6 have their 16 bytes in the order of their text, integers
            of more than 64 bits theirs from the least on.
        element: type of an Array's elements.
        length: of a FixedString in bytes.
        precision: digits of a Decimal.
        scale: digits behind the point, of a Decimal or of the seconds of a DateTime64.
        timezone: of a DateTime or DateTime64; None for the server's.
        values: of an Enum, by name.
    """

    name: str
    base: str
    arrow: pa.DataType
    is_nullable: bool = False
    is_low_cardinality: bool = False
    element: ColumnType | None = None
    length: int = 0
    precision: int = 0
    scale: int = 0
    timezone: str | None = None
    values: tuple[tuple[str, int], ...] = ()

    @property
    def is_text(self) -> bool:
        """True for types whose values are written as text only."""
        return self.base in ("String", "FixedString", "UUID", *ENUMS, *ADDRESSES)

    @property
    def is_wide(self) -> bool:
        """True for numbers that 128 bits do not hold, and for all integers beyond 64 bits."""
        return self.base in WIDE_INTEGERS or self.precision > _NARROW_PRECISION_MAX


@lru_cache(maxsize=4096)
def column_type(name: str) -> ColumnType:
    """Returns the type of this name; raises UnsupportedType."""
    parsed = _CALL.fullmatch(name.strip())
    wrappers = _WRAPPERS.match(name)
    if not parsed or (wrappers and wrappers[0].count("(") > WRAPPERS_MAX):
        raise _unsupported(name)
    base, inside = parsed[1], parsed[2]
    if inside is None:
        found = _simple(name, base)
    elif base in ("Nullable", "LowCardinality"):
        found = _wrapped(name, base, column_type(inside))
    elif base == "Array":
        element = column_type(inside)
        found = ColumnType(name, base, pa.large_list(element.arrow), element=element)
    else:
        found = _with_arguments(name, base, inside)
    return replace(found, name=name.strip())


def is_loadable(name: str) -> bool:
    """Returns True if values of the type can be loaded."""
    try:
        column_type(name)
    except UnsupportedType:
        return False
    return True


def _unsupported(name: str) -> UnsupportedType:
    return UnsupportedType(f"columns of type {name:.100} cannot be loaded")


def _simple(name: str, base: str) -> ColumnType:
    arrow = NUMBERS.get(base) or TIMES.get(base) or ADDRESSES.get(base)
    if base in WIDE_INTEGERS:
        arrow = pa.binary(WIDE_INTEGERS[base])
    elif base == "String":
        arrow = pa.large_binary()
    elif base == "UUID":
        arrow = pa.binary(16)
    if arrow is None:
        raise _unsupported(name)
    return ColumnType(name, base, arrow, scale=3 if base == "DateTime64" else 0)


def _wrapped(name: str, wrapper: str, inner: ColumnType) -> ColumnType:
    if inner.base == "Array" or inner.is_low_cardinality:
        raise _unsupported(name)
    if wrapper == "LowCardinality":
        return replace(inner, is_low_cardinality=True)
    if inner.is_nullable:
        raise _unsupported(name)
    return replace(inner, is_nullable=True)


def _with_arguments(name: str, base: str, inside: str) -> ColumnType:
    if base in ENUMS:
        return _enum(name, base, inside)
    if base in ("DateTime", "DateTime64"):
        return _time(name, base, inside)
    parts = inside.split(",")
    if not all(map(_DIGITS.fullmatch, parts)):
        raise _unsupported(name)
    numbers = [int(part) for part in parts]
    is_one = len(numbers) == 1
    if base == "FixedString" and is_one and 0 < numbers[0] <= FIXED_STRING_BYTES_MAX:
        return ColumnType(name, base, pa.binary(numbers[0]), length=numbers[0])
    if base in DECIMAL_PRECISIONS and is_one:
        return _decimal(name, DECIMAL_PRECISIONS[base], numbers[0])
    if base == "Decimal" and len(numbers) <= 2:
        return _decimal(name, numbers[0], numbers[1] if len(numbers) == 2 else 0)
    raise _unsupported(name)


def _decimal(name: str, precision: int, scale: int) -> ColumnType:
    if not 0 <= scale <= precision <= DECIMAL_PRECISION_MAX or not precision:
        raise _unsupported(name)
    made = pa.decimal256 if precision > _NARROW_PRECISION_MAX else pa.decimal128
    return ColumnType(name, "Decimal", made(precision, scale), precision=precision, scale=scale)


def _time(name: str, base: str, inside: str) -> ColumnType:
    scale, comma, timezone = inside.partition(",") if base == "DateTime64" else ("0", ",", inside)
    zone = _TIMEZONE.fullmatch(timezone) if comma else None
    if bool(comma) != bool(zone) or not _DIGITS.fullmatch(scale) or int(scale) > SCALE_MAX:
        raise _unsupported(name)
    zone_name = zone[1] if zone else None
    return ColumnType(name, base, TIMES[base], scale=int(scale), timezone=zone_name)


def _enum(name: str, base: str, inside: str) -> ColumnType:
    values, bits = _enum_values(name, inside), ENUMS[base].bit_width
    if not values or not all(-(1 << bits - 1) <= number < 1 << bits - 1 for _, number in values):
        raise _unsupported(name)
    return ColumnType(name, base, ENUMS[base], values=values)


def _enum_values(name: str, inside: str) -> tuple[tuple[str, int], ...]:
    values, at = [], 0
    while at < len(inside):
        found = _ENUM_VALUE.match(inside, at)
        if not found:
            raise _unsupported(name)
        values.append((_unescaped(found[1]), int(found[2])))
        at = found.end()
    return tuple(values)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text, flags=re.DOTALL)
