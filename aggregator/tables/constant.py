"""Constants: the values of constant expressions in column defaults, in the types of their columns.

Only what every supported server evaluates to the same value is a constant here: literals, arrays,
tuples, maps, casts and conversions of these. All else is left to the server, such as 0.29 for a
Decimal(9, 2), which becomes a Float64 there and is cut off to 0.28.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from ipaddress import IPv4Address, IPv6Address
from typing import Any, NoReturn
from zoneinfo import ZoneInfo

import numpy as np

from aggregator.tables.column_type import (
    ADDRESSES,
    DECIMAL_PRECISIONS,
    NUMBERS,
    TIMES,
    WIDE_INTEGERS,
    ColumnType,
    UnsupportedType,
    column_type,
)

_TOKEN = re.compile(
    r"\s*(?:(?P<string>'(?:[^'\\]|\\.|'')*')"
    r"|(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<mark>::|.))",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|.)|''", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "f": "\f", "a": "\a", "v": "\v"}
_WORDS = {"null": None, "true": True, "false": False}
_UNCHANGED = ("toNullable", "toLowCardinality", "identity", "materialize")
_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_WIDE_TEXT = re.compile(r"-?\d{1,78}")
_DECIMAL_TEXT = re.compile(r"-?\d{1,38}(?:\.\d{1,38})?")
_DEPTH_MAX = 50
_EXACT = Context(prec=100)
_EXACT_INTEGERS = {"Float32": 1 << 24, "Float64": 1 << 53}
# Days of a Date in its text form: later ones are another number on some servers.
_DATES = {
    "Date": (date(1970, 1, 1), date(2105, 12, 31)),
    "Date32": (date(1925, 1, 1), date(2283, 11, 11)),
}
_LAST_SECOND = datetime(2105, 12, 31, tzinfo=UTC)


class NoConstant(ValueError):
    """An expression whose value is not known without the server."""


@dataclass(frozen=True, slots=True)
class _Real:
    """Number with a point or an exponent, which servers read as a Float64."""

    text: str


@dataclass(frozen=True, slots=True)
class _Typed:
    """Value of a type, as Arrow has it."""

    kind: ColumnType
    value: Any


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Keys and values of a map."""

    pairs: tuple[tuple[Any, Any], ...]


def constant(kind: ColumnType, expression: str, timezone: str) -> Any:
    """Returns the value of an expression for a column's Arrow type; None is NULL.

    Args:
        timezone: of the server.

    Raises:
        NoConstant: only the server can evaluate the expression.
    """
    value = _Parser(expression, timezone).parsed()
    return _converted(kind, value, timezone)


class _Parser:
    """Recursive parser of one expression."""

    def __init__(self, text: str, timezone: str) -> None:
        self._text, self._timezone = text, timezone
        self._at = self._depth = 0

    def parsed(self) -> Any:
        """Returns the value of the whole text."""
        value = self._value()
        if self._text[self._at :].strip():
            _unknown(self._text)
        return value

    def _next(self) -> re.Match[str]:
        found = _TOKEN.match(self._text, self._at)
        if not found:
            _unknown(self._text)
        self._at = found.end()
        return found

    def _has(self, mark: str) -> bool:
        """Returns True, and passes the mark, if it comes next."""
        found = _TOKEN.match(self._text, self._at)
        if not found or found["mark"] != mark:
            return False
        self._at = found.end()
        return True

    def _value(self) -> Any:
        value = self._bare()
        while self._has("::"):
            # Servers read a number before the colons as the text that it is.
            text = value.text if isinstance(value, _Real) else value
            value = self._cast(text, self._type_name(",)]"))
        return value

    def _bare(self) -> Any:
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            _unknown(self._text)
        value = self._part()
        self._depth -= 1
        return value

    def _part(self) -> Any:
        found = self._next()
        if found["string"] is not None:
            return _unescaped(found["string"][1:-1])
        if found["number"] is not None:
            return _number(found["number"])
        if (name := found["name"]) is not None:
            return self._call(name) if self._has("(") else _word(name)
        match found["mark"]:
            case "-":
                return _negative(self._bare())
            case "[":
                return self._values("]")
            case "(":
                values = self._values(")")
                return values[0] if len(values) == 1 else tuple(values)
        return _unknown(self._text)

    def _values(self, end: str) -> list[Any]:
        values: list[Any] = []
        if self._has(end):
            return values
        while True:
            values.append(self._value())
            if self._has(end):
                return values
            if not self._has(","):
                _unknown(self._text)

    def _call(self, name: str) -> Any:
        if name.upper().lstrip("_") == "CAST":
            value = self._value()
            if self._has(","):
                type_name = self._value()
                if not isinstance(type_name, str):
                    _unknown(self._text)
            else:
                if (self._next()["name"] or "").upper() != "AS":
                    _unknown(self._text)
                type_name = self._type_name(")")
            if not self._has(")"):
                _unknown(self._text)
            return self._cast(value, type_name)
        values = self._values(")")
        if name in ("array", "tuple"):
            return values if name == "array" else tuple(values)
        if name == "map" and len(values) % 2 == 0:
            return _Pairs(tuple(zip(values[::2], values[1::2], strict=True)))
        if name.startswith("emptyArray") and not values:
            return []
        if name in _UNCHANGED and len(values) == 1:
            return values[0]
        if name == "negate" and len(values) == 1:
            return _negative(values[0])
        return self._cast(values[0], _result_type(name, values)) if values else _unknown(name)

    def _type_name(self, ends: str) -> str:
        """Returns the name of a type up to one of these marks."""
        begin, depth = self._at, 0
        while True:
            at = self._at
            if not self._text[at:].strip():
                return self._text[begin:].strip()
            mark = self._next()["mark"]
            if mark and depth == 0 and mark in ends:
                self._at = at
                return self._text[begin:at].strip()
            depth += {"(": 1, ")": -1}.get(mark or "", 0)

    def _cast(self, value: Any, type_name: str) -> _Typed:
        try:
            kind = column_type(type_name)
        except UnsupportedType:
            _unknown(type_name)
        return _Typed(kind, _converted(kind, value, self._timezone))


def _unknown(what: object) -> NoReturn:
    raise NoConstant(f"{what!r:.100}")


def _number(text: str) -> int | _Real:
    return int(text) if text.isdigit() else _Real(text)


def _negative(value: Any) -> int | _Real:
    if type(value) is int:
        return -value
    if isinstance(value, _Real) and not value.text.startswith("-"):
        return _Real(f"-{value.text}")
    _unknown(value)


def _word(name: str) -> Any:
    if name.lower() in _WORDS:
        return _WORDS[name.lower()]
    if name.lower() in ("inf", "nan"):
        return _Real(name.lower())
    _unknown(name)


def _unescaped(text: str) -> str:
    def character(found: re.Match[str]) -> str:
        code = found[1]
        if code is None:
            return "'"
        if len(code) == 3:
            octet = int(code[1:], 16)
            return chr(octet) if octet < 128 else _unknown(text)
        # Servers differ in what they make of a backslash before any other letter.
        return _ESCAPES.get(code) or (code if code in "'\\\"`/=" else _unknown(text))

    return _ESCAPE.sub(character, text)


def _result_type(name: str, values: list[Any]) -> str:
    """Returns the type that a conversion function returns; raises NoConstant for any other."""
    base, more = name.removeprefix("to"), values[1:]
    if base == name:
        _unknown(name)
    plain = ("String", "Date", "Date32", "UUID", "Bool", *WIDE_INTEGERS, *ADDRESSES)
    if base in NUMBERS or base in plain:
        return base if not more else _unknown(name)
    numbers = [each for each in more if type(each) is int]
    zones = [each for each in more if isinstance(each, str)]
    if len(numbers) + len(zones) != len(more) or len(numbers) > 1 or len(zones) > 1:
        _unknown(name)
    if base in DECIMAL_PRECISIONS and numbers and not zones:
        return f"Decimal({DECIMAL_PRECISIONS[base]}, {numbers[0]})"
    if base == "FixedString" and numbers and not zones:
        return f"FixedString({numbers[0]})"
    if base == "DateTime" and not numbers:
        return f"DateTime('{zones[0]}')" if zones else base
    if base == "DateTime64" and numbers:
        return f"DateTime64({numbers[0]}{f', {zones[0]!r}' if zones else ''})"
    _unknown(name)


def _converted(kind: ColumnType, value: Any, timezone: str) -> Any:
    """Returns a value as the Arrow type of a column has it. Raises NoConstant."""
    if isinstance(value, _Typed):
        return _of_typed(kind, value, timezone)
    if value is None:
        return None if kind.is_nullable else _unknown("NULL")
    if kind.fields:
        return _of_tuple(kind, value, timezone)
    if kind.element is not None:
        if kind.base == "Map" and isinstance(value, _Pairs):
            value = list(value.pairs)
        elif kind.base == "Map" or not isinstance(value, list):
            _unknown(value)
        return [_converted(kind.element, each, timezone) for each in value]
    if kind.base in TIMES:
        return _moment(kind, value, timezone)
    convert = _CONVERSIONS.get("Number" if kind.base in NUMBERS else kind.base)
    return convert(kind, value) if convert else _unknown(value)


def _of_tuple(kind: ColumnType, value: Any, timezone: str) -> dict[str, Any]:
    # Parentheses around one value are none of a tuple, and servers agree.
    if not isinstance(value, tuple) or len(value) != len(kind.fields):
        _unknown(value)
    return {
        name: _converted(each, part, timezone)
        for (name, each), part in zip(kind.fields, value, strict=True)
    }


def _of_typed(kind: ColumnType, given: _Typed, timezone: str) -> Any:
    """Returns a value that was cast before, for a column of another type, perhaps."""
    if given.value is None:
        return _converted(kind, None, timezone)
    if kind.has_tuples or given.kind.has_tuples:
        return given.value if kind == given.kind else _unknown(given)
    kinds = (given.kind, kind)
    if kind.element is None and len({(k.base, k.arrow, k.scale, k.values) for k in kinds}) == 1:
        return given.value
    if kind.element is not None and given.kind.element is not None:
        parts = [_Typed(given.kind.element, each) for each in given.value]
        return [_converted(kind.element, each, timezone) for each in parts]
    if given.kind.base in NUMBERS and not given.kind.base.startswith("Float"):
        return _converted(kind, given.value, timezone)
    if given.kind.base == kind.base == "Decimal":
        return _converted(kind, str(given.value), timezone)
    if given.kind.base == "String":
        try:
            return _converted(kind, given.value.decode(), timezone)
        except UnicodeDecodeError:
            _unknown(given)
    for name, number in given.kind.values:
        if number == given.value:
            return _converted(kind, name, timezone)
    return _unknown(given)


def _of_number(kind: ColumnType, value: Any) -> Any:
    if kind.base.startswith("Float"):
        if isinstance(value, _Real):
            return float(value.text)
        is_exact = type(value) is int and abs(value) <= _EXACT_INTEGERS[kind.base]
        return float(value) if is_exact else _unknown(value)
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,20}", value) and kind.base != "Bool":
        value = int(value)
    if not isinstance(value, int):
        _unknown(value)
    if kind.base == "Bool":
        return int(value) if value in (0, 1) else _unknown(value)
    limits = np.iinfo(kind.arrow.to_pandas_dtype())
    return int(value) if limits.min <= value <= limits.max else _unknown(value)


def _of_string(kind: ColumnType, value: Any) -> bytes:
    if type(value) is int:
        value = str(value)
    if not isinstance(value, str):
        _unknown(value)
    octets = value.encode()
    if kind.base == "String":
        return octets
    return octets.ljust(kind.length, b"\0") if len(octets) <= kind.length else _unknown(value)


def _of_enum(kind: ColumnType, value: Any) -> int:
    if isinstance(value, str):
        found = dict(kind.values).get(value)
    else:
        numbers = [number for _, number in kind.values]
        found = value if type(value) is int and value in numbers else None
    return _unknown(value) if found is None else found


def _of_uuid(kind: ColumnType, value: Any) -> bytes:
    if not isinstance(value, str) or not _UUID.fullmatch(value):
        _unknown(value)
    return bytes.fromhex(value.replace("-", ""))


def _of_decimal(kind: ColumnType, value: Any) -> Decimal:
    if isinstance(value, _Real):
        number = float(value.text)
        if number != number or abs(number) > 1e15:
            _unknown(value)
        found = Decimal(value.text)
        # A server multiplies the Float64, and cuts off.
        if int(number * 10.0**kind.scale) != _EXACT.scaleb(found, kind.scale):
            _unknown(value)
    elif type(value) is int or (isinstance(value, str) and _DECIMAL_TEXT.fullmatch(value)):
        found = Decimal(value)
    else:
        _unknown(value)
    ticks = _EXACT.scaleb(found, kind.scale)
    if ticks != int(ticks) or ticks.copy_abs() >= Decimal(10) ** kind.precision:
        _unknown(value)
    return found


def _of_wide_integer(kind: ColumnType, value: Any) -> bytes:
    if isinstance(value, str) and _WIDE_TEXT.fullmatch(value):
        value = int(value)
    elif type(value) is not int or not -(2**63) <= value < 2**64:
        _unknown(value)  # servers read a longer number as a Float64
    is_signed = kind.base.startswith("I")
    try:
        octets: bytes = value.to_bytes(WIDE_INTEGERS[kind.base], "little", signed=is_signed)
    except OverflowError:
        _unknown(value)
    return octets


def _of_ipv4(kind: ColumnType, value: Any) -> int:
    try:
        return int(IPv4Address(value)) if isinstance(value, str) else _unknown(value)
    except ValueError:
        _unknown(value)


def _of_ipv6(kind: ColumnType, value: Any) -> bytes:
    try:
        is_text = isinstance(value, str) and "%" not in value
        return IPv6Address(value).packed if is_text else _unknown(value)
    except ValueError:
        _unknown(value)


_CONVERSIONS: dict[str, Callable[[ColumnType, Any], Any]] = {
    "Number": _of_number,
    "String": _of_string,
    "FixedString": _of_string,
    "Enum8": _of_enum,
    "Enum16": _of_enum,
    "UUID": _of_uuid,
    "Decimal": _of_decimal,
    "IPv4": _of_ipv4,
    "IPv6": _of_ipv6,
    **dict.fromkeys(WIDE_INTEGERS, _of_wide_integer),
}


def _moment(kind: ColumnType, value: Any, timezone: str) -> int:
    """Returns days, seconds or ticks of a text; also of a number where all servers agree."""
    if type(value) is int:
        limits = {"Date": 2**16 - 1, "DateTime": 2**32 - 1}
        return value if 0 <= value <= limits.get(kind.base, -1) else _unknown(value)
    if not isinstance(value, str):
        _unknown(value)
    found = (_DAY if kind.base in _DATES else _TIME).fullmatch(value)
    if not found:
        _unknown(value)
    try:
        if kind.base in _DATES:
            day = date(*map(int, found.groups()))
            least, most = _DATES[kind.base]
            return (day - date(1970, 1, 1)).days if least <= day <= most else _unknown(value)
        local = datetime(*map(int, found.groups()[:6]))  # type: ignore[arg-type]
        zone = ZoneInfo(kind.timezone or timezone)
    except (ValueError, KeyError, OSError):
        _unknown(value)
    fraction = found[7] or ""
    moments = {local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)}
    if len(moments) > 1 or len(fraction) > kind.scale:
        _unknown(value)  # a change of the clock
    moment = moments.pop()
    if not datetime(1970, 1, 1, tzinfo=UTC) <= moment <= _LAST_SECOND:
        _unknown(value)
    seconds: int = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    ticks: int = seconds * 10**kind.scale
    return ticks + int(fraction.ljust(kind.scale, "0") or 0)
