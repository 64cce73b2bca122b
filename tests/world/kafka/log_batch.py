"""Batches as they stand in a log, or are on their way into one."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from crc32c import crc32c

from replicator.batches.batch import CRC_FROM
from replicator.kafka.protocol.error_codes import Code
from tests.replicator.batches.source_batches import control, decoded, encoded, with_crc

_HEADER = struct.Struct(">qiibIhiqqqhii")
HEADER_BYTES = _HEADER.size
LENGTH_END = 12
"""End of the length field, which counts the bytes behind it."""
LEADER_EPOCH_AT, ATTRIBUTES_AT, PRODUCER_ID_AT, PRODUCER_EPOCH_AT, BASE_SEQUENCE_AT = (
    12,
    21,
    43,
    51,
    53,
)
MAX_TIMESTAMP_AT = 35
CODECS, LOG_APPEND_TIME, TRANSACTIONAL, CONTROL = 0x07, 0x08, 0x10, 0x20
MAX_SEQUENCE = 0x7FFFFFFF


class Refused(Exception):
    """A broker refuses a request for one partition.

    Args:
        records: indexes of the records for which it refuses a batch, if it names them.
    """

    def __init__(self, code: int, records: Sequence[int] = ()) -> None:
        super().__init__(code)
        self.code, self.records = int(code), tuple(records)


@dataclass(frozen=True, slots=True)
class Batch:
    """Batch in a log, or on its way into one.

    Args:
        data: bytes as a client fetches them; offset and leader epoch are those in the log.
        base_sequence: -1 without a producer, and in markers.
        is_commit: of a marker; None in a batch of records.
        coordinator_epoch: of a marker.
        value: content of an internal topic's batch, instead of bytes.
    """

    base_offset: int
    count: int
    leader_epoch: int
    data: bytes = b""
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    is_transactional: bool = False
    is_commit: bool | None = None
    coordinator_epoch: int = -1
    max_timestamp: int = -1
    value: Any = None
    end: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Read far more often than batches are made.
        object.__setattr__(self, "end", self.base_offset + self.count)

    @property
    def last_sequence(self) -> int:
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + self.count - 1) & MAX_SEQUENCE

    @property
    def is_marker(self) -> bool:
        return self.is_commit is not None

    def at(self, base_offset: int, leader_epoch: int) -> Batch:
        """Returns the batch as it stands in the log at an offset."""
        data = self.data
        if data:
            size = len(data) - LENGTH_END
            data = struct.pack(">qii", base_offset, size, leader_epoch) + data[16:]
        return replace(self, base_offset=base_offset, leader_epoch=leader_epoch, data=data)


def batch_of(data: bytes) -> Batch:
    """Returns a batch as a producer sends it; raises Refused for one that is cut or malformed."""
    if len(data) < HEADER_BYTES:
        raise Refused(Code.INVALID_RECORD)
    _, size, _, magic, checksum, attributes, last_delta, _, latest, pid, epoch, sequence, _ = (
        _HEADER.unpack_from(data)
    )
    if magic != 2 or size + LENGTH_END != len(data):
        raise Refused(Code.INVALID_RECORD)
    if crc32c(data[CRC_FROM:]) != checksum:
        raise Refused(Code.CORRUPT_MESSAGE)
    return Batch(
        base_offset=0,
        count=last_delta + 1,
        leader_epoch=-1,
        data=bytes(data),
        producer_id=pid,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=bool(attributes & TRANSACTIONAL),
        max_timestamp=latest,
    )


def marker_of(
    producer_id: int, epoch: int, *, is_commit: bool, coordinator_epoch: int, at_ms: int = -1
) -> Batch:
    """Returns the marker that ends a producer's transaction in a partition.

    Args:
        at_ms: time of the coordinator, which keeps the producer known.
    """
    data = bytearray(control(0, producer_id, 1 if is_commit else 0))
    struct.pack_into(">h", data, PRODUCER_EPOCH_AT, epoch)
    return Batch(
        base_offset=0,
        count=1,
        leader_epoch=-1,
        data=bytes(with_crc(data)),
        producer_id=producer_id,
        producer_epoch=epoch,
        is_transactional=True,
        is_commit=is_commit,
        coordinator_epoch=coordinator_epoch,
        max_timestamp=at_ms,
    )


def stamped(batch: Batch, at_ms: int) -> Batch:
    """Returns a batch as a topic with LogAppendTime keeps it: all records have this time."""
    data = bytearray(batch.data)
    (attributes,) = struct.unpack_from(">h", data, ATTRIBUTES_AT)
    struct.pack_into(">h", data, ATTRIBUTES_AT, attributes | LOG_APPEND_TIME)
    struct.pack_into(">q", data, MAX_TIMESTAMP_AT, at_ms)
    return replace(batch, data=bytes(with_crc(data)), max_timestamp=at_ms)


def thinned(batch: Batch, keeps: Callable[[int], bool], *, stays: bool) -> Batch | None:
    """Returns a batch without some records; None if nothing is left of it.

    Args:
        stays: without any record the batch is kept empty (Cleaner.checkBatchRetention).
    """
    records = decoded(batch.data)
    kept = [it for it in records if keeps(it.offset)]
    if len(kept) == len(records):
        return batch
    if not kept:
        return _emptied(batch) if stays else None
    data = bytearray(
        encoded(kept, base_offset=batch.base_offset, next_offset=batch.end, max_timestamp=None)
    )
    fields = _HEADER.unpack_from(batch.data)
    struct.pack_into(">i", data, LEADER_EPOCH_AT, fields[2])
    struct.pack_into(">h", data, ATTRIBUTES_AT, fields[5] & ~CODECS)
    struct.pack_into(">qhi", data, PRODUCER_ID_AT, *fields[9:12])
    return replace(batch, data=bytes(with_crc(data)))


def _emptied(batch: Batch) -> Batch:
    """Returns the header of a batch without records (DefaultRecordBatch.writeEmptyHeader)."""
    base, _, epoch, magic, _, attributes, delta, _, latest, *producer, _ = _HEADER.unpack_from(
        batch.data
    )
    size = HEADER_BYTES - LENGTH_END
    data = bytearray(
        _HEADER.pack(
            *(base, size, epoch, magic, 0, attributes & ~CODECS, delta, latest, latest),
            *(*producer, 0),
        )
    )
    return replace(batch, data=bytes(with_crc(data)))
