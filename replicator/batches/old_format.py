"""Conversion of message formats v0 and v1, from before Kafka 0.11, to record batches.

Sources that were upgraded may still hold such messages; current brokers refuse them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords

from replicator.batches.batch import CODEC_BITS, BrokenBatch

# Timestamp that a consumer sees on a v0 message, which has none.
NO_TIMESTAMP = -1
_ATTRIBUTES_AT = 17
_PREFIX_BYTES = 17


def upconverted(fetched: bytes) -> tuple[bytes, BrokenBatch | None]:
    """Returns the fetch with every old message rewritten as a v2 batch at its source offsets.

    Batches of format v2 stay as they are. A batch that is cut off at the end is left out. If an old
    message is broken, the result ends before it and the error is the second value.
    """
    entries: list[bytes] = []
    for start, end, magic in _entries(fetched):
        try:
            entries.append(fetched[start:end] if magic >= 2 else _rewritten(fetched[start:end]))
        except BrokenBatch as broken:
            return b"".join(entries), broken
    return b"".join(entries), None


def _entries(fetched: bytes) -> Iterable[tuple[int, int, int]]:
    """Yields (start, end, magic) of each whole entry; all formats begin with offset and length."""
    at = 0
    while len(fetched) - at >= _PREFIX_BYTES:
        length, magic = struct.unpack_from(">8xi4xb", fetched, at)
        behind = at + 12 + length
        if length < 0 or behind > len(fetched):
            return
        yield at, behind, magic
        at = behind


def _rewritten(message: bytes) -> bytes:
    """Returns one old message as a batch. The message may be a compressed wrapper around many."""
    old = MemoryRecords(message).next_batch()
    offset = int.from_bytes(message[:8], "big")
    if old is None or not old.validate_crc():
        raise BrokenBatch(offset, offset, "a message of an old format with a wrong CRC")
    records = list(old)
    base = records[0].offset
    builder = DefaultRecordBatchBuilder(
        2, message[_ATTRIBUTES_AT] & CODEC_BITS, 0, -1, -1, -1, 1 << 30
    )
    for record in records:
        timestamp = NO_TIMESTAMP if record.timestamp is None else record.timestamp
        builder.append(
            record.offset - base,
            timestamp=timestamp,
            key=record.key,
            value=record.value,
            headers=[],
        )
    modern = builder.build()
    # The CRC does not cover the base offset.
    struct.pack_into(">q", modern, 0, base)
    return bytes(modern)
