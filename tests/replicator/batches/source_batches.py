"""Source batches for tests: written by aiokafka's builder, read by its decoder."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from crc32c import crc32c
from hypothesis import strategies as st

from replicator.batches import batch

CODECS = (0, 1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class Record:
    """A record as a consumer sees it."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


def encoded(
    records: Sequence[Record],
    *,
    codec: int = 0,
    base_offset: int | None = None,
    next_offset: int | None = None,
    attributes: int = 0,
    max_timestamp: int | None = None,
    producer_id: int = -1,
) -> bytes:
    """Returns a source batch; a range wider than its records' offsets makes it a compacted one."""
    base = records[0].offset if base_offset is None else base_offset
    builder = DefaultRecordBatchBuilder(2, codec, 0, producer_id, 0, 7, 1 << 30)
    for record in records:
        builder.append(
            record.offset - base,
            timestamp=record.timestamp,
            key=record.key,
            value=record.value,
            headers=list(record.headers),
        )
    data = bytearray(builder.build())
    struct.pack_into(">q", data, 0, base)
    if next_offset is not None:
        struct.pack_into(">i", data, 23, next_offset - base - 1)
    stated = struct.unpack_from(">h", data, 21)[0]
    struct.pack_into(">h", data, 21, stated | attributes)
    if max_timestamp is not None:
        struct.pack_into(">q", data, 35, max_timestamp)
    return bytes(with_crc(data))


def with_crc(data: bytearray) -> bytearray:
    struct.pack_into(">I", data, batch.CRC_AT, crc32c(memoryview(data)[batch.CRC_FROM :]))
    return data


def control(offset: int, producer_id: int, kind: int) -> bytes:
    """Returns a transaction marker as a broker writes it."""
    marker = Record(offset, 5, struct.pack(">hh", 0, kind), struct.pack(">hi", 0, 3))
    both = batch.CONTROL | batch.TRANSACTIONAL
    return encoded([marker], attributes=both, producer_id=producer_id)


def decoded(data: bytes | bytearray | memoryview) -> list[Record]:
    """Returns a batch's records as aiokafka's consumer would return them."""
    found = DefaultRecordBatch(bytes(data))
    assert found.validate_crc()
    return [
        Record(one.offset, one.timestamp, one.key, one.value, tuple(one.headers)) for one in found
    ]


def one_record(offset: int, value: bytes = b"v", timestamp: int = 1_700_000_000_000) -> Record:
    return Record(offset, timestamp + offset, b"key-%d" % offset, value)


def at_offsets(records: Iterable[Record], offsets: Iterable[int]) -> list[Record]:
    return [
        Record(offset, one.timestamp, one.key, one.value, one.headers)
        for one, offset in zip(records, offsets, strict=True)
    ]


_octets = st.one_of(
    st.none(), st.just(b""), st.binary(max_size=12), st.binary(min_size=60, max_size=300)
)
_headers = st.lists(
    st.tuples(st.sampled_from(["", "a", "a", "trace", "Größe"]), _octets), max_size=3
).map(tuple)
_timestamps = st.one_of(
    st.integers(min_value=1_700_000_000_000, max_value=1_700_000_100_000),
    # Not -1: aiokafka's builder treats it as not set.
    st.sampled_from([0, 1, 2**41, 2**53]),
)
# Made once: a strategy that is made for each draw takes longer than the draw.
_AHEAD, _BEHIND = st.sampled_from([0, 0, 0, 5]), st.sampled_from([0, 0, 4])
_STEP, _FIRST_STEP = st.sampled_from([1, 1, 1, 1, 3, 200]), st.sampled_from([0, 0, 2])
_CODEC = st.sampled_from(CODECS)
records = st.builds(Record, st.just(0), _timestamps, _octets, _octets, _headers)


@st.composite
def batches(draw: st.DrawFn) -> tuple[list[bytes], list[Record]]:
    """Returns adjacent source batches, some of them compacted, and their records."""
    offset = draw(st.integers(min_value=0, max_value=2**40))
    data: list[bytes] = []
    everything: list[Record] = []
    for _ in range(draw(st.integers(min_value=1, max_value=8))):
        base = offset + draw(_AHEAD)
        contents = draw(st.lists(records, min_size=1, max_size=6))
        steps = draw(st.lists(_STEP, min_size=len(contents), max_size=len(contents)))
        steps[0] = draw(_FIRST_STEP)
        offsets = [base + ahead for ahead in accumulate(steps)]
        offset = offsets[-1] + 1 + draw(_BEHIND)
        placed = at_offsets(contents, offsets)
        codec = draw(_CODEC)
        data.append(encoded(placed, codec=codec, base_offset=base, next_offset=offset))
        everything += placed
    return data, everything
