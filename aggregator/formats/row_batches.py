"""Row batches: a record holds rows of one table, with the columns that they were written for.

`sluice aggregate proto` prints the messages of a table. A batch names its columns with their types:
a column that the table has no more is ignored, one that is new has its default, and one of another
type is converted. Or it has the hash of the table's columns, and holds only as long as they do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aggregator.formats.column_values import column_values, reason
from aggregator.formats.decoded_rows import decoded_rows, loaded_types
from aggregator.formats.proto_messages import pool_of
from aggregator.formats.proto_reader import ProtoReader
from aggregator.formats.record_slice import Ints, RecordSlice
from aggregator.formats.record_values import record_values
from aggregator.formats.row_batch_heads import UnknownHash, WrongHead, columns_of, read_heads
from aggregator.formats.row_batch_type import PACKAGE, WrittenColumn, row_batch_file, row_fields
from aggregator.formats.row_parts import RowPart, joined
from aggregator.formats.written_values import written_values
from aggregator.tables.decoded import Decoded
from aggregator.tables.native_block import ROWS_MAX
from aggregator.tables.table_schema import TableSchema


def decode(slices: Sequence[RecordSlice], schema: TableSchema) -> Decoded:
    """Returns the rows of a table's records.

    A null value holds no row. A record with one bad row is dead.
    """
    messages, record = record_values(slices)
    heads = read_heads(messages)
    dead = {int(record[at]): why for at, why in heads.refused.items()}
    parts: list[RowPart] = []
    unknown_hashes: set[str] = set()
    for number, head in enumerate(heads.distinct):
        which = heads.which[heads.number == number]
        try:
            columns = columns_of(head, schema)
        except WrongHead as error:
            dead.update(dict.fromkeys(record[which].tolist(), str(error)))
            if isinstance(error, UnknownHash):
                unknown_hashes.add(head.schema_hash)
            continue
        chosen = messages if len(which) == len(messages) else messages.take(pa.array(which))
        parts.append(_rows(chosen, record[which], columns, schema))
    rows = joined(parts)
    found = decoded_rows(slices, schema, rows.columns, rows.record, rows.row, {**dead, **rows.dead})
    return replace(found, unknown_hashes=frozenset(unknown_hashes))


def _rows(
    messages: pa.BinaryArray,
    record: Ints,
    written: tuple[WrittenColumn, ...],
    schema: TableSchema,
) -> RowPart:
    read = _reader(written).read(messages)
    dead = {int(record[at]): why for at, why in read.refused.items()}
    record = record[read.which]
    batches = read.columns.column("rows")
    count = np.asarray(pc.list_value_length(batches)).astype(np.int64)
    for at in np.flatnonzero(count > ROWS_MAX).tolist():
        dead[int(record[at])] = f"{count[at]} rows in one record, more than {ROWS_MAX}"
    rows = batches.flatten()
    row = np.arange(len(rows)) - np.repeat(np.cumsum(count) - count, count)
    record = np.repeat(record, count)
    types = loaded_types(schema)
    columns = {}
    for place, field in enumerate(row_fields(written)):
        name = written[field.column].name
        if (kind := types.get(name)) is None:
            continue
        given = written_values(field.kind, rows.field(place), kind)
        columns[name], bad = column_values(kind, given, schema.timezone)
        for at in np.flatnonzero(bad).tolist():
            dead.setdefault(int(record[at]), reason(name, kind, given, at))
    return RowPart(columns, record, row, dead)


@lru_cache(maxsize=256)
def _reader(columns: tuple[WrittenColumn, ...]) -> ProtoReader:
    file = row_batch_file(columns)
    # The head was read before.
    del file.message_type[0].field[:-1]
    pool = pool_of([file])
    return ProtoReader(pool.FindMessageTypeByName(f"{PACKAGE}.RowBatch"))
