"""Typed Parquet files: the fields of values, by their schema, beside the columns of records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa

from aggregator.files.decoded_slice import DecodedSlice
from aggregator.files.even_chunks import EvenChunks
from aggregator.files.parquet_file import ROW_GROUP_BYTES, ParquetFile
from aggregator.files.record_columns import record_table, schema_of
from aggregator.files.required_values import with_required
from aggregator.formats.record_slice import RecordSlice


class Decoder(Protocol):
    """Decoder of the values of one file."""

    @property
    def schema(self) -> str:
        """Id of the schema; empty while it is not known."""

    @property
    def fields(self) -> pa.Schema:
        """Columns of the values; none while the schema is not known."""

    def __call__(self, records: RecordSlice) -> tuple[pa.Table, dict[int, str]]:
        """Returns a row for each record, and why others have none, by index."""


class TypedParquet:
    """Writer of one file, in the schema of its first value.

    Args:
        columns: of the record, behind those of its value.
        codec, row_group_bytes: of the Parquet file.
    """

    def __init__(
        self,
        decoder: Decoder,
        topic: str,
        partition: int,
        *,
        columns: Sequence[str],
        codec: str,
        row_group_bytes: int = ROW_GROUP_BYTES,
    ) -> None:
        self._decoder, self._topic, self._partition = decoder, topic, partition
        self._columns, self._codec, self._row_group_bytes = columns, codec, row_group_bytes
        self._file: ParquetFile | None = None
        self._fields = pa.schema([])
        self._waiting: list[RecordSlice] = []

    @property
    def size_bytes(self) -> int:
        waiting = sum(part.size_bytes for part in self._waiting)
        return waiting + (self._file.size_bytes if self._file else 0)

    def forming_bytes(self, slices: Sequence[RecordSlice] = ()) -> int:
        chunks = self._file or EvenChunks(self._row_group_bytes)
        return chunks.forming_bytes([*self._waiting, *slices])

    @property
    def schema(self) -> str:
        """Id of the schema; empty while it is not known."""
        return self._decoder.schema

    def decode(self, records: RecordSlice) -> tuple[DecodedSlice, dict[int, str]]:
        """Returns records with the columns of their values, and why others have none, by index."""
        values, reasons = self._decoder(records)
        return DecodedSlice.of(records, values), reasons

    def write(self, slices: Sequence[RecordSlice]) -> bytes:
        self._waiting += [part for part in slices if len(part)]
        # Tombstones in front of the first value do not tell the columns.
        return self._written() if self.schema else b""

    def finish(self) -> bytes:
        written = self._written()
        return written + (self._file.finish() if self._file else b"")

    def scratch(self) -> TypedParquet:
        return TypedParquet(
            self._decoder, self._topic, self._partition, columns=self._columns, codec="none"
        )

    def _written(self) -> bytes:
        slices, self._waiting = self._waiting, []
        if not slices:
            return b""
        if self._file is None:
            self._fields = self._decoder.fields
            schema = pa.schema([*self._fields, *schema_of(self._columns)])
            self._file = ParquetFile(schema, self._table, self._codec, self._row_group_bytes)
        return self._file.write(slices)

    def _table(self, chunk: Sequence[RecordSlice]) -> pa.Table:
        values = pa.concat_tables(map(self._values, chunk)).combine_chunks()
        records = record_table(chunk, self._topic, self._partition, self._columns)
        schema = pa.schema([*values.schema, *records.schema])
        columns = [with_required(_whole(column)) for column in values.columns]
        return pa.Table.from_arrays([*columns, *records.columns], schema=schema)

    def _values(self, part: RecordSlice) -> pa.Table:
        assert isinstance(part, DecodedSlice), "records are decoded before they are written"
        if part.values.num_columns == len(self._fields):
            return part.values
        nulls = [pa.nulls(len(part), each.type) for each in self._fields]
        return pa.Table.from_arrays(nulls, schema=self._fields)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    """Returns a column of a table whose chunks are combined."""
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
