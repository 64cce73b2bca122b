"""Column values: what a reader returns, turned into the values that a table stores."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aggregator.formats.text_values import of_texts
from aggregator.formats.time_texts import Flags
from aggregator.formats.typed_values import of_typed, refused
from aggregator.tables.column_type import NUMBERS, ColumnType


def column_values(kind: ColumnType, values: pa.Array, timezone: str) -> tuple[pa.Array, Flags]:
    """Returns values of the table's column, and True for each row that has a bad one.

    Args:
        values: as a reader returns them: texts, or values of any type that the table in
            typed_values names; lists of these for an Array. Values of another type are bad.
        timezone: of the server.
    """
    if pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
        if kind.element is not None:
            return _lists(kind, kind.element, values, timezone)
        return refused(kind, values)
    if kind.element is not None:
        return refused(kind, values)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        if kind.base in NUMBERS:
            return refused(kind, values)
        return of_texts(kind, values.cast(pa.large_string()), timezone)
    return of_typed(kind, values, timezone)


def reason(name: str, kind: ColumnType, values: pa.Array, at: int) -> str:
    """Returns why a bad value cannot be loaded."""
    given = values.type
    if pa.types.is_temporal(given):
        # Python has no nanoseconds, and no years behind 9999.
        bare = pa.timestamp(given.unit) if pa.types.is_timestamp(given) else given
        value = values[at : at + 1].cast(bare).cast(pa.string())[0].as_py()
    else:
        value = _shown(values[at : at + 1])
    is_not = "does not fit into" if kind.base == "Decimal" else "is no"
    return f"{name}: {value:.100} {is_not} {kind.name}"


def _shown(value: pa.Array) -> str:
    try:
        return repr(value[0].as_py())
    except (ValueError, OverflowError):  # a time within it that Python does not have
        return " ".join(value.to_string(skip_new_lines=True).split())


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
