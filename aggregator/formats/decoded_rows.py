"""Decoded rows: the columns of records put together, without those of dead records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from aggregator.formats.nested_lengths import with_equal_lengths
from aggregator.formats.record_slice import Ints, RecordSlice
from aggregator.tables.column_default import is_null
from aggregator.tables.column_type import ColumnType, UnsupportedType, column_type
from aggregator.tables.decoded import DeadRecord, Decoded, Mask
from aggregator.tables.table_schema import OWN_COLUMNS, TableSchema

REASON_CHARACTERS_MAX = 300
NO_NULLS: Mapping[str, Mask] = MappingProxyType({})


def loaded_types(schema: TableSchema) -> dict[str, ColumnType]:
    """Returns the types of the columns that records may fill, by name.

    Columns of a type that cannot be loaded are left to their default.
    """
    types = {}
    for column in schema.inserted:
        if column.name not in OWN_COLUMNS:
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
    nulls: Mapping[str, Mask] = NO_NULLS,
) -> Decoded:
    """Returns the rows of records that are not dead.

    What becomes of a record depends on no other one.

    Args:
        columns: rows of all records, in the Arrow types of the table; null where a record holds
            null or nothing.
        record: index of the record of each row, over all slices.
        row: number of each row in its record.
        dead: why records cannot be loaded, by index.
        nulls: by column, True for each row that holds null; elsewhere a null is no value.
    """
    reasons = dict(dead)
    columns, unequal = with_equal_lengths(schema, columns, len(record))
    for at, why in unequal.items():
        reasons.setdefault(int(record[at]), why)
    for name, kind in loaded_types(schema).items():
        if name in nulls and not kind.is_nullable:
            for at in np.unique(record[nulls[name]]).tolist():
                reasons.setdefault(at, f"{name}: null is no {kind.name}")
    if reasons and not (is_kept := ~np.isin(record, list(reasons))).all():
        columns = {name: values.filter(pa.array(is_kept)) for name, values in columns.items()}
        nulls = {name: rows[is_kept] for name, rows in nulls.items()}
        record, row = record[is_kept], row[is_kept]
    by_name = {column.name: column for column in schema.inserted}
    nulls = {
        name: rows for name, rows in nulls.items() if rows.any() and not is_null(by_name[name])
    }
    offset = np.concatenate([each.offset for each in slices] or [record])
    timestamp = np.concatenate([each.timestamp_ms for each in slices] or [record])
    return Decoded(
        columns=MappingProxyType(
            {
                name: values
                for name, values in columns.items()
                if values.null_count < len(values) or name in nulls
            }
        ),
        nulls=MappingProxyType(nulls),
        offset=offset[record],
        row=row,
        timestamp_ms=timestamp[record],
        dead=tuple(
            DeadRecord(int(offset[at]), reasons[at][:REASON_CHARACTERS_MAX])
            for at in sorted(reasons)
        ),
    )
