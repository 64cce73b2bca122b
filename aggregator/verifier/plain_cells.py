"""Plain cells: what a table has to hold of a value, one at a time, and how a row differs from it.

The rules are those of docs/aggregate.md, written without the loaders' code. A value about which
this page is not sure is not compared.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal, InvalidOperation
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np

from aggregator.tables.column_default import is_left_to_server
from aggregator.tables.column_type import (
    ADDRESSES,
    NUMBERS,
    WIDE_INTEGERS,
    ColumnType,
    UnsupportedType,
    column_type,
)
from aggregator.tables.constant import constant
from aggregator.tables.table_schema import COORDINATES, Column, TableSchema
from aggregator.verifier.plain_records import UNSURE, Elements, Moment, Row, Symbol, Whole

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EXACT = Context(prec=200)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?"
    r"(Z|[+-][0-9]{2}:?[0-9]{2})?"
)
_PLAIN = (bool, int, float, Decimal, str, bytes)
_TICKS_FROM = 1_000_000_000


class Refused(ValueError):
    """A value that the column cannot hold: its record has to be a dead letter."""


def compared_columns(schema: TableSchema) -> list[tuple[str, ColumnType]]:
    """Returns the columns whose values are compared."""
    found = []
    for column in schema.stored:
        if column.name not in COORDINATES:
            try:
                found.append((column.name, column_type(column.type)))
            except UnsupportedType:
                continue
    return found


def selected(name: str, kind: ColumnType, depth: int = 0) -> str:
    """Returns the expression by which a column is read without a loss: times are numbers.

    Args:
        name: quoted.
    """
    if kind.fields:
        elements = [
            selected(f"tupleElement({name}, {at + 1})", each, depth)
            for at, (_, each) in enumerate(kind.fields)
        ]
        return f"tuple({', '.join(elements)})"
    if kind.base == "Map" and kind.element is not None:
        (_, key), (_, value) = kind.element.fields
        pair = f"{selected(f'k{depth}', key, depth + 1)}, {selected(f'x{depth}', value, depth + 1)}"
        return (
            f"arrayMap((k{depth}, x{depth}) -> tuple({pair}), mapKeys({name}), mapValues({name}))"
        )
    if kind.element is not None:
        inner = selected(f"x{depth}", kind.element, depth + 1)
        return name if inner == f"x{depth}" else f"arrayMap(x{depth} -> {inner}, {name})"
    if kind.base in ("Date", "Date32", "DateTime"):
        return f"toInt64({name})"
    if kind.base == "DateTime64":
        return f"toDecimal128({name}, 9)"
    # Not each driver reads these.
    return f"toString({name})" if kind.is_wide or kind.base in ADDRESSES else name


@dataclass(frozen=True, slots=True)
class Compared:
    """Column of one row.

    Args:
        difference: from the record; empty if there is none.
        has_default: the table has what a row gets from before the column was added.
    """

    column: str
    difference: str
    has_default: bool


def compared(schema: TableSchema, row: Row, stored: Mapping[str, Any]) -> Iterator[Compared]:
    """Yields the columns of a row that are sure.

    Args:
        row: as the second reader has it.
        stored: by column, as `selected` reads it.
    """
    by_name = {column.name: column for column in schema.inserted}
    for name, kind in compared_columns(schema):
        if name not in stored:
            continue
        held, text = stored[name], ""
        try:
            wanted = _wanted(by_name[name], kind, row, schema.timezone)
        except Refused as error:
            yield Compared(name, f"{name}: {error}, and the table has {held!r:.60}", False)
            continue
        if wanted is UNSURE:
            continue
        if not _is_same(kind, wanted, held):
            text = f"{name}: the record has {wanted!r:.60}, and the table {held!r:.60}"
        has_default = wanted is not None and _may_be_default(by_name[name], kind, held, schema)
        yield Compared(name, text, has_default)


def _may_be_default(column: Column, kind: ColumnType, held: Any, schema: TableSchema) -> bool:
    if not column.default_expression:
        nothing = None if kind.is_nullable else _zero(kind)
        return not held if nothing is UNSURE else _is_same(kind, nothing, held)
    try:
        default = constant(kind, column.default_expression, schema.timezone)
    except ValueError:
        return True
    is_plain = kind.base in NUMBERS or kind.base in ("String", "Decimal")
    return bool(held == default) if is_plain else True


def _wanted(column: Column, kind: ColumnType, row: Row, timezone: str) -> Any:
    if column.name in row:
        return cell(kind, row[column.name], timezone)
    has_default = bool(column.default_expression) or is_left_to_server(column, timezone)
    is_within = any(column.name.startswith(f"{name}.") for name in row)
    # An array of a Nested has as many default items as the others of its row.
    is_nested = kind.element is not None and "." in column.name
    if has_default or is_within or is_nested:
        return UNSURE
    return None if kind.is_nullable else _zero(kind)


def _zero(kind: ColumnType) -> Any:
    if kind.fields:
        zeros = [None if each.is_nullable else _zero(each) for _, each in kind.fields]
        return UNSURE if any(each is UNSURE for each in zeros) else zeros
    if kind.element is not None:
        return []
    if kind.base in ("String", "FixedString"):
        return bytes(kind.length)
    if kind.base in ADDRESSES:
        return IPv4Address(0) if kind.base == "IPv4" else IPv6Address(0)
    is_number = kind.base in NUMBERS or kind.base in WIDE_INTEGERS or kind.base == "Decimal"
    return 0 if is_number else UNSURE


def cell(kind: ColumnType, given: Any, timezone: str) -> Any:
    """Returns what a column holds of a value: times as nanoseconds, days as numbers.

    Raises Refused.
    """
    if isinstance(given, Whole):
        if not kind.has_tuples:
            return UNSURE
        given = given.value
    if given is UNSURE:
        return UNSURE
    if given is None:
        if kind.is_nullable:
            return None
        raise Refused(f"null is no {kind.name}")
    if kind.fields:
        return _tuple(kind, given, timezone)
    if kind.base == "Map" and isinstance(given, dict):
        given = list(given.items())
    if kind.element is not None:
        if not isinstance(given, list):
            raise Refused(f"{given!r:.60} is no {kind.name}")
        cells = [cell(kind.element, each, timezone) for each in given]
        return UNSURE if any(each is UNSURE for each in cells) else cells
    if isinstance(given, list | dict):
        raise Refused(f"{given!r:.60} is no {kind.name}")
    if kind.base in ("Date", "Date32"):
        return _day(given)
    if kind.base in ("DateTime", "DateTime64"):
        return _time(kind, given, timezone)
    if kind.base in NUMBERS:
        return _number(kind, given)
    if kind.base == "Decimal":
        return _decimal(kind, given)
    if kind.base in WIDE_INTEGERS:
        return _wide_integer(kind, given)
    if kind.base in ADDRESSES:
        return _address(kind, given)
    return _text(kind, given)


def _tuple(kind: ColumnType, given: Any, timezone: str) -> Any:
    """Returns a cell for each element; what a named one lacks is the default of its type."""
    if isinstance(given, Elements) or (isinstance(given, dict) and kind.is_named):
        cells = [
            cell(each, given[name], timezone)
            if name in given
            else (None if each.is_nullable else _zero(each))
            for name, each in kind.fields
        ]
    elif isinstance(given, list | tuple) and len(given) == len(kind.fields):
        pairs = zip(kind.fields, given, strict=True)
        cells = [cell(each, value, timezone) for (_, each), value in pairs]
    else:
        raise Refused(f"{given!r:.60} is no {kind.name}")
    return UNSURE if any(each is UNSURE for each in cells) else cells


def _number(kind: ColumnType, given: Any) -> Any:
    if kind.is_key and isinstance(given, str):
        given = _key(kind, given)
    if isinstance(given, Symbol):
        given = given.number
    if not isinstance(given, _PLAIN):
        return UNSURE
    if kind.base.startswith("Float"):
        is_number = isinstance(given, int | float | Decimal) and not isinstance(given, bool)
        return float(given) if is_number else UNSURE
    if isinstance(given, bool):
        if kind.base in ("UInt8", "Bool"):
            return int(given)
        raise Refused(f"{given} is no {kind.name}")
    if not isinstance(given, int) or kind.base == "Bool":
        raise Refused(f"{given!r:.60} is no {kind.name}")
    return _in_range(kind, given)


def _key(kind: ColumnType, text: str) -> Any:
    """Returns what the text of a Map's key stands for."""
    if kind.base == "Bool":
        return {"true": True, "false": False}.get(text, text)
    return int(text) if re.fullmatch(r"-?(0|[1-9][0-9]*)", text) else text


def _in_range(kind: ColumnType, given: int) -> int:
    bits = kind.arrow.bit_width
    least, most = (
        (0, 2**bits) if kind.base.startswith("U") else (-(2 ** (bits - 1)), 2 ** (bits - 1))
    )
    if not least <= given < most:
        raise Refused(f"{given!s:.60} is no {kind.name}")
    return given


def _wide_integer(kind: ColumnType, given: Any) -> Any:
    if isinstance(given, float) or not isinstance(given, _PLAIN):
        return UNSURE
    try:
        number = None if isinstance(given, bool | bytes) else Decimal(given)
    except InvalidOperation:
        number = None
    if number is None or not number.is_finite() or number != int(number):
        raise Refused(f"{given!r:.60} is no {kind.name}")
    return _in_range(kind, int(number))


def _address(kind: ColumnType, given: Any) -> Any:
    try:
        found = ip_address(given) if isinstance(given, str) else None
    except ValueError:
        found = None
    if found is None or (kind.base == "IPv4" and found.version == 6):
        raise Refused(f"{given!r:.60} is no {kind.name}")
    is_within = kind.base == "IPv6" and found.version == 4
    return IPv6Address(f"::ffff:{found}") if is_within else found


def _decimal(kind: ColumnType, given: Any) -> Any:
    if isinstance(given, float) or not isinstance(given, _PLAIN):
        return UNSURE
    try:
        number = Decimal(given) if isinstance(given, int | str | Decimal) else None
    except InvalidOperation:
        number = None
    if number is None or isinstance(given, bool) or not number.is_finite():
        raise Refused(f"{given!r:.60} is no {kind.name}")
    ticks = _EXACT.scaleb(number, kind.scale)
    if (
        ticks != _EXACT.to_integral_value(ticks)
        or ticks.copy_abs() >= Decimal(10) ** kind.precision
    ):
        raise Refused(f"{given!s:.60} does not fit into {kind.name}")
    return number


def _text(kind: ColumnType, given: Any) -> Any:
    if isinstance(given, Symbol):
        return given.name.encode() if kind.base in ("String", "FixedString") else given.name
    if kind.base in ("String", "FixedString"):
        if not isinstance(given, str | bytes):
            return UNSURE
        octets = given.encode() if isinstance(given, str) else given
        if kind.base == "FixedString":
            octets = octets.ljust(kind.length, b"\0")
        return octets
    if kind.base == "UUID":
        if isinstance(given, UUID):
            return given
        if isinstance(given, bytes) and len(given) == 16:
            return UUID(bytes=given)
        return UUID(given) if isinstance(given, str) and len(given) == 36 else UNSURE
    # The number of an enum may be given instead of its name.
    return given if isinstance(given, str) else UNSURE


def _day(given: Any) -> Any:
    if isinstance(given, datetime):
        return UNSURE
    if isinstance(given, str) and _DAY.fullmatch(given) and not given.startswith("0000"):
        try:
            given = date.fromisoformat(given)
        except ValueError:
            raise Refused(f"{given} is no day") from None
    return (given - date(1970, 1, 1)).days if isinstance(given, date) else UNSURE


def _time(kind: ColumnType, given: Any, timezone: str) -> Any:
    """Returns nanoseconds, cut off to what the column holds."""
    nanos = _nanos(kind, given, timezone)
    if nanos is UNSURE:
        return UNSURE
    unit = 10 ** (9 - kind.scale)
    return nanos // unit * unit


def _nanos(kind: ColumnType, given: Any, timezone: str) -> Any:
    if isinstance(given, Moment):
        return given.nanos
    if isinstance(given, datetime):
        if given.tzinfo is None:
            return _of_local(given, kind.timezone or timezone)
        return (given - _EPOCH) // timedelta(microseconds=1) * 1000
    if isinstance(given, int | Decimal) and not isinstance(given, bool):
        number = Decimal(given)
        is_ticks = kind.scale and abs(number) >= _TICKS_FROM * kind.scale
        scaled = _EXACT.scaleb(number, 9 - kind.scale if is_ticks else 9)
        return math.floor(scaled)
    if not isinstance(given, str) or not (found := _TIME.fullmatch(given)):
        return UNSURE
    try:
        local = datetime.fromisoformat(f"{found[1]} {found[2]}{found[4] or ''}")
    except ValueError:
        return UNSURE
    seconds = (
        _of_local(local, kind.timezone or timezone)
        if local.tzinfo is None
        else (local - _EPOCH) // timedelta(seconds=1) * 10**9
    )
    return seconds if seconds is UNSURE else seconds + int((found[3] or "0").ljust(9, "0"))


def _of_local(local: datetime, timezone: str) -> Any:
    """Returns nanoseconds of a local time; unsure about a change of the clock."""
    zone = ZoneInfo(timezone)
    moments = {local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)}
    if len(moments) > 1:
        return UNSURE
    return (moments.pop() - _EPOCH) // timedelta(microseconds=1) * 1000


def _is_same(kind: ColumnType, wanted: Any, stored: Any) -> bool:
    if wanted is None or stored is None:
        return wanted is stored
    if kind.fields:
        cells = zip(kind.fields, wanted, stored, strict=True)
        return all(_is_same(each, *pair) for (_, each), *pair in cells)
    if kind.element is not None:
        return _are_same(kind, kind.element, wanted, stored)
    if kind.base == "Float32":
        with np.errstate(over="ignore"):
            return bool(np.array_equal(np.float32(wanted), np.float32(stored), equal_nan=True))
    if kind.base == "Float64":
        return bool(wanted == stored or (wanted != wanted and stored != stored))
    if kind.base == "DateTime":
        return bool(wanted == int(stored) * 10**9)
    if kind.base == "DateTime64":
        return bool(wanted == int(_EXACT.scaleb(stored, 9)))
    if kind.is_wide:
        return bool(wanted == Decimal(stored.decode()))
    if kind.base in ADDRESSES:
        return bool(wanted == ip_address(stored.decode()))
    if kind.base in ("String", "FixedString"):
        return bool(wanted == (stored.encode() if isinstance(stored, str) else stored))
    return bool(wanted == stored)


def _are_same(kind: ColumnType, element: ColumnType, wanted: Any, stored: Any) -> bool:
    """Returns True for the same elements; those of a Map may be in another order."""
    if len(wanted) != len(stored):
        return False
    if all(_is_same(element, *pair) for pair in zip(wanted, stored, strict=True)):
        return True
    is_map = kind.base == "Map"
    return is_map and all(any(_is_same(element, each, one) for one in stored) for each in wanted)
