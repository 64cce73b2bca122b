"""Opening and repacking: no record changes, and every offset is accounted for."""

import gzip
import random
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.batches import batch
from replicator.batches.batch import BrokenBatch, header_at
from replicator.batches.codec import compressed
from replicator.batches.outgoing_batch import SPANS_MAX, Reason
from replicator.batches.records import opened, rebatch, why_open
from tests.replicator.batches.source_batches import (
    CODECS,
    Record,
    at_offsets,
    batches,
    decoded,
    encoded,
    one_record,
    with_crc,
)

MIB = 1 << 20


def starts_of(data):
    starts, at = [], 0
    for one in data:
        starts.append(at)
        at += len(one)
    return starts


def through(data, *, codec=0, max_bytes=MIB, position=0):
    """Returns the records opened, repacked and stamped."""
    records = opened(b"".join(data), starts_of(data)).since(position)
    batches, too_large = rebatch(records, codec=codec, max_bytes=max_bytes)
    for outgoing in batches:
        outgoing.stamp(producer_id=1, producer_epoch=2, base_sequence=3)
    return batches, too_large


def landed(batches):
    """Returns the records as aiokafka decodes them, at the source offsets of the spans."""
    found = []
    for outgoing in batches:
        offsets = [offset + index for offset, count in outgoing.spans for index in range(count)]
        assert outgoing.count == len(offsets) == header_at(outgoing.data).count
        ours = decoded(outgoing.data)
        assert [one.offset for one in ours] == list(range(outgoing.count))
        assert header_at(outgoing.data).max_timestamp == max(one.timestamp for one in ours)
        found += at_offsets(ours, offsets)
    return found


@given(batches(), st.sampled_from(CODECS))
def test_records_of_any_batches_come_out_as_they_went_in(made, codec):
    data, records = made
    batches, too_large = through(data, codec=codec)
    assert too_large is None
    assert landed(batches) == records


@given(batches(), st.data())
def test_records_before_the_position_are_left_out_and_no_others(made, drawn):
    data, records = made
    position = drawn.draw(st.integers(records[0].offset - 1, records[-1].offset + 1))
    batches, _ = through(data, position=position)
    assert landed(batches) == [one for one in records if one.offset >= position]


@given(batches(), st.integers(min_value=400, max_value=2000))
def test_no_batch_exceeds_what_the_target_takes(made, max_bytes):
    data, records = made
    batches, too_large = through(data, max_bytes=max_bytes)
    assert all(len(outgoing.data) <= max_bytes for outgoing in batches)
    expected = [one for one in records if too_large is None or one.offset < too_large.offset]
    assert landed(batches) == expected
    assert too_large is None or too_large.size_bytes > max_bytes


@given(st.lists(st.sampled_from([1, 2]), min_size=1, max_size=900))
def test_spans_never_number_more_than_a_ledger_entry_can_list(steps):
    offsets = [1000]
    for step in steps:
        offsets.append(offsets[-1] + step)
    records = [one_record(offset) for offset in offsets]
    batches, _ = through([encoded(records)])
    assert landed(batches) == records
    assert all(len(outgoing.spans) <= SPANS_MAX for outgoing in batches)
    gaps = steps.count(2)
    assert len(batches) <= gaps // SPANS_MAX + 1


def test_a_record_too_large_is_named_and_what_is_before_it_is_packed():
    records = [one_record(7), one_record(8, b"x" * 5000), one_record(9)]
    batches, too_large = through([encoded(records)], max_bytes=2000)
    assert landed(batches) == records[:1]
    assert (too_large.offset, too_large.max_bytes) == (8, 2000)
    assert too_large.size_bytes > 5000
    assert "source offset 8" in str(too_large)


def test_a_large_record_that_compresses_is_taken():
    records = [one_record(8, b"x" * 50_000)]
    batches, too_large = through([encoded(records, codec=3)], codec=3, max_bytes=2000)
    assert too_large is None
    assert landed(batches) == records


def test_compression_that_does_not_help_is_left_away():
    batches, _ = through([encoded([one_record(0)])], codec=4)
    assert not header_at(batches[0].data).attributes & batch.CODEC_BITS


def test_with_log_append_time_every_record_gets_the_time_of_its_batch():
    records = [one_record(0), one_record(1)]
    data = encoded(records, attributes=batch.LOG_APPEND_TIME, max_timestamp=1_750_000_000_000)
    batches, _ = through([data])
    assert not header_at(batches[0].data).attributes & batch.LOG_APPEND_TIME
    assert [one.timestamp for one in landed(batches)] == [1_750_000_000_000] * 2


def test_a_batch_emptied_by_compaction_gives_nothing():
    data = bytearray(encoded([one_record(3)], codec=0)[: batch.HEADER_BYTES])
    header = header_at(data)._replace(length=49, count=0, attributes=3)
    batch.HEADER.pack_into(data, 0, *header)
    records = [one_record(4)]
    batches, _ = through([bytes(with_crc(data)), encoded(records, codec=3)])
    assert landed(batches) == records


def test_header_names_that_are_no_text_survive():
    odd = encoded([Record(0, 0, b"k", b"v", (("name", b"x"),))])
    raw = odd.replace(b"name", b"\xff\xfe\x00\x80")
    batches, _ = through([raw])
    assert b"\xff\xfe\x00\x80" in batches[0].data


@given(st.binary(max_size=80), st.integers(min_value=1, max_value=30))
def test_unreadable_records_are_an_error_with_their_range(payload, count):
    header = batch.Header(50, 49 + len(payload), 0, 2, 0, 0, count - 1, 0, 0, -1, -1, -1, count)
    data = bytearray(batch.HEADER.pack(*header)) + payload
    broken = None
    try:
        opened(bytes(data), [0])
    except BrokenBatch as error:
        broken = error
    if broken is not None:
        assert (broken.first_offset, broken.last_offset) == (50, 50 + count - 1)
    else:
        # Some random payloads are valid records as far as they are read.
        assert payload or not count


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({}, None),
        ({"last_offset_delta": 10}, Reason.THINNED),
        ({"base_offset": 99}, Reason.CUT),
        ({"attributes": batch.LOG_APPEND_TIME | 3}, Reason.LOG_APPEND_TIME),
        ({"attributes": batch.TRANSACTIONAL | 4}, None),
        ({"length": 1001}, Reason.TOO_LARGE),
    ],
)
def test_a_batch_is_opened_only_for_a_reason(header, reason):
    plain = batch.Header(100, 500, 0, 2, 0, 0, 9, 0, 0, -1, -1, -1, 10)
    assert why_open(plain._replace(**header), position=100, max_bytes=1000) is reason


def random_text(size: int, seed: int = 1) -> bytes:
    """Returns bytes that compress to some three quarters, and better at higher levels."""
    words = [bytes(random.Random(n).choices(b"abcdefghijklmnop", k=7)) for n in range(5000)]
    chosen = random.Random(seed).choices(words, k=size // 7)
    return b"".join(chosen)


def gzipped(value: bytes, *, base_offset: int = 0) -> bytes:
    """Returns a batch of one record as a Java producer writes it at gzip level 9."""
    plain = encoded([one_record(base_offset, value)], codec=0)
    header = header_at(plain)
    packed = gzip.compress(plain[batch.HEADER_BYTES :], 9, mtime=0)
    made = batch.sealed(
        packed,
        codec=1,
        count=1,
        base_timestamp=header.base_timestamp,
        max_timestamp=header.max_timestamp,
    )
    struct.pack_into(">q", made, 0, base_offset)
    return bytes(made)


@pytest.mark.parametrize("excess", [0, 20])
def test_what_its_producer_compressed_well_is_never_too_large(excess):
    """At level 1 the record takes a third more than its producer made of it."""
    made = gzipped(random_text(700_000))
    records = opened(made, [0])
    assert len(compressed(1, records.data)) > len(made) * 1.1
    batches, too_large = rebatch(records, max_bytes=len(made) + excess)
    assert too_large is None
    batches[0].stamp(producer_id=1, producer_epoch=2, base_sequence=3)
    assert landed(batches)[0].value == random_text(700_000)


def test_a_record_that_compresses_well_alone_fits_among_uncompressed_ones():
    small = [encoded([one_record(n, b"small")], codec=0) for n in range(9)]
    large = gzipped(bytes(3_000_000), base_offset=9)
    data = [*small, large]
    batches, too_large = rebatch(opened(b"".join(data), starts_of(data)), max_bytes=MIB)
    assert too_large is None
    assert [one.count for one in batches] == [9, 1]
    assert [header_at(one.data).attributes & batch.CODEC_BITS for one in batches] == [0, 1]


@pytest.mark.parametrize("codec", CODECS)
def test_each_new_batch_has_the_codec_of_most_of_its_bytes(codec):
    one = encoded([one_record(0, bytes(1000))], codec=codec)
    other = encoded([one_record(1, b"x")], codec=1 if codec != 1 else 2)
    third = encoded([one_record(2, b"y")], codec=1 if codec != 1 else 2)
    data = [one, other, third]
    (made,), _ = rebatch(opened(b"".join(data), starts_of(data)), max_bytes=MIB)
    assert header_at(made.data).attributes & batch.CODEC_BITS == codec


def test_no_codec_helps_a_record_that_nothing_compresses():
    value = random.Random(1).randbytes(300_000)
    made = encoded([one_record(0, value)], codec=4)
    batches, too_large = rebatch(opened(made, [0]), max_bytes=200_000)
    assert (batches, too_large.offset) == ([], 0)
    assert too_large.size_bytes > 300_000
