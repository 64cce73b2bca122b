"""Plain files: the rows of stored objects by readers of other makers than the writers are.

Parquet is read by pyarrow's own reader, containers by fastavro, lines and values as they stand. One
piece of a file is in memory at a time.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from aggregator.verifier.plain_schema import PlainSchema

BATCH_ROWS = 1000
_NANOS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def parquet_rows(data: bytes) -> Iterator[dict[str, Any]]:
    """Yields rows by column: times are nanoseconds, days numbers, maps pairs."""
    file = pq.ParquetFile(pa.BufferReader(data))
    for batch in file.iter_batches(BATCH_ROWS, use_threads=False):
        columns = [plain_values(column) for column in batch.columns]
        for at in range(len(batch)):
            yield {
                name: column[at] for name, column in zip(batch.schema.names, columns, strict=True)
            }


def plain_values(column: pa.Array) -> list[Any]:
    """Returns the values of a column in plain Python."""
    kind = column.type
    if pa.types.is_struct(kind):
        parts = [plain_values(each) for each in column.flatten()]
        names = [each.name for each in kind]
        rows = zip(*parts, strict=True) if parts else [()] * len(column)
        return [
            dict(zip(names, row, strict=True)) if is_there else None
            for row, is_there in zip(rows, column.is_valid().to_pylist(), strict=True)
        ]
    if pa.types.is_list(kind) or pa.types.is_map(kind):
        offsets = column.offsets.to_pylist()
        first, end = offsets[0], offsets[-1]
        if pa.types.is_map(kind):
            keys, items = (each.slice(first, end - first) for each in (column.keys, column.items))
            values: list[Any] = [*zip(plain_values(keys), plain_values(items), strict=True)]
        else:
            values = plain_values(column.values.slice(first, end - first))
        is_there = column.is_valid().to_pylist()
        return [
            values[offsets[at] - first : offsets[at + 1] - first] if is_there[at] else None
            for at in range(len(column))
        ]
    if pa.types.is_timestamp(kind):
        unit = _NANOS[kind.unit]
        ticks = column.cast(pa.int64()).to_pylist()
        return [None if each is None else each * unit for each in ticks]
    if pa.types.is_date(kind):
        return list(column.cast(pa.int32()).to_pylist())
    return list(column.to_pylist())


def container_rows(data: bytes) -> tuple[Any, Iterator[Any]]:
    """Returns the schema of a container file as JSON has it, and its raw datums."""
    blocks: Any = fastavro.block_reader(io.BytesIO(data))
    text = blocks.metadata["avro.schema"]
    schema = PlainSchema(text)
    datums = (each for block in blocks for each in schema.datums(block.bytes_, block.num_records))
    return json.loads(text), datums


def plain_stream(data: bytes, extension: str) -> io.BufferedIOBase:
    """Returns the bytes of a file as they were before they were compressed."""
    stream: Any = io.BytesIO(data)
    codec = extension.rpartition(".")[2]
    if codec == "gz":
        return gzip.GzipFile(fileobj=stream)
    if codec in ("zst", "lz4"):
        stream = pa.CompressedInputStream(stream, {"zst": "zstd"}.get(codec, codec))
    return io.BufferedReader(stream)
