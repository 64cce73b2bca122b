"""JSON documents: a record holds an object, which is a row, or an array of objects, its rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa

from aggregator.formats.column_values import column_values, reason
from aggregator.formats.decoded_rows import decoded_rows, loaded_types
from aggregator.formats.json_lines import read_json_lines
from aggregator.formats.json_nested import tuple_columns
from aggregator.formats.json_nulls import null_fields
from aggregator.formats.json_numbers import exact_numbers
from aggregator.formats.json_reader import JsonReader
from aggregator.formats.record_slice import RecordSlice
from aggregator.tables.column_default import is_null
from aggregator.tables.column_type import ColumnType
from aggregator.tables.decoded import Decoded
from aggregator.tables.table_schema import TableSchema

_ESCAPED = re.compile(r'["\\\x00-\x1f]')


def decode(slices: Sequence[RecordSlice], schema: TableSchema) -> Decoded:
    """Returns the rows of a table's records.

    A null value holds no row. A field that the table does not have is ignored. A null field is
    NULL, and of a column that is not Nullable it is bad; a missing one has the column's default.
    The first of repeated fields counts. A record with one bad row is dead.
    Columns whose names JSON writes with escapes get their default. A Tuple and a Map are read as
    nested_values tells.
    """
    plain, nested = _types(schema)
    documents, dead = read_json_lines(slices)
    read = _reader(schema).read(documents)
    dead.update(read.refused)
    lines, record = read.documents.lines, read.documents.record
    nulls, refused = null_fields(lines, read.columns, _told_apart(schema))
    for at, why in refused.items():
        dead.setdefault(int(record[at]), why)
    given, refused = exact_numbers(lines, read.columns, plain)
    for at, why in refused.items():
        dead.setdefault(int(record[at]), why)
    columns: dict[str, pa.Array] = {}
    if nested:
        columns, refused = tuple_columns(lines, nested, schema.timezone)
        for at, why in refused.items():
            dead.setdefault(int(record[at]), why)
    for name, kind in plain.items():
        if name in nulls and name not in read.columns:
            columns[name] = pa.nulls(len(lines), kind.arrow)
        if name not in given:
            continue
        columns[name], bad = column_values(kind, given[name], schema.timezone)
        for at in np.flatnonzero(bad).tolist():
            why = reason(name, kind, given[name], at)
            dead.setdefault(int(record[at]), why)
    return decoded_rows(slices, schema, columns, record, read.documents.row, dead, nulls)


@lru_cache(maxsize=256)
def _reader(schema: TableSchema) -> JsonReader:
    return JsonReader(_types(schema)[0])


@lru_cache(maxsize=256)
def _told_apart(schema: TableSchema) -> tuple[str, ...]:
    """Returns the columns for which null is something else than a missing field."""
    names, _ = _types(schema)
    return tuple(
        column.name for column in schema.inserted if column.name in names and not is_null(column)
    )


@lru_cache(maxsize=256)
def _types(schema: TableSchema) -> tuple[dict[str, ColumnType], dict[str, ColumnType]]:
    """Returns the types of columns without Tuples, and of those with them, by name."""
    # msgspec has no fields with such names.
    types = {name: kind for name, kind in loaded_types(schema).items() if not _ESCAPED.search(name)}
    nested = {name: kind for name, kind in types.items() if kind.has_tuples}
    return {name: types[name] for name in types if name not in nested}, nested
