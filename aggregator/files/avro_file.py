"""Avro files: containers whose blocks hold the datums of records as they are.

Source of the format: Object Container Files, in the specification of Apache Avro.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Callable, Sequence
from copy import copy
from functools import partial

import cramjam
import numpy as np
import pyarrow as pa

from aggregator.files.avro_fields import avro_fields, encoded_fields
from aggregator.files.decoded_slice import DecodedSlice
from aggregator.files.even_chunks import EvenChunks
from aggregator.files.schema_values import Datums, SchemaValues, in_order
from aggregator.formats.avro_default import number
from aggregator.formats.avro_items import skip
from aggregator.formats.avro_projection import SAME
from aggregator.formats.avro_rewriting import rewritten
from aggregator.formats.binary_pieces import joined
from aggregator.formats.record_schema import Schemas
from aggregator.formats.record_slice import RecordSlice
from aggregator.tables.value_limits import limits_of

BLOCK_BYTES = 256 << 10
"""Bytes of records in a block: a reader has a whole one in memory."""
_MAGIC = b"Obj\x01"
_DATUM = "datum"


def _deflated(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return stream.compress(data) + stream.flush()


def _snappy(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data)) + struct.pack(">I", zlib.crc32(data))


CODECS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "none": ("null", lambda data: data),
    "deflate": ("deflate", _deflated),
    "snappy": ("snappy", _snappy),
    "zstd": ("zstandard", lambda data: bytes(cramjam.zstd.compress(data))),
}
"""Names that Avro has for codecs, and how each compresses a block."""


class AvroFile:
    """Writer of one file, in the schema of its first value.

    Args:
        columns: fields of the record behind those of its value.
        codec: one of CODECS.
        key: of the object; the same key has the same marks between blocks.
        is_checking: looks at datums, so that one which its schema does not describe spoils no
            block.
        block_bytes: of records in a block.
    """

    def __init__(
        self,
        schemas: Schemas,
        topic: str,
        partition: int,
        *,
        columns: Sequence[str],
        codec: str,
        key: str,
        is_checking: bool = True,
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        self._values = SchemaValues(schemas, topic)
        self._topic, self._partition, self._columns = topic, partition, columns
        self._codec, self._compress = CODECS[codec]
        self._sync = hashlib.sha256(key.encode()).digest()[:16]
        self._is_checking = is_checking
        self._chunks = EvenChunks(block_bytes)
        self._has_begun = False

    @property
    def size_bytes(self) -> int:
        return self._chunks.size_bytes

    def forming_bytes(self, slices: Sequence[RecordSlice] = ()) -> int:
        return self._chunks.forming_bytes(slices)

    @property
    def schema(self) -> str:
        """Id of the schema; empty while it is not known."""
        return self._values.schema.id if self._values.schema else ""

    def decode(self, records: RecordSlice) -> tuple[DecodedSlice, dict[int, str]]:
        """Returns records with their datums, and why others have none, by index."""
        parts = list(self._values.datums(records))
        schema, reasons = self._values.schema, self._values.reasons
        if self._columns and schema is not None and not schema.is_record:
            why = f"the schema {schema.name} is no record, which could have further fields"
            reasons.update(dict.fromkeys(np.flatnonzero(records.value_begin >= 0).tolist(), why))
            parts = []
        datums = [self._datums(each) for each in parts]
        column = in_order(len(records), [each.record for each in parts], datums, pa.binary())
        if self._columns:
            fields = encoded_fields(records, self._columns, self._topic, self._partition)
            column = joined([column, *fields])
        return DecodedSlice.of(records, pa.table({_DATUM: column})), reasons

    def write(self, slices: Sequence[RecordSlice]) -> bytes:
        return b"".join(map(self._block, self._chunks.add(slices)))

    def finish(self) -> bytes:
        rest = self._chunks.rest()
        return self._block(rest) if rest else b""

    def scratch(self) -> AvroFile:
        found = copy(self)
        found._chunks, found._has_begun = EvenChunks(BLOCK_BYTES), False
        return found

    def _datums(self, datums: Datums) -> pa.Array:
        """Returns datums in the schema of the file."""
        if datums.how != SAME:
            return pa.concat_arrays(self._values.each(datums, partial(rewritten, datums.how)))
        if self._is_checking and not datums.written.flaw:
            self._values.each(datums, skip)
        return datums.values

    def _block(self, chunk: Sequence[RecordSlice]) -> bytes:
        columns = [part.values[_DATUM] for part in chunk if isinstance(part, DecodedSlice)]
        pieces = [piece for column in columns for piece in column.chunks]
        body = self._compress(b"".join(map(_octets, pieces)))
        count = sum(map(len, pieces))
        return self._head() + number(count) + number(len(body)) + body + self._sync

    def _head(self) -> bytes:
        """Returns, once, the head of the file."""
        if self._has_begun:
            return b""
        self._has_begun = True
        assert self._values.schema is not None, "a file that has datums has their schema"
        text = self._values.schema.with_fields(avro_fields(self._columns))
        pairs = (("avro.codec", self._codec), ("avro.schema", text))
        entries = b"".join(_text(each) for pair in pairs for each in pair)
        return _MAGIC + number(len(pairs)) + entries + b"\0" + self._sync


def _octets(column: pa.BinaryArray) -> memoryview:
    limits, data = limits_of(column), column.buffers()[2]
    return memoryview(data or b"")[int(limits[0]) : int(limits[-1])]


def _text(text: str) -> bytes:
    octets = text.encode()
    return number(len(octets)) + octets
