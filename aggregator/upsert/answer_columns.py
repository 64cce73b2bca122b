"""Answer columns: values of a query's columns for JSON, and its rows as Arrow's batches. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from itertools import islice
from typing import Any

import pyarrow as pa

from aggregator.tables.column_type import DECIMAL_PRECISIONS, NUMBERS

_CALL = re.compile(r"(\w+)(?:\((.*)\))?", re.DOTALL)
_WRAPPERS = frozenset(["Nullable", "LowCardinality"])


def answer_schema(columns: Sequence[tuple[str, str]]) -> pa.Schema:
    """Returns the schema of columns given by name and ClickHouse type.

    A type that Arrow has no counterpart for, such as a Tuple or an Int256, becomes a text.
    """
    return pa.schema([(name, arrow_type(kind)) for name, kind in columns])


def arrow_type(kind: str) -> pa.DataType:
    """Returns Arrow's type of a ClickHouse type."""
    found = _CALL.fullmatch(kind.strip())
    base, inside = (found[1], found[2] or "") if found else (kind, "")
    if base in _WRAPPERS:
        return arrow_type(inside)
    if base == "Array":
        return pa.list_(arrow_type(inside))
    if base in NUMBERS:
        return pa.bool_() if base == "Bool" else NUMBERS[base]
    if base in ("Date", "Date32"):
        return pa.date32()
    if base in ("DateTime", "DateTime64"):
        return pa.timestamp("us" if base == "DateTime64" else "s", tz="UTC")
    if base == "Nothing":
        return pa.null()
    if base.startswith("Decimal"):
        numbers = [int(number) for number in re.findall(r"\d+", inside)]
        precision = DECIMAL_PRECISIONS.get(base) or numbers[0]
        return (
            pa.decimal256(precision, numbers[-1])
            if precision > 38
            else pa.decimal128(precision, numbers[-1])
        )
    return pa.string()


def record_batches(
    columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[Any]], size: int
) -> Iterator[pa.RecordBatch]:
    """Yields rows as batches of at most `size`."""
    schema = answer_schema(columns)
    left = iter(rows)
    while some := list(islice(left, size)):
        by_column = zip(*some, strict=True)
        arrays = [
            pa.array([_plain(value, field.type) for value in values], field.type)
            for values, field in zip(by_column, schema, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _plain(value: Any, kind: pa.DataType) -> Any:
    """Returns a value of the driver as Arrow takes it."""
    if value is None:
        return None
    if pa.types.is_string(kind):
        plain = json_value(value)
        return plain if isinstance(plain, str) else json.dumps(plain)
    if pa.types.is_list(kind):
        return [_plain(each, kind.value_type) for each in value]
    return value


def json_value(value: Any) -> Any:
    """Returns a value of the driver as JSON has it.

    Integers are numbers with all their digits. NaN and infinities, which JSON does not have, times,
    decimals and UUIDs are texts. In a String that is no UTF-8, other bytes are written as \\xff.
    """
    if isinstance(value, list | tuple):
        return [json_value(each) for each in value]
    if isinstance(value, dict):
        return {str(key): json_value(each) for key, each in value.items()}
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return str(value)


def with_zone(value: Any, zone: tzinfo) -> Any:
    """Returns a value whose times without a zone, which are of UTC, are told in a zone."""
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC).astimezone(zone)
    if isinstance(value, list | tuple):
        return type(value)(with_zone(each, zone) for each in value)
    if isinstance(value, dict):
        return {with_zone(key, zone): with_zone(each, zone) for key, each in value.items()}
    return value
