"""Record batches of format v2 as bytes: layout, header fields, and stamping for the target.

A batch is a 61-byte header and a payload of (usually compressed) records. Forwarding a batch
unopened costs one copy, a few rewritten header fields and a new CRC-32C; the payload is never read.
Layout and meaning of the fields: org.apache.kafka.common.record.DefaultRecordBatch.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from crc32c import crc32c

HEADER_BYTES = 61
HEADER = struct.Struct(">qiibIhiqqqhii")

CODEC_BITS = 0x07
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40

# The CRC covers the bytes from the attributes on. It does not cover base offset, length, leader
# epoch, magic and the CRC itself: brokers rewrite the first three.
CRC_AT = 17
CRC_FROM = 21
_ATTRIBUTES = struct.Struct(">h")
_ATTRIBUTES_AT = 21
_WRITER = struct.Struct(">qhi")
_WRITER_AT = 43
_BEFORE_LENGTH_BYTES = 12
LENGTH_MIN = HEADER_BYTES - _BEFORE_LENGTH_BYTES


class BrokenBatch(Exception):
    """Bytes of the source that are not a readable record batch.

    Fetch them again; if the error stays, park the partition.
    """

    def __init__(self, first_offset: int, last_offset: int, what: str) -> None:
        super().__init__(
            f"record batch at source offsets {first_offset}..{last_offset}: {what}. Fetch it"
            " again; if it stays broken, repair that replica or accept the loss of this range"
        )
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.what = what


class OldFormat(Exception):
    """A message of format v0 or v1 where a record batch was expected.

    Pass the bytes through `old_format.upconverted` first.
    """

    def __init__(self, offset: int, magic: int) -> None:
        super().__init__(
            f"message format v{magic} at source offset {offset}: pass it through"
            " old_format.upconverted first"
        )


class ControlKind(IntEnum):
    """Outcome of the producer's transaction that a control batch states."""

    ABORT = 0
    COMMIT = 1
    OTHER = 2
    """Any other control record, which does not concern readers of records."""


class Header(NamedTuple):
    """Fields of the 61-byte batch header.

    `length` counts the bytes behind the length field. Timestamps are in milliseconds.
    """

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which has no meaning here

    @property
    def size(self) -> int:
        """Size of the whole batch in bytes."""
        return self.length + _BEFORE_LENGTH_BYTES

    @property
    def next_offset(self) -> int:
        """Source offset behind the batch, even if compaction removed its last records."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)

    @property
    def is_gapless(self) -> bool:
        """True if the batch has a record at every offset: compaction removed none."""
        return self.count == self.last_offset_delta + 1


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions of the whole batches of one fetch, checked up to `stopped`."""

    starts: list[int]
    cut_bytes: int
    """Full size of the batch that the fetch limit cut off at the end.

    0 if none was cut off, or if fewer than 21 bytes of it arrived.
    """
    stopped: BrokenBatch | OldFormat | None
    """Error that ended the scan early; the batches in `starts` are valid."""


def header_at(buffer: bytes | bytearray | memoryview, start: int = 0) -> Header:
    """Returns the header of the batch that begins at `start`."""
    return Header._make(HEADER.unpack_from(buffer, start))


def layout(buffer: bytes | memoryview) -> Layout:
    """Finds the whole batches of a fetch and verifies each CRC.

    Stamping a batch writes a new CRC, so damage must be detected here. Takes 0.3 to 0.5
    microseconds per batch plus 0.1 nanoseconds per byte for the CRC (bench/batch_codec.py).
    """
    view, end = memoryview(buffer), len(buffer)
    unpack, checksum = struct.Struct(">8xi4xbI").unpack_from, crc32c
    starts: list[int] = []
    at = 0
    while end - at >= CRC_FROM:
        length, magic, crc = unpack(buffer, at)
        behind = at + _BEFORE_LENGTH_BYTES + length
        if length < LENGTH_MIN or magic != 2:
            return Layout(starts, 0, _not_a_batch(view[at:], length, magic))
        if behind > end:
            return Layout(starts, behind - at, None)
        if checksum(view[at + CRC_FROM : behind]) != crc:
            broken = _broken(view[at:], f"its CRC-32C is not {crc:#010x}")
            return Layout(starts, 0, broken)
        starts.append(at)
        at = behind
    return Layout(starts, 0, None)


def scan(buffer: bytes | memoryview) -> Iterator[tuple[memoryview, Header]]:
    """Yields each whole batch as a slice (no copy) and its header; a cut last batch is left out.

    CRCs are not checked. Takes about one microsecond per batch.

    Raises:
        BrokenBatch: a length or magic is impossible.
        OldFormat: a message has format v0 or v1.
    """
    view, end = memoryview(buffer), len(buffer)
    at = 0
    while end - at >= HEADER_BYTES:
        header = Header._make(HEADER.unpack_from(view, at))
        if header.length < LENGTH_MIN or header.magic != 2:
            raise _not_a_batch(view[at:], header.length, header.magic)
        behind = at + header.size
        if behind > end:
            return
        yield view[at:behind], header
        at = behind


def stamp(
    data: bytearray | memoryview,
    *,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    is_transactional: bool = False,
) -> None:
    """Rewrites a batch in place for producing: base offset 0, the given producer fields, a new CRC.

    Sets or clears the transactional bit, and clears the delete-horizon bit. The base timestamp
    stays even if it holds a delete horizon, because the timestamps of the records are relative to
    it. The largest timestamp is that of the records in either case. Stamping can be repeated.
    """
    attributes = _ATTRIBUTES.unpack_from(data, _ATTRIBUTES_AT)[0] & ~(
        TRANSACTIONAL | DELETE_HORIZON
    )
    if is_transactional:
        attributes |= TRANSACTIONAL
    data[0:8] = bytes(8)
    _ATTRIBUTES.pack_into(data, _ATTRIBUTES_AT, attributes)
    _WRITER.pack_into(data, _WRITER_AT, producer_id, producer_epoch, base_sequence)
    data[CRC_AT:CRC_FROM] = crc32c(memoryview(data)[CRC_FROM:]).to_bytes(4, "big")


def sealed(
    payload: bytes | memoryview, *, codec: int, count: int, base_timestamp: int, max_timestamp: int
) -> bytearray:
    """Returns a batch with offsets 0..count-1 around a payload; `stamp` makes it ready to send.

    Args:
        payload: the encoded records, compressed with `codec`.
    """
    header = HEADER.pack(
        0,
        LENGTH_MIN + len(payload),
        -1,
        2,
        0,
        codec,
        count - 1,
        base_timestamp,
        max_timestamp,
        -1,
        -1,
        -1,
        count,
    )
    return bytearray().join((header, payload))


def control_kind(view: memoryview | bytes) -> ControlKind:
    """Returns the kind of a control batch, the second int16 in the key of its one record."""
    # Record layout: length (varint), attributes (one byte), timestamp delta (varint), offset delta,
    # key length, key.
    at = HEADER_BYTES + 2
    while at < len(view) and view[at] & 0x80:
        at += 1
    kind = int.from_bytes(view[at + 5 : at + 7], "big")
    return (
        ControlKind(kind) if kind in (ControlKind.ABORT, ControlKind.COMMIT) else ControlKind.OTHER
    )


def _not_a_batch(view: memoryview, length: int, magic: int) -> BrokenBatch | OldFormat:
    if 0 <= magic < 2:
        return OldFormat(int.from_bytes(view[:8], "big", signed=True), magic)
    return _broken(view, f"length {length}, magic {magic} are impossible")


def _broken(view: memoryview, what: str) -> BrokenBatch:
    """Returns a BrokenBatch with the offset range that the header states.

    The range is the base offset alone if the header is incomplete or states a lower last offset.
    """
    offset = last = int.from_bytes(view[:8], "big", signed=True)
    if len(view) >= HEADER_BYTES:
        last = max(offset, header_at(view).next_offset - 1)
    return BrokenBatch(offset, last, what)
