"""Answer columns: Arrow's types of a query's columns, and its rows as Arrow's batches. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC
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
        if isinstance(value, bytes):  # A String that is no UTF-8.
            return value.decode(errors="backslashreplace")
        return value if isinstance(value, str) else str(value)
    if pa.types.is_list(kind):
        return [_plain(each, kind.value_type) for each in value]
    if pa.types.is_timestamp(kind) and value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    return value
