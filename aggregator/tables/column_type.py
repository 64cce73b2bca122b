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
DEPTH_MAX = 16
"""Most types within each other: names may come from records, and each takes a call."""
SCALE_MAX = 9
"""Largest scale of a DateTime64."""

_CALL = re.compile(r"(\w+)(?:\((.*)\))?", re.DOTALL)
_TEXT = r"'((?:[^'\\]|\\.)*)'"
_ENUM_VALUE = re.compile(rf"\s*{_TEXT}\s*=\s*(-?\d+)\s*(?:,|$)", re.DOTALL)
_PIECE = re.compile(rf"{_TEXT}|`(?:[^`\\]|\\.)*`|[(),]|[^'`(),]+", re.DOTALL)
_ELEMENT = re.compile(r"\s*(?:(`(?:[^`\\]|\\.)*`|[A-Za-z_]\w*)\s+)?(\S.*)", re.DOTALL)
_DIGITS = re.compile(r"\s*[0-9]{1,9}\s*")
_TIMEZONE = re.compile(rf"\s*{_TEXT}\s*")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "f": "\f"}


class UnsupportedType(Exception):
    """A column type that cannot be loaded. Change the column, or give it a MATERIALIZED value.

    Args:
        element: the innermost element that is the reason, by name; empty for the type itself.
    """

    def __init__(self, text: str, element: str = "") -> None:
        super().__init__(text)
        self.element = element


@dataclass(frozen=True, slots=True)
class ColumnType:
    """Type of a column.

    Args:
        name: as the server writes it.
        base: without Nullable and LowCardinality, and without what stands in parentheses.
        arrow: the Arrow type whose values are those that the server stores: days of a Date,
            seconds of a DateTime, ticks of a DateTime64, numbers of an Enum or an IPv4. Strings
            are bytes, a UUID and an IPv6 have their 16 bytes in the order of their text, integers
            of more than 64 bits theirs from the least on. A Tuple is a struct, a Map a list of
            structs with the fields key and value.
        element: type of the elements of an Array or a Nested; of a Map, the Tuple of key and value.
        fields: elements of a Tuple by name; those of an unnamed one are called 1, 2 ...
        is_named: the elements of the Tuple have names of their own.
        is_key: of a Map. Formats whose keys are texts write numbers as texts there.
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
    fields: tuple[tuple[str, ColumnType], ...] = ()
    is_named: bool = False
    is_key: bool = False
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
    def has_tuples(self) -> bool:
        """True for a Tuple, a Map or a Nested, and for Arrays of these."""
        return bool(self.fields) or (self.element is not None and self.element.has_tuples)

    @property
    def is_wide(self) -> bool:
        """True for numbers that 128 bits do not hold, and for all integers beyond 64 bits."""
        return self.base in WIDE_INTEGERS or self.precision > _NARROW_PRECISION_MAX


@lru_cache(maxsize=4096)
def column_type(name: str) -> ColumnType:
    """Returns the type of this name; raises UnsupportedType."""
    return _parsed(name, 0)


def _parsed(name: str, depth: int) -> ColumnType:
    parsed = _CALL.fullmatch(name.strip())
    if not parsed or depth > DEPTH_MAX:
        raise _unsupported(name)
    base, inside = parsed[1], parsed[2]
    if inside is None:
        found = _simple(name, base)
    elif base in ("Nullable", "LowCardinality"):
        found = _wrapped(name, base, _parsed(inside, depth + 1))
    elif base == "Array":
        found = _array(name, base, _parsed(inside, depth + 1))
    elif base == "Tuple":
        found = _tuple(name, inside, depth)
    elif base == "Nested":
        found = _array(name, base, _tuple(f"Tuple({inside})", inside, depth))
    elif base == "Map":
        found = _map(name, inside, depth)
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


def unloadable_element(name: str) -> str:
    """Returns name and type of the element for which a type cannot be loaded; empty if that is the
    type itself."""
    try:
        column_type(name)
    except UnsupportedType as error:
        return error.element
    return ""


def _unsupported(name: str, element: str = "") -> UnsupportedType:
    why = f": {element:.100}" if element else ""
    return UnsupportedType(f"columns of type {name:.100} cannot be loaded{why}", element)


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


def _array(name: str, base: str, element: ColumnType) -> ColumnType:
    return ColumnType(name, base, pa.large_list(element.arrow), element=element)


def _tuple(name: str, inside: str, depth: int) -> ColumnType:
    """Returns a Tuple; of its elements all have names or none."""
    names, kinds = [], []
    for text in _arguments(name, inside):
        found = _ELEMENT.fullmatch(text)
        if not found:
            raise _unsupported(name)
        quoted = found[1] or ""
        names.append(_unescaped(quoted[1:-1]) if quoted.startswith("`") else quoted)
        kinds.append(_element(name, names[-1] or str(len(names)), found[2], depth))
    is_named = all(names)
    if not is_named:
        if any(names):
            raise _unsupported(name)
        names = [str(at + 1) for at in range(len(kinds))]
    if len(set(names)) < len(names):
        raise _unsupported(name)
    fields = tuple(zip(names, kinds, strict=True))
    arrow = pa.struct([(each, kind.arrow) for each, kind in fields])
    return ColumnType(name, "Tuple", arrow, fields=fields, is_named=is_named)


def _element(name: str, element: str, inside: str, depth: int) -> ColumnType:
    """Returns the type of an element; names it if it is what cannot be loaded."""
    try:
        return _parsed(inside, depth + 1)
    except UnsupportedType as error:
        within = f"{element}.{error.element}" if error.element else f"{element} {inside.strip()}"
        raise _unsupported(name, within) from None


def _map(name: str, inside: str, depth: int) -> ColumnType:
    arguments = _arguments(name, inside)
    if len(arguments) != 2:
        raise _unsupported(name)
    key, value = (
        _element(name, each, text, depth)
        for each, text in zip(("key", "value"), arguments, strict=True)
    )
    if key.element is not None or key.fields or key.is_nullable:
        raise _unsupported(name, f"key {key.name}")
    fields = (("key", replace(key, is_key=True)), ("value", value))
    arrow = pa.struct([(each, kind.arrow) for each, kind in fields])
    entry = ColumnType(f"Tuple({inside})", "Tuple", arrow, fields=fields, is_named=True)
    return _array(name, "Map", entry)


def _arguments(name: str, inside: str) -> list[str]:
    """Returns the texts between the commas that stand within no other type."""
    parts, depth, at = [""], 0, 0
    while at < len(inside):
        found = _PIECE.match(inside, at)
        if not found or depth < 0:
            raise _unsupported(name)
        piece, at = found[0], found.end()
        depth += {"(": 1, ")": -1}.get(piece, 0)
        if piece == "," and not depth:
            parts.append("")
        else:
            parts[-1] += piece
    return parts


def _wrapped(name: str, wrapper: str, inner: ColumnType) -> ColumnType:
    if inner.element is not None or inner.fields or inner.is_low_cardinality:
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
