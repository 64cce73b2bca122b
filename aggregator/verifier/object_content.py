"""Object content: compares the bytes of two files by what a reader finds in them. Pure."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, assert_never

import cramjam
import fastavro
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from aggregator.store.recognition import Identities
from replicator.config.object_feed import ObjectFile

OFFSET = "offset"
"""Column of a file with the record's offset."""
_DECOMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": lambda data: bytes(cramjam.gzip.decompress(data)),
    "zst": lambda data: bytes(cramjam.zstd.decompress(data)),
    "lz4": lambda data: bytes(cramjam.lz4.decompress(data)),
}


class UnreadableFile(ValueError):
    """The bytes are no file of the format that its name tells."""


def is_same(one: bytes, other: bytes, extension: str) -> bool:
    """Returns True if both files have the same content, such as by two versions of a library.

    Raises UnreadableFile.
    """
    if one == other:
        return True
    file = file_of(extension)
    match file:
        case "parquet":
            return _is_same_table(_table(one), _table(other))
        case "avro":
            return _datums(one) == _datums(other)
        case "json_lines" | "bytes":
            return _plain(one, extension) == _plain(other, extension)
    assert_never(file)


def rows_of(data: bytes, extension: str) -> Identities | None:
    """Returns the offsets of a file's records; None for a file without offsets.

    Raises UnreadableFile.
    """
    file = file_of(extension)
    match file:
        case "parquet":
            offsets = _parquet_offsets(data)
        case "avro":
            offsets = _avro_offsets(data)
        case "json_lines" | "bytes":
            return None
        case _:
            assert_never(file)
    return None if offsets is None else Identities(offsets, np.zeros_like(offsets))


def file_of(extension: str) -> ObjectFile:
    """Returns the kind of file that has an extension.

    Raises UnreadableFile for one that no kind of file has.
    """
    match extension.split("."):
        case [*_, "parquet"]:
            return "parquet"
        case ["avro"]:
            return "avro"
        case ["json"] | ["json", _]:
            return "json_lines"
        case ["bin"] | ["bin", _]:
            return "bytes"
        case _:
            raise UnreadableFile(f"no kind of file has the extension .{extension}")


def _table(data: bytes) -> pa.Table:
    try:
        return pq.read_table(pa.BufferReader(data))
    except (pa.ArrowException, OSError) as error:
        raise UnreadableFile(f"no Parquet file: {error}") from error


def _is_same_table(one: pa.Table, other: pa.Table) -> bool:
    # Columns with NaN equal none; as files of one writer they do.
    return bool(one.equals(other)) or _as_file(one) == _as_file(other)


def _as_file(table: pa.Table) -> bytes:
    out = io.BytesIO()
    pq.write_table(table.combine_chunks(), out, compression="none", store_schema=False)
    return out.getvalue()


def _datums(data: bytes) -> tuple[Any, int, bytes]:
    """Returns schema, number and bytes of the datums of a container."""
    with _reading_avro():
        blocks: Any = fastavro.block_reader(io.BytesIO(data))
        found = [(each.num_records, each.bytes_.getvalue()) for each in blocks]
        # As the library reads it: names with their namespaces.
        schema = blocks.writer_schema
    return schema, sum(count for count, _ in found), b"".join(each for _, each in found)


def _parquet_offsets(data: bytes) -> npt.NDArray[np.int64] | None:
    table = _table(data)
    # An object from before the column was asked for may have a field of the name.
    is_there = OFFSET in table.column_names and pa.types.is_int64(table.schema.field(OFFSET).type)
    if not is_there or table.column(OFFSET).null_count:
        return None
    found: npt.NDArray[np.int64] = table.column(OFFSET).to_numpy().astype(np.int64)
    return found


def _avro_offsets(data: bytes) -> npt.NDArray[np.int64] | None:
    with _reading_avro():
        rows: Any = fastavro.reader(io.BytesIO(data))
        schema = rows.writer_schema
        fields = schema.get("fields", ()) if isinstance(schema, dict) else ()
        if (OFFSET, "long") not in [(each["name"], each["type"]) for each in fields]:
            return None
        return np.array([row[OFFSET] for row in rows], np.int64)


@contextmanager
def _reading_avro() -> Iterator[None]:
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:  # the library raises whatever its code happens to raise
        raise UnreadableFile(f"no Avro file: {error!r:.200}") from error


def _plain(data: bytes, extension: str) -> bytes:
    suffix = extension.partition(".")[2]
    if not suffix:
        return data
    decompress = _DECOMPRESS.get(suffix)
    if decompress is None:
        raise UnreadableFile(f"no codec has the suffix .{suffix}")
    try:
        return decompress(data)
    except (cramjam.DecompressionError, OSError) as error:
        raise UnreadableFile(f"no file of .{extension}: {error}") from error
