"""Column defaults: the value of a column that a record does not hold.

`now()` and `today()` are the record's timestamp, so that a block that is rebuilt is the same block.
Constants are known here. Other expressions are evaluated by the server, which does so only for a
column that a whole insert leaves out.
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aggregator.tables.column_type import TIMES, ColumnType, UnsupportedType, column_type
from aggregator.tables.constant import NoConstant, constant
from aggregator.tables.decoded import Ints, Mask
from aggregator.tables.table_schema import Column

_CONVERSIONS = (
    re.compile(r"CAST\((?P<inside>.*)\s+AS\s+.+\)", re.IGNORECASE | re.DOTALL),
    re.compile(r"(?:_?CAST)\((?P<inside>.*),\s*'(?:[^'\\]|\\.)*'\)", re.IGNORECASE | re.DOTALL),
    re.compile(r"to(?:U?Int|Float|Date|String)\w*\((?P<inside>.*)\)", re.DOTALL),
    re.compile(r"\((?P<inside>.*)\)", re.DOTALL),
)
_RECORD_TIME = re.compile(
    r"(?:(?:now|now64|today|current_timestamp|current_date|curdate)\(\d*\)"
    r"|current_timestamp|current_date)",
    re.IGNORECASE,
)
_DAY_ONLY = re.compile(r"\b(?:today|current_date|curdate|(?:to)?Date(?:32)?)\b", re.IGNORECASE)
_MS_PER_DAY = 86_400_000
_LAST_DATE32 = 120_529
"""The day 2299-12-31, behind which ClickHouse has none."""
_LAST_MS = (_LAST_DATE32 + 1) * _MS_PER_DAY - 1


def is_left_to_server(column: Column, timezone: str = "UTC") -> bool:
    """Returns True if only the server can evaluate the column's default.

    Args:
        timezone: of the server.
    """
    try:
        default = _constant(column.type, column.default_expression, timezone)
    except UnsupportedType:
        return True
    return default is None and not is_record_time(column)


def is_record_time(column: Column) -> bool:
    """Returns True if the column's default is the time of the record."""
    base = column_type(column.type).base
    if base not in TIMES or not _RECORD_TIME.fullmatch(_unwrapped(column.default_expression)):
        return False
    # The begin of a day is another time.
    return base in ("Date", "Date32") or not _DAY_ONLY.search(column.default_expression)


def is_null(column: Column) -> bool:
    """Returns True if the column's default is NULL, so that a null and a missing value are one."""
    default = _constant(column.type, column.default_expression, "UTC")
    return default is not None and not default.is_valid


def filled(
    column: Column,
    values: pa.Array,
    timestamp_ms: Ints,
    timezone: str,
    is_missing: Mask | None = None,
) -> pa.Array:
    """Returns the values with the column's default in place of missing ones.

    Args:
        timestamp_ms: of the record of each row.
        timezone: of the server.
        is_missing: True for each row without a value; None: wherever there is a null.
    """
    if is_missing is None:
        is_missing = np.asarray(values.is_null())
    if not is_missing.any():
        return values
    kind = column_type(column.type)
    if is_record_time(column):
        return pc.if_else(pa.array(is_missing), _record_time(kind, timestamp_ms, timezone), values)
    default = _constant(column.type, column.default_expression, timezone)
    if default is None:
        default = zero(kind)
    if not default.is_valid:
        return values
    with_default = pa.concat_arrays([values, pa.array([default.as_py()], kind.arrow)])
    place = np.where(is_missing, len(values), np.arange(len(values)))
    return with_default.take(pa.array(place))


def zero(kind: ColumnType) -> pa.Scalar:
    """Returns the value that a type has by default."""
    if kind.is_nullable:
        return pa.scalar(None, kind.arrow)
    return bare_zero(kind)


def bare_zero(kind: ColumnType) -> pa.Scalar:
    """Returns the default of the type without Nullable."""
    if kind.element is not None:
        return pa.scalar([], kind.arrow)
    if kind.fields:
        return pa.scalar({name: zero(each).as_py() for name, each in kind.fields}, kind.arrow)
    if kind.values:
        return pa.scalar(min(number for _, number in kind.values), kind.arrow)
    if pa.types.is_fixed_size_binary(kind.arrow):
        return pa.scalar(bytes(kind.arrow.byte_width), kind.arrow)
    if pa.types.is_large_binary(kind.arrow):
        return pa.scalar(b"", kind.arrow)
    return pa.scalar(Decimal(0) if kind.base == "Decimal" else 0, kind.arrow)


def _unwrapped(expression: str) -> str:
    """Returns the expression without conversions around it."""
    expression = expression.strip()
    for conversion in _CONVERSIONS:
        found = conversion.fullmatch(expression)
        if found:
            return _unwrapped(found["inside"])
    return expression


def _record_time(kind: ColumnType, timestamp_ms: Ints, timezone: str) -> pa.Array:
    """Returns the times of records; the last that the column holds for those behind it."""
    # A record without a timestamp has -1. Other clients may write any number of 64 bits.
    moment = np.clip(timestamp_ms, 0, _LAST_MS)
    if kind.base == "DateTime":
        return pa.array(np.minimum(moment // 1000, 2**32 - 1).astype(np.uint32))
    if kind.base == "DateTime64":
        power = kind.scale - 3
        ticks = np.minimum(moment, (2**63 - 1) // 10**power) * 10**power if power >= 0 else None
        return pa.array(moment // 10**-power if ticks is None else ticks)
    local = pc.local_timestamp(pa.array(moment, pa.timestamp("ms", tz=str(ZoneInfo(timezone)))))
    days = np.asarray(local.cast(pa.int64())) // _MS_PER_DAY
    if kind.base == "Date":
        return pa.array(np.clip(days, 0, 2**16 - 1).astype(np.uint16))
    return pa.array(np.minimum(days, _LAST_DATE32).astype(np.int32))


def _has_empty_day(kind: ColumnType) -> bool:
    """Returns True if the type's default has an empty Date32: 1900, 1925 or 1970, by server."""
    is_one = kind.base == "Date32" or any(_has_empty_day(each) for _, each in kind.fields)
    return is_one and not kind.is_nullable and kind.element is None


@lru_cache(maxsize=4096)
def _constant(type_name: str, expression: str, timezone: str) -> pa.Scalar | None:
    """Returns the value of a constant expression; None for any other."""
    kind = column_type(type_name)
    if not expression:
        return None if _has_empty_day(kind) else zero(kind)
    try:
        return pa.array([constant(kind, expression, timezone)], kind.arrow)[0]
    except (NoConstant, ValueError, OverflowError):
        return None
