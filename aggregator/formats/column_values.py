"""Column values: what a reader returns, turned into the values that a table stores."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aggregator.formats.text_values import of_texts
from aggregator.formats.time_texts import Flags
from aggregator.tables.column_type import NUMBERS, ColumnType


def column_values(kind: ColumnType, values: pa.Array, timezone: str) -> tuple[pa.Array, Flags]:
    """Returns values of the table's column, and True for each row that has a bad one.

    Args:
        values: numbers or booleans for a number, texts for other types, lists of them for an Array.
        timezone: of the server.
    """
    if kind.element is not None:
        return _lists(kind, kind.element, values, timezone)
    if kind.base in NUMBERS:
        return _numbers(kind, values)
    return of_texts(kind, values, timezone)


def reason(name: str, kind: ColumnType, values: pa.Array, at: int) -> str:
    """Returns why a bad value cannot be loaded."""
    return f"{name}: {values[at].as_py()!r:.100} is no {kind.name}"


def _numbers(kind: ColumnType, values: pa.Array) -> tuple[pa.Array, Flags]:
    good = np.zeros(len(values), np.bool_)
    if values.type == kind.arrow or pa.types.is_boolean(values.type):
        return values.cast(kind.arrow), good
    if not pa.types.is_integer(kind.arrow):
        return values.cast(kind.arrow, safe=False), good
    limits = np.iinfo(kind.arrow.to_pandas_dtype())
    found = pc.min_max(values)
    least, most = found["min"].as_py(), found["max"].as_py()
    if least is None or (least >= limits.min and most <= limits.max):
        return values.cast(kind.arrow, safe=False), good
    number = np.asarray(pc.fill_null(values, 0))
    bad = (number < limits.min) | (number > limits.max)
    return pc.if_else(pa.array(bad), pa.scalar(0, values.type), values).cast(kind.arrow), bad


def _lists(
    kind: ColumnType, element: ColumnType, values: pa.Array, timezone: str
) -> tuple[pa.Array, Flags]:
    flat = values.flatten()
    elements, bad_element = column_values(element, flat, timezone)
    if flat.null_count and not element.is_nullable:
        bad_element = bad_element | np.asarray(flat.is_null())
    length = np.asarray(pc.fill_null(pc.list_value_length(values), 0))
    offsets = np.concatenate(([0], np.cumsum(length)))
    mask = values.is_null() if values.null_count else None
    lists = pa.LargeListArray.from_arrays(pa.array(offsets), elements, type=kind.arrow, mask=mask)
    bad = np.zeros(len(values), np.bool_)
    if bad_element.any():
        bad[np.repeat(np.arange(len(values)), length)[bad_element]] = True
    return lists, bad
