"""A fetch becomes outgoing batches: in order, complete, and opened only where necessary."""

import struct
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from replicator.batches import batch
from replicator.batches.batch import BrokenBatch
from replicator.batches.codec import DECOMPRESSED_BYTES_MAX, Codec
from replicator.batches.outgoing_batch import Reason, RecordTooLarge
from replicator.batches.packer import PackingRule, pack
from tests.replicator.batches.source_batches import (
    at_offsets,
    batches,
    control,
    decoded,
    encoded,
    one_record,
    with_crc,
)

MIB = 1 << 20
RULE = PackingRule(max_bytes=MIB)
MERGE_ALL = PackingRule(max_bytes=MIB, merge_batches_min=1, merge_below_records=1000)
MERGE_NONE = PackingRule(max_bytes=MIB, merge_below_records=0)


def landed(packed):
    found = []
    for outgoing in packed.batches:
        offsets = [offset + index for offset, count in outgoing.spans for index in range(count)]
        outgoing.stamp(producer_id=1, producer_epoch=2, base_sequence=3)
        found += at_offsets(decoded(outgoing.data), offsets)
    return found


def tiny(first, count, **how):
    return [encoded([one_record(first + index)], **how) for index in range(count)]


@given(
    batches(),
    st.sampled_from([RULE, MERGE_ALL, MERGE_NONE, PackingRule(max_bytes=700)]),
    st.data(),
)
def test_every_record_from_the_position_on_is_packed_once_and_in_order(made, rule, drawn):
    data, records = made
    position = drawn.draw(st.integers(records[0].offset, records[-1].offset + 1))
    packed = pack(b"".join(data), position=position, aborted=None, rule=rule)
    expected = [one for one in records if one.offset >= position]
    if packed.trouble is not None:
        assert isinstance(packed.trouble, RecordTooLarge)
        expected = [one for one in expected if one.offset < packed.trouble.offset]
    else:
        assert packed.next_offset > records[-1].offset or not expected
    assert landed(packed) == expected


@given(st.lists(st.sampled_from([1, 1, 1, 40]), min_size=1, max_size=60))
def test_the_same_records_land_whether_batches_are_judged_singly_or_at_once(sizes):
    data, offset = [], 0
    for size in sizes:
        data.append(encoded([one_record(offset + index) for index in range(size)], codec=3))
        offset += size
    packed = pack(b"".join(data), position=0, aborted=None, rule=RULE)
    assert landed(packed) == [one_record(index) for index in range(offset)]
    assert packed.next_offset == offset
    unopened = sum(not outgoing.opened for outgoing in packed.batches)
    assert packed.opened.total() + unopened == len(sizes)


def test_ordinary_batches_are_forwarded_unopened():
    data = [encoded([one_record(first + index) for index in range(50)]) for first in (0, 50)]
    packed = pack(b"".join(data), position=0, aborted=None, rule=RULE)
    assert [outgoing.opened for outgoing in packed.batches] == [False, False]
    assert [outgoing.spans for outgoing in packed.batches] == [((0, 50),), ((50, 50),)]


def test_tiny_batches_side_by_side_are_merged():
    packed = pack(b"".join(tiny(0, 500)), position=0, aborted=None, rule=RULE)
    assert [outgoing.count for outgoing in packed.batches] == [500]
    assert packed.opened == {Reason.SMALL: 500}


def test_a_few_tiny_batches_are_not_worth_opening():
    packed = pack(b"".join(tiny(0, 2)), position=0, aborted=None, rule=RULE)
    assert [outgoing.opened for outgoing in packed.batches] == [False, False]


def test_merged_batches_keep_the_codec_that_most_of_them_had():
    value = b"long enough to be worth compressing " * 3
    data = [encoded([one_record(index, value)], codec=3 if index else 4) for index in range(20)]
    packed = pack(b"".join(data), position=0, aborted=None, rule=RULE)
    assert batch.header_at(packed.batches[0].data).attributes & batch.CODEC_BITS == 3


def test_nothing_overtakes_what_waits_to_be_merged():
    large = encoded([one_record(10 + index) for index in range(50)])
    data = [*tiny(0, 10), large, *tiny(60, 10)]
    packed = pack(b"".join(data), position=0, aborted=None, rule=RULE)
    assert [outgoing.count for outgoing in packed.batches] == [10, 50, 10]
    assert landed(packed) == [one_record(index) for index in range(70)]


def test_aborted_data_and_markers_leave_gaps_only():
    bits = {"attributes": batch.TRANSACTIONAL, "producer_id": 9}
    data = [
        *tiny(0, 2, **bits),
        control(2, 9, 0),
        *tiny(3, 2, **bits),
        control(5, 9, 1),
    ]
    packed = pack(b"".join(data), position=0, aborted=[(9, 0)], rule=MERGE_ALL)
    assert landed(packed) == [one_record(3), one_record(4)]
    assert packed.next_offset == 6


def test_a_fetch_of_nothing_but_markers_moves_the_position_all_the_same():
    packed = pack(control(7, 1, 1), position=7, aborted=None, rule=RULE)
    assert (packed.batches, packed.next_offset) == ([], 8)


def test_the_position_passes_offsets_that_compaction_removed():
    data = encoded([one_record(5)], base_offset=3, next_offset=20)
    packed = pack(data, position=3, aborted=None, rule=RULE)
    assert packed.batches[0].spans == ((5, 1),)
    assert packed.next_offset == 20
    assert packed.opened == {Reason.THINNED: 1}


def test_broken_bytes_stop_behind_the_last_good_batch():
    bad = bytearray(encoded([one_record(4)]))
    bad[-1] ^= 0xFF
    data = [*tiny(0, 4), bytes(bad), *tiny(5, 4)]
    packed = pack(b"".join(data), position=0, aborted=None, rule=RULE)
    assert landed(packed) == [one_record(index) for index in range(4)]
    assert packed.next_offset == 4
    assert isinstance(packed.trouble, BrokenBatch)


def test_a_batch_broken_inside_stops_the_fetch_right_before_it():
    # The CRC is right but the number of records is not: only opening shows that.
    liar = bytearray(encoded([one_record(2), one_record(3)]))
    struct.pack_into(">i", liar, 57, 3)
    struct.pack_into(">i", liar, 23, 2)
    data = [*tiny(0, 2), bytes(with_crc(liar)), *tiny(5, 4)]
    packed = pack(b"".join(data), position=0, aborted=None, rule=MERGE_ALL)
    assert landed(packed) == [one_record(0), one_record(1)]
    assert packed.next_offset == 2
    assert isinstance(packed.trouble, BrokenBatch)
    assert packed.trouble.first_offset == 2


def test_a_record_too_large_stops_the_fetch_right_before_it():
    data = [*tiny(0, 4), encoded([one_record(4, b"x" * 5000)]), *tiny(5, 4)]
    rule = PackingRule(max_bytes=3000)
    packed = pack(b"".join(data), position=0, aborted=None, rule=rule)
    assert landed(packed) == [one_record(index) for index in range(4)]
    assert packed.next_offset == 4
    assert isinstance(packed.trouble, RecordTooLarge)


def test_a_cut_last_batch_is_left_for_the_next_fetch():
    last = encoded([one_record(4)])
    packed = pack(b"".join(tiny(0, 4)) + last[:-3], position=0, aborted=None, rule=RULE)
    assert packed.next_offset == 4
    assert packed.cut_bytes == len(last)
    assert packed.trouble is None


def test_an_empty_fetch_is_no_trouble():
    packed = pack(b"", position=12, aborted=None, rule=RULE)
    assert (packed.batches, packed.next_offset, packed.trouble) == ([], 12, None)


def bomb(offset: int, attributes: int = 0) -> bytes:
    """Returns a batch of a few kilobytes that decompresses to more than is ever opened."""
    return encoded(
        [one_record(offset, bytes(DECOMPRESSED_BYTES_MAX))], codec=Codec.ZSTD, attributes=attributes
    )


def test_a_small_batch_that_decompresses_too_far_is_forwarded_unopened_beside_merged_ones():
    data = [*tiny(0, 8), bomb(8), *tiny(9, 8)]
    assert len(data[8]) < RULE.merge_below_bytes * 2
    rule = replace(RULE, merge_below_bytes=len(data[8]) + 1)
    packed = pack(b"".join(data), position=0, aborted=None, rule=rule)
    assert (packed.trouble, packed.next_offset) == (None, 17)
    assert [bytes(one.data)[12:] for one in packed.batches].count(data[8][12:]) == 1
    assert sum(one.count for one in packed.batches) == 17


def test_a_batch_that_decompresses_too_far_and_must_be_opened_stops_the_fetch_right_before_it():
    data = [encoded([one_record(0)]), bomb(1, batch.LOG_APPEND_TIME), encoded([one_record(2)])]
    packed = pack(b"".join(data), position=0, aborted=None, rule=RULE)
    assert packed.next_offset == 1
    assert isinstance(packed.trouble, BrokenBatch)
    assert (packed.trouble.first_offset, packed.trouble.last_offset) == (1, 1)
    assert "more than 100 MiB" in packed.trouble.what
