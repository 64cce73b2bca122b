"""Parquet files: a row group for each chunk of records."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from aggregator.files.decoding import Decode
from aggregator.files.even_chunks import EvenChunks
from aggregator.formats.record_slice import RecordSlice

ROW_GROUP_BYTES = 8 << 20
"""Bytes of records in a row group, so that an open file needs little memory."""
CODECS = ("none", "gzip", "snappy", "zstd", "lz4")


class ParquetFile:
    """Writer of one file.

    Args:
        schema: of the columns.
        table: makes the columns of records.
        codec: one of CODECS.
        row_group_bytes: of records in a row group.
        dictionaries: columns whose values repeat; None: all. Values of others would be looked up
            in vain.
    """

    def __init__(
        self,
        schema: pa.Schema,
        table: Callable[[Sequence[RecordSlice]], pa.Table],
        codec: str,
        row_group_bytes: int = ROW_GROUP_BYTES,
        dictionaries: Sequence[str] | None = None,
    ) -> None:
        self._schema, self._table, self._dictionaries = schema, table, dictionaries
        self._chunks = EvenChunks(row_group_bytes)
        self._drained = _Drained()
        self._writer = pq.ParquetWriter(
            self._drained,
            schema,
            compression=codec,
            use_dictionary=True if dictionaries is None else list(dictionaries),
            store_schema=False,
        )

    schema = ""
    decode: Decode | None = None

    @property
    def size_bytes(self) -> int:
        return self._chunks.size_bytes

    def forming_bytes(self, slices: Sequence[RecordSlice] = ()) -> int:
        return self._chunks.forming_bytes(slices)

    def write(self, slices: Sequence[RecordSlice]) -> bytes:
        for chunk in self._chunks.add(slices):
            self.write_chunk(chunk)
        return self._drained.take()

    def finish(self) -> bytes:
        if rest := self._chunks.rest():
            self.write_chunk(rest)
        self._writer.close()
        return self._drained.take()

    def scratch(self) -> ParquetFile:
        return ParquetFile(self._schema, self._table, "none", dictionaries=self._dictionaries)

    def write_chunk(self, chunk: list[RecordSlice]) -> None:
        """Writes records as one row group, and removes them from the list: they are not in memory
        beside all its forms."""
        table = self._table(chunk)
        chunk.clear()
        self._writer.write_table(table, row_group_size=max(1, len(table)))


class _Drained(io.RawIOBase):
    """File that is taken away piece by piece."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._position = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._pieces.append(bytes(data))
        self._position += len(self._pieces[-1])
        return len(self._pieces[-1])

    def tell(self) -> int:
        return self._position

    def take(self) -> bytes:
        taken, self._pieces = b"".join(self._pieces), []
        return taken
