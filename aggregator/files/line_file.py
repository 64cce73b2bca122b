"""Line files: a line for each record, such as JSON lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aggregator.files.compression import STREAMS, Compressor
from aggregator.files.decoding import Decode
from aggregator.files.even_chunks import EvenChunks
from aggregator.formats.record_slice import RecordSlice
from aggregator.tables.value_limits import limits_of
from replicator.batches.records import Octets

CHUNK_BYTES = 1 << 20
"""Bytes of records that are compressed at once."""
_NEWLINE, _RETURN, _SPACE = b"\n\r "


class LineFile:
    """Writer of one file.

    Args:
        lines: returns the lines of records.
        chunk_bytes: of records that are compressed at once.
    """

    def __init__(
        self,
        lines: Callable[[RecordSlice], bytes],
        compressor: Compressor,
        chunk_bytes: int = CHUNK_BYTES,
    ) -> None:
        self._lines, self._compressor = lines, compressor
        self._chunks = EvenChunks(chunk_bytes)

    schema = ""
    decode: Decode | None = None

    @property
    def size_bytes(self) -> int:
        return self._chunks.size_bytes

    def forming_bytes(self, slices: Sequence[RecordSlice] = ()) -> int:
        return self._chunks.forming_bytes(slices)

    def write(self, slices: Sequence[RecordSlice]) -> bytes:
        return b"".join(map(self._compressed, self._chunks.add(slices)))

    def finish(self) -> bytes:
        rest = self._chunks.rest()
        return (self._compressed(rest) if rest else b"") + self._compressor.finish()

    def scratch(self) -> LineFile:
        return LineFile(self._lines, STREAMS["none"]())

    def _compressed(self, chunk: Sequence[RecordSlice]) -> bytes:
        lines = b"".join(map(self._lines, chunk))
        return self._compressor.compress(lines) if lines else b""


def separated(records: RecordSlice, separator: bytes) -> bytes:
    """Returns the values of records, each with a separator behind it. Null ones are left out."""
    return _octets(_joined(records.value_column.drop_null(), separator)).tobytes()


def write_json_lines(records: RecordSlice) -> bytes:
    """Returns JSON documents, each on a line; a null value is the document `null`.

    Line breaks inside documents become spaces: readers take them for the end of a line.
    """
    lines = _joined(records.value_column.fill_null(b"null"), b"\n")
    octets = _octets(lines)
    text = octets.tobytes()
    if text.count(b"\n") == len(lines) and b"\r" not in text:
        return text
    is_break = (octets == _NEWLINE) | (octets == _RETURN)
    octets = np.where(is_break, np.uint8(_SPACE), octets)
    octets[limits_of(lines)[1:] - 1] = _NEWLINE
    return octets.tobytes()


def _joined(values: pa.BinaryArray, separator: bytes) -> pa.BinaryArray:
    # The separator stands between a value and nothing.
    return pc.binary_join_element_wise(values, b"", separator)


def _octets(column: pa.BinaryArray) -> Octets:
    limits, data = limits_of(column), column.buffers()[2]
    return np.frombuffer(data or b"", np.uint8)[limits[0] : limits[-1]]
