"""Opening of batches: records as columns, and their packing into new batches.

Records are moved as bytes. Only their first bytes change: length, timestamp delta and offset delta.
Key, value and headers are copied unchanged. Null or empty values, repeated headers and header names
that are not UTF-8 survive.

numpy and Arrow process all records at once. This takes half to one microsecond per record with
compression (bench/batch_codec.py). aiokafka's compiled classes take 0.7 to 1.2, and 9 for each lz4
batch of one record. Record layout: org.apache.kafka.common.record.DefaultRecord.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from replicator.batches import varints
from replicator.batches.batch import (
    CODEC_BITS,
    HEADER_BYTES,
    LENGTH_MIN,
    LOG_APPEND_TIME,
    BrokenBatch,
    Header,
    sealed,
)
from replicator.batches.codec import BrokenPayload, compressed, decompressed, squeezed
from replicator.batches.outgoing_batch import SPANS_MAX, OutgoingBatch, Reason, RecordTooLarge
from replicator.batches.record_begins import record_begins

Ints = npt.NDArray[np.int64]
Octets = npt.NDArray[np.uint8]

# Limit of uncompressed record bytes in one new batch; the target's limit may be lower.
NEW_BATCH_BYTES = 1 << 20
# Arrow's offsets into a binary column are 32-bit integers.
ARROW_BYTES_MAX = (1 << 31) - 1
_NOTHING = pa.scalar(b"")
# Largest sizes of a record's length, attributes, timestamp delta and offset delta.
_FRONT_BYTES_MAX = varints.LENGTH_BYTES_MAX + 1 + 10 + 5

HEADERS = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("count", ">i4"),
    ]
)


@dataclass(frozen=True, slots=True)
class Records:
    """Records as columns, ordered by source offset.

    `data[tail:end]` holds key, value and headers of each record.
    """

    data: bytes | memoryview
    offset: Ints
    timestamp: Ints
    tail: Ints
    end: Ints
    codec: int
    """The most frequent codec of the source batches."""
    codecs: Ints | None = None
    """Codec of each record's source batch, if these differ."""

    def __len__(self) -> int:
        return len(self.offset)

    def since(self, position: int) -> Records:
        """Returns the records from this source offset on."""
        return self.between(int(np.searchsorted(self.offset, position)), len(self))

    def between(self, first: int, last: int) -> Records:
        """Returns the records with indexes from `first` up to, not including, `last`."""
        return replace(
            self,
            offset=self.offset[first:last],
            timestamp=self.timestamp[first:last],
            tail=self.tail[first:last],
            end=self.end[first:last],
            codecs=None if self.codecs is None else self.codecs[first:last],
        )

    def codecs_of(self, first: int, last: int) -> list[int]:
        """Returns the codecs that records first..last-1 had, that of most bytes first."""
        if self.codecs is None or first == last:
            return [self.codec]
        sizes = (self.end - self.tail)[first:last]
        by_codec = np.bincount(self.codecs[first:last], weights=sizes)
        return [int(codec) for codec in np.argsort(-by_codec, kind="stable") if by_codec[codec]]


def why_open(header: Header, *, position: int, max_bytes: int) -> Reason | None:
    """Returns the reason why the batch cannot be forwarded unopened; None if it can.

    Args:
        position: first source offset to carry.
        max_bytes: largest batch that the target accepts.
    """
    if not header.is_gapless:
        return Reason.THINNED
    if header.base_offset < position:
        return Reason.CUT
    if header.attributes & LOG_APPEND_TIME:
        return Reason.LOG_APPEND_TIME
    if header.size > max_bytes:
        return Reason.TOO_LARGE
    return None


def headers_at(buffer: bytes | memoryview, starts: Sequence[int]) -> npt.NDArray[np.void]:
    """Returns the headers of the batches that begin at `starts`, as columns."""
    octets = np.frombuffer(buffer, dtype=np.uint8)
    windows = np.lib.stride_tricks.sliding_window_view(octets, HEADER_BYTES)
    columns: npt.NDArray[np.void] = windows[np.asarray(starts)].view(HEADERS)[:, 0]
    return columns


def opened(buffer: bytes | memoryview, starts: Sequence[int]) -> Records:
    """Returns the records of the batches that begin at `starts`.

    Raises:
        BrokenBatch: the records cannot be read; names the offset range of all these batches.
    """
    headers = headers_at(buffer, starts)
    try:
        return _records(_sections(buffer, starts, headers), headers)
    except (BrokenPayload, varints.BrokenVarints, IndexError) as error:
        last = int(headers["base_offset"][-1]) + int(headers["last_offset_delta"][-1])
        what = f"its records cannot be read although its CRC is right ({error})"
        raise BrokenBatch(int(headers["base_offset"][0]), last, what) from error


@dataclass(frozen=True, slots=True)
class _Sections:
    """Contiguous ranges of encoded records: data[begin:end] holds `count` of them."""

    data: bytes | memoryview
    begin: Ints
    end: Ints
    count: Ints


def _sections(
    buffer: bytes | memoryview, starts: Sequence[int], headers: npt.NDArray[np.void]
) -> _Sections:
    """Returns the ranges of encoded records.

    They point into the fetch buffer if no batch is compressed, otherwise into a decompressed copy.
    """
    begin = np.asarray(starts) + HEADER_BYTES
    end = begin + (headers["length"] - LENGTH_MIN)
    count = headers["count"].astype(np.int64)
    codec = headers["attributes"] & CODEC_BITS
    if not codec.any():
        return _Sections(buffer, begin, end, count)
    view = memoryview(buffer)
    pieces = []
    for first, last in pairwise([0, *(np.flatnonzero(np.diff(codec)) + 1).tolist(), len(codec)]):
        limits = zip(begin[first:last].tolist(), end[first:last].tolist(), strict=True)
        # A batch emptied by compaction has no payload, not even an empty compressed one.
        payloads = [view[left:right] for left, right in limits if left < right]
        pieces.append(decompressed(int(codec[first]), payloads))
    data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
    return _Sections(data, np.array([0]), np.array([len(data)]), np.array([count.sum()]))


def _records(sections: _Sections, headers: npt.NDArray[np.void]) -> Records:
    if len(sections.data) > ARROW_BYTES_MAX:
        raise BrokenPayload(f"they decompress to {len(sections.data)} bytes")
    octets = np.frombuffer(sections.data, dtype=np.uint8)
    begin = record_begins(sections.data, sections.begin, sections.end, sections.count)
    length, body = varints.read_signed(octets, begin)
    timestamp_delta, after = varints.read_signed(octets, body + 1)
    offset_delta, tail = varints.read_signed(octets, after)
    end = body + length
    # Memory is sliced by these numbers, so none of them may point outside its record.
    next_begin = np.append(begin[1:], 0)
    next_begin[np.cumsum(sections.count)[sections.count > 0] - 1] = sections.end[sections.count > 0]
    if (end != next_begin).any() or (tail > end).any():
        raise BrokenPayload("lengths of records do not add up")
    counts = headers["count"].astype(np.int64)
    offset = np.repeat(headers["base_offset"].astype(np.int64), counts) + offset_delta
    if (offset[1:] <= offset[:-1]).any():
        raise BrokenPayload("offsets do not ascend")
    timestamp = np.repeat(headers["base_timestamp"].astype(np.int64), counts) + timestamp_delta
    if (headers["attributes"] & LOG_APPEND_TIME).any():
        by_broker = np.repeat(headers["attributes"] & LOG_APPEND_TIME, counts) != 0
        appended = np.repeat(headers["max_timestamp"].astype(np.int64), counts)
        timestamp = np.where(by_broker, appended, timestamp)
    codec = headers["attributes"] & CODEC_BITS
    most = int(np.bincount(codec).argmax())
    codecs = np.repeat(codec.astype(np.int64), counts) if (codec != most).any() else None
    return Records(sections.data, offset, timestamp, tail, end, most, codecs)


def rebatch(
    records: Records, *, max_bytes: int, codec: int | None = None, fit_bytes: int | None = None
) -> tuple[list[OutgoingBatch], RecordTooLarge | None]:
    """Packs the records into few outgoing batches, in order.

    A batch that compression does not make smaller stays uncompressed. A batch larger than
    `fit_bytes` is compressed better if its producers compressed it: the source took its records in
    a form that fits. If a record is too large for the target all the same, the result ends before
    it and names it.

    Args:
        max_bytes: largest batch that the target accepts.
        codec: of the new batches; by default that of most of their records at the source.
        fit_bytes: size above which slower compression is tried; by default max_bytes.
    """
    if not len(records):
        return [], None
    limit = min(max_bytes, NEW_BATCH_BYTES) - HEADER_BYTES
    fit = max_bytes if fit_bytes is None else fit_bytes
    bounds = _bounds(records, limit)
    firsts, lasts = bounds[:-1], bounds[1:]
    counts = lasts - firsts
    base_timestamp = records.timestamp[firsts]
    delta = records.timestamp - np.repeat(base_timestamp, counts)
    index = np.arange(len(records)) - np.repeat(firsts, counts)
    payload, ends = _written(records, delta, index)
    max_timestamp = np.maximum.reduceat(records.timestamp, firsts)
    batches: list[OutgoingBatch] = []
    begin = 0
    for first, last, base, newest in zip(
        firsts.tolist(),
        lasts.tolist(),
        base_timestamp.tolist(),
        max_timestamp.tolist(),
        strict=True,
    ):
        plain = payload[begin : (begin := int(ends[last - 1]))]
        codecs = records.codecs_of(first, last) if codec is None else [codec]
        used = codecs[0]
        packed = compressed(used, plain) if used else plain
        if len(packed) >= len(plain):
            packed, used = plain, 0
        # What its producer did not compress is not compressed to pass a limit of the target.
        if len(packed) > fit - HEADER_BYTES and any(codecs):
            packed, used = squeezed(codecs, plain, fit - HEADER_BYTES)
        if HEADER_BYTES + len(packed) > max_bytes:
            return batches, RecordTooLarge(
                int(records.offset[first]), HEADER_BYTES + len(packed), max_bytes
            )
        data = sealed(
            packed, codec=used, count=last - first, base_timestamp=base, max_timestamp=newest
        )
        batches.append(OutgoingBatch(data, last - first, _spans(records.offset[first:last]), True))
    return batches, None


def _bounds(records: Records, limit: int) -> Ints:
    """Returns the indexes where new batches begin, and the end of the last one.

    Batches are limited in bytes and in spans. A record over the byte limit gets a batch of its own.
    """
    upto = np.cumsum(records.end - records.tail + _FRONT_BYTES_MAX)
    breaks = np.flatnonzero(np.diff(records.offset) != 1) + 1
    bounds = [0]
    while (first := bounds[-1]) < len(records):
        taken = int(upto[first - 1]) if first else 0
        stop = int(np.searchsorted(upto, taken + limit, side="right"))
        span = int(np.searchsorted(breaks, first, side="right")) + SPANS_MAX - 1
        if span < len(breaks):
            stop = min(stop, int(breaks[span]))
        bounds.append(max(stop, first + 1))
    return np.array(bounds)


def _spans(offset: Ints) -> tuple[tuple[int, int], ...]:
    breaks = np.flatnonzero(np.diff(offset) != 1) + 1
    firsts = np.concatenate(([0], breaks))
    counts = np.diff(np.append(firsts, len(offset)))
    return tuple(zip(offset[firsts].tolist(), counts.tolist(), strict=True))


def _written(
    records: Records, timestamp_delta: Ints, offset_delta: Ints
) -> tuple[memoryview, Ints]:
    """Returns the encoded records with new deltas, concatenated, and the end of each."""
    timestamp = varints.signed_to_unsigned(timestamp_delta)
    offset = varints.signed_to_unsigned(offset_delta)
    timestamp_size, offset_size = varints.sizes(timestamp), varints.sizes(offset)
    length = varints.signed_to_unsigned(
        1 + timestamp_size + offset_size + records.end - records.tail
    )
    length_size = varints.sizes(length)
    front_end = np.cumsum(length_size + 1 + timestamp_size + offset_size)
    # The attributes byte stays zero: no version of Kafka has used it.
    front = np.zeros(int(front_end[-1]), dtype=np.uint8)
    offset_at = front_end - offset_size
    timestamp_at = offset_at - timestamp_size
    varints.write(front, offset_at, offset, offset_size)
    varints.write(front, timestamp_at, timestamp, timestamp_size)
    varints.write(front, timestamp_at - 1 - length_size, length, length_size)
    return _joined(front, front_end, records)


def _joined(front: Octets, front_end: Ints, records: Records) -> tuple[memoryview, Ints]:
    """Interleaves fronts and tails. Arrow takes a third of the time of bytes.join."""
    count = len(records)
    fronts = _binary(np.concatenate(([0], front_end)), front)
    # Every other slice between these limits is a tail.
    limits = np.column_stack((records.tail, records.end)).ravel()
    tails = _binary(limits, records.data).take(pa.array(np.arange(0, 2 * count, 2)))
    joined = pc.binary_join_element_wise(fronts, tails, _NOTHING)
    _, ends, data = joined.buffers()
    end = np.frombuffer(ends, dtype=np.int32)[1 : count + 1].astype(np.int64)
    return memoryview(data)[: int(end[-1])], end


def _binary(limits: Ints, data: Octets | bytes | memoryview) -> pa.BinaryArray:
    """Returns data[limits[0]:limits[1]], data[limits[1]:limits[2]] ... as a column, not copied."""
    offsets = pa.py_buffer(limits.astype(np.int32))
    return pa.BinaryArray.from_buffers(
        pa.binary(), len(limits) - 1, [None, offsets, pa.py_buffer(data)]
    )
