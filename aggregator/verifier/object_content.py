"""Object content: compares the bytes of two files by what a reader finds in them. Pure."""

from __future__ import annotations

from collections.abc import Callable

import cramjam
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aggregator.store.recognition import Identities

OFFSET = "offset"
"""Column of Parquet files with the record's offset."""
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
    if _is_parquet(extension):
        return bool(_table(one).equals(_table(other)))
    return _plain(one, extension) == _plain(other, extension)


def rows_of(data: bytes, extension: str) -> Identities | None:
    """Returns the offsets of a file's records; None for a file without offsets.

    Raises UnreadableFile.
    """
    if not _is_parquet(extension):
        return None
    table = _table(data)
    if OFFSET not in table.column_names:
        return None
    offsets = table.column(OFFSET).to_numpy().astype(np.int64)
    return Identities(offsets, np.zeros_like(offsets))


def _is_parquet(extension: str) -> bool:
    return extension.rpartition(".")[2] == "parquet"


def _table(data: bytes) -> pa.Table:
    try:
        return pq.read_table(pa.BufferReader(data))
    except (pa.ArrowException, OSError) as error:
        raise UnreadableFile(f"no Parquet file: {error}") from error


def _plain(data: bytes, extension: str) -> bytes:
    decompress = _DECOMPRESS.get(extension.rpartition(".")[2])
    if decompress is None:
        return data
    try:
        return decompress(data)
    except (cramjam.DecompressionError, OSError) as error:
        raise UnreadableFile(f"no file of .{extension}: {error}") from error
