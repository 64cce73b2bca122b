"""Nested lengths: the arrays of a Nested, which ClickHouse takes only with as many items in each.

Array columns whose names have the same text before the first dot are one Nested for the server. A
Map counts too: it would share their file of lengths. The server refuses a whole block for one row
in which two of them differ in length (code 190), for as long as that block is sent. So a record
with such a row is dead. One that lacks some of the arrays has as many default items there, whether
or not other records have them. A DEFAULT that only the server can evaluate is left to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aggregator.formats.record_slice import Ints
from aggregator.tables.column_default import filled, is_left_to_server, zero
from aggregator.tables.column_type import ColumnType, column_type, is_loadable
from aggregator.tables.table_schema import Column, TableSchema

_MISSING = -1


def with_equal_lengths(
    schema: TableSchema, columns: Mapping[str, pa.Array], rows: int
) -> tuple[dict[str, pa.Array], dict[int, str]]:
    """Returns columns whose Nested arrays are complete, and why rows cannot be, by index.

    Args:
        columns: in the Arrow types of the table; null where a row holds nothing.
        rows: number of rows in each column.
    """
    found, reasons = dict(columns), dict[int, str]()
    for group in _groups(schema):
        lengths = {each: _lengths(each, schema, columns, rows) for each in group}
        size: Ints = np.max(list(lengths.values()), axis=0)
        for each, own in lengths.items():
            for at in np.flatnonzero((own != _MISSING) & (own != size)).tolist():
                nested = each.name.partition(".")[0]
                why = f"{each.name}: {own[at]} items, and {size[at]} in other arrays of {nested}"
                reasons.setdefault(at, why)
            if ((own == _MISSING) & (size > 0)).any() and not _is_computed(each, schema):
                kind = column_type(each.type)
                values = columns.get(each.name, pa.nulls(rows, kind.arrow))
                found[each.name] = _complete(kind, values, size)
    return found, reasons


def _groups(schema: TableSchema) -> Iterator[Sequence[Column]]:
    """Yields the columns of each Nested that has several."""
    groups: dict[str, list[Column]] = {}
    for column in schema.inserted:
        nested, _, item = column.name.partition(".")
        is_part = nested and item and is_loadable(column.type)
        if is_part and column_type(column.type).element is not None:
            groups.setdefault(nested, []).append(column)
    return (group for group in groups.values() if len(group) > 1)


def _is_computed(column: Column, schema: TableSchema) -> bool:
    return bool(column.default_expression) and is_left_to_server(column, schema.timezone)


def _lengths(
    column: Column, schema: TableSchema, columns: Mapping[str, pa.Array], rows: int
) -> Ints:
    """Returns the items of each row's array, also of one that the column's DEFAULT is."""
    values = columns.get(column.name)
    found = np.full(rows, _MISSING)
    if values is not None:
        found = np.asarray(pc.fill_null(pc.list_value_length(values), _MISSING)).astype(np.int64)
    if column.default_expression and not _is_computed(column, schema):
        nothing = pa.nulls(1, column_type(column.type).arrow)
        [default] = filled(column, nothing, np.zeros(1, np.int64), schema.timezone)
        found = np.where(found == _MISSING, len(default), found)
    return found


def _complete(kind: ColumnType, values: pa.Array, size: Ints) -> pa.Array:
    """Returns arrays, with so many default items in place of each that is null."""
    assert kind.element is not None, "a Nested is made of arrays"
    is_missing = np.asarray(values.is_null())
    own = np.asarray(pc.fill_null(pc.list_value_length(values), 0))
    length = np.where(is_missing, np.maximum(size, 0), own)
    items = values.flatten()
    place = np.full(int(length.sum()), len(items))
    place[~np.repeat(is_missing, length)] = np.arange(len(items))
    default = pa.array([zero(kind.element).as_py()], kind.element.arrow)
    offsets = pa.array(np.concatenate(([0], np.cumsum(length))))
    both = pa.concat_arrays([items, default])
    return pa.LargeListArray.from_arrays(offsets, both.take(pa.array(place)), type=kind.arrow)
