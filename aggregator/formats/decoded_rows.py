"""Decoded rows: the columns of records put together, without those of dead records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from aggregator.formats.record_slice import Ints, RecordSlice
from aggregator.tables.column_default import is_left_to_server
from aggregator.tables.column_type import ColumnType, UnsupportedType, column_type
from aggregator.tables.decoded import DeadRecord, Decoded
from aggregator.tables.table_schema import COORDINATES, TableSchema

REASON_CHARACTERS_MAX = 300


def loaded_types(schema: TableSchema) -> dict[str, ColumnType]:
    """Returns the types of the columns that records may fill, by name.

    Columns of a type that cannot be loaded are left to their default.
    """
    types = {}
    for column in schema.inserted:
        if column.name not in COORDINATES:
            try:
                types[column.name] = column_type(column.type)
            except UnsupportedType:
                continue
    return types


def decoded_rows(
    slices: Sequence[RecordSlice],
    schema: TableSchema,
    columns: Mapping[str, pa.Array],
    record: Ints,
    row: Ints,
    dead: Mapping[int, str],
) -> Decoded:
    """Returns the rows of records that are not dead.

    Args:
        columns: rows of all records, in the Arrow types of the table; null where a record holds
            nothing.
        record: index of the record of each row, over all slices.
        row: number of each row in its record.
        dead: why records cannot be loaded, by index.
    """
    reasons = dict(dead)
    columns = dict(columns)
    if reasons:
        columns, record, row = _without(columns, record, row, reasons)
    for column in schema.inserted:
        values = columns.get(column.name)
        if values is None or not 0 < values.null_count < len(values):
            continue
        if is_left_to_server(column):
            missing = np.unique(record[np.asarray(values.is_null())])
            reason = f"{column.name} is missing, and only the server knows its default"
            reasons.update(dict.fromkeys(missing.tolist(), reason))
            columns, record, row = _without(columns, record, row, reasons)
    offset = np.concatenate([each.offset for each in slices] or [record])
    timestamp = np.concatenate([each.timestamp_ms for each in slices] or [record])
    return Decoded(
        columns=MappingProxyType(
            {name: values for name, values in columns.items() if values.null_count < len(values)}
        ),
        offset=offset[record],
        row=row,
        timestamp_ms=timestamp[record],
        dead=tuple(
            DeadRecord(int(offset[at]), reasons[at][:REASON_CHARACTERS_MAX])
            for at in sorted(reasons)
        ),
    )


def _without(
    columns: dict[str, pa.Array], record: Ints, row: Ints, dead: Mapping[int, str]
) -> tuple[dict[str, pa.Array], Ints, Ints]:
    kept = np.flatnonzero(~np.isin(record, list(dead)))
    if len(kept) == len(record):
        return columns, record, row
    which = pa.array(kept)
    return {name: each.take(which) for name, each in columns.items()}, record[kept], row[kept]
