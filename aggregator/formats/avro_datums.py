"""Avro datums: a record holds a record of Avro, which is a row, or an array of them, its rows.

A table with a schema of its own (<table>.avsc) has plain datums. The records of all other tables
begin with the header of Confluent's serializers: a zero, and the id of a schema (<id>.avsc) in four
bytes. Which of both is never guessed, as a plain datum may begin with a zero too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from aggregator.formats.avro_columns import AvroColumns
from aggregator.formats.avro_cursors import Cursors
from aggregator.formats.avro_schema import AvroType, UnsupportedSchema, avro_type
from aggregator.formats.decoded_rows import decoded_rows, loaded_types
from aggregator.formats.record_slice import RecordSlice
from aggregator.formats.record_values import record_values
from aggregator.formats.row_parts import RowPart, joined
from aggregator.formats.varint_words import PADDING, words_at
from aggregator.tables.decoded import Decoded
from aggregator.tables.native_block import ROWS_MAX
from aggregator.tables.table_schema import TableSchema
from aggregator.tables.value_limits import limits_of
from replicator.config.schema_folder import SchemaFolder

DATUMS_AT_ONCE = 32_768
"""Datums that are read in step: fewer cost more calls, more do not fit into a processor's cache."""
_HEADER_BYTES = 5
_MAGIC = 0
_MEND = "into the folder of schemas, and start `sluice aggregate` again"


class AvroDatums:
    """Decoder of records by the schemas of a folder.

    A null value holds no row. Each datum is read by the schema that it was written with, and its
    fields go to the columns of their names. A field without a column is ignored. A null is NULL,
    and of a column that is not Nullable it is bad. A record with one bad row is dead.
    """

    def __init__(self, folder: SchemaFolder) -> None:
        self._files = folder.files
        self._types: dict[str, AvroType] = {}

    def __call__(self, slices: Sequence[RecordSlice], schema: TableSchema) -> Decoded:
        """Returns the rows of a table's records."""
        values, record = record_values(slices)
        limits = limits_of(values)
        data = np.frombuffer(values.buffers()[2] or b"", np.uint8)
        octets = np.concatenate((data, np.frombuffer(PADDING, np.uint8)))
        cursors = Cursors.over(octets, limits[:-1], limits[1:], record)
        parts = list(self._parts(cursors, schema))
        rows = joined(parts)
        return decoded_rows(
            slices, schema, rows.columns, rows.record, rows.row, rows.dead, rows.nulls
        )

    def _parts(self, cursors: Cursors, schema: TableSchema) -> Iterator[RowPart]:
        """Yields the rows of the datums of each schema."""
        own = f"{schema.table}.avsc"
        # A file named by a number is of the schema with that id.
        if own in self._files and not schema.table.isdigit():
            yield from self._chunks(own, cursors, schema)
            return
        words = words_at(cursors.octets, cursors.at)
        has_header = (cursors.end - cursors.at >= _HEADER_BYTES) & (words & 0xFF == _MAGIC)
        ids = (words >> np.uint64(8)).astype(np.uint32).byteswap()
        cursors.at = cursors.at + _HEADER_BYTES
        if not has_header.all():
            why = f"no Confluent header; for plain datums put {own} {_MEND}"
            yield RowPart(dead=dict.fromkeys(cursors.record[~has_header].tolist(), why))
        for schema_id in np.unique(ids[has_header]).tolist():
            which = np.flatnonzero(has_header & (ids == schema_id))
            chosen = cursors if len(which) == len(cursors) else cursors.some(which)
            yield from self._chunks(f"{schema_id}.avsc", chosen, schema)

    def _chunks(self, name: str, cursors: Cursors, schema: TableSchema) -> Iterator[RowPart]:
        for begin in range(0, len(cursors), DATUMS_AT_ONCE):
            yield self._part(name, cursors.some(slice(begin, begin + DATUMS_AT_ONCE)), schema)

    def _part(self, name: str, cursors: Cursors, schema: TableSchema) -> RowPart:
        try:
            kind = self._type(name)
        except UnsupportedSchema as error:
            return RowPart(dead=dict.fromkeys(cursors.record.tolist(), f"{name}: {error}"))
        wanted = loaded_types(schema)
        columns = AvroColumns(schema.timezone)
        if kind.base == "array":
            values, owner, row = columns.rows(kind, cursors, wanted)
            record = cursors.record[owner]
            for at in np.flatnonzero(np.bincount(owner) > ROWS_MAX).tolist():
                columns.reasons[int(cursors.record[at])] = f"more than {ROWS_MAX} rows"
        else:
            values = columns.read(kind, cursors, wanted)
            record, row = cursors.record, np.zeros(len(cursors), np.int64)
        dead = columns.reasons
        behind = cursors.end - cursors.at
        for at in np.flatnonzero(cursors.is_broken | (behind > 0)).tolist():
            why = f"{behind[at]} bytes behind the datum" if behind[at] else "ends too early"
            dead.setdefault(int(cursors.record[at]), f"{why}, by the schema {name}")
        return RowPart(values, record, row, dead, values.nulls)

    def _type(self, name: str) -> AvroType:
        """Returns the type of a schema; raises UnsupportedSchema."""
        if name not in self._types:
            if name not in self._files:
                raise UnsupportedSchema(f"the schema is unknown; put it {_MEND}")
            kind = avro_type(self._files[name])
            rows = kind.parts[0] if kind.base == "array" else kind
            if rows.base != "record":
                raise UnsupportedSchema("neither a record nor an array of records")
            self._types[name] = kind
        return self._types[name]
