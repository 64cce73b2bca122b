"""Headers, layout and stamping of batches."""

import struct
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.batches import batch
from replicator.batches.batch import BrokenBatch, ControlKind, OldFormat
from tests.replicator.batches.source_batches import (
    CODECS,
    Record,
    at_offsets,
    control,
    decoded,
    encoded,
    one_record,
    records,
    with_crc,
)

OURS = {"producer_id": 4001, "producer_epoch": 3, "base_sequence": 77}


def some(count: int, first: int = 100) -> list[Record]:
    return [one_record(first + index) for index in range(count)]


def stamped(source: bytes) -> bytearray:
    data = bytearray(source)
    batch.stamp(data, **OURS)
    return data


@given(st.lists(records, min_size=1, max_size=9), st.sampled_from(CODECS))
def test_a_stamped_batch_holds_the_same_records_under_our_ids(contents, codec):
    placed = at_offsets(contents, range(500, 500 + len(contents)))
    ours = stamped(encoded(placed, codec=codec))

    header = batch.header_at(ours)
    assert header.base_offset == 0
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (4001, 3, 77)
    assert header.max_timestamp == max(record.timestamp for record in placed)
    assert decoded(ours) == at_offsets(placed, range(len(placed)))


def test_a_stamped_batch_is_neither_transactional_nor_has_it_a_delete_horizon():
    source = encoded(some(3), attributes=batch.TRANSACTIONAL | batch.DELETE_HORIZON)
    attributes = batch.header_at(stamped(source)).attributes
    assert not attributes & (batch.TRANSACTIONAL | batch.DELETE_HORIZON)


def test_a_delete_horizon_in_the_base_timestamp_leaves_the_records_their_times():
    # With the bit set, the base timestamp is the horizon, and the deltas are relative to it.
    placed = some(3)
    data = bytearray(encoded([Record(99, 1_800_000_000_000, None, None), *placed]))
    before = decoded(data)
    with_bit = bytearray(data)
    struct.pack_into(">h", with_bit, 21, batch.DELETE_HORIZON)
    ours = stamped(bytes(with_crc(with_bit)))
    assert [one.timestamp for one in decoded(ours)] == [one.timestamp for one in before]
    assert batch.header_at(ours).max_timestamp == 1_800_000_000_000


def test_stamping_twice_is_stamping_once():
    data = bytearray(encoded(some(4)))
    batch.stamp(data, **OURS)
    once = bytes(data)
    batch.stamp(data, producer_id=1, producer_epoch=1, base_sequence=1)
    batch.stamp(data, **OURS)
    assert bytes(data) == once


def test_scan_gives_slices_of_the_fetch_and_leaves_a_cut_last_batch_out():
    whole = [encoded(some(2, 10)), encoded(some(1, 12))]
    fetched = b"".join(whole) + encoded(some(1, 13))[:-1]
    found = list(batch.scan(fetched))
    assert [bytes(view) for view, _ in found] == whole
    assert [header.base_offset for _, header in found] == [10, 12]
    assert [header.next_offset for _, header in found] == [12, 13]
    assert all(view.obj is fetched for view, _ in found)


@pytest.mark.parametrize("kept", [0, 11, 12, 16, 60])
def test_a_cut_within_the_header_is_a_cut_too(kept):
    first = encoded(some(1))
    fetched = first + encoded(some(1, 101))[:kept]
    assert len(list(batch.scan(fetched))) == 1
    assert batch.layout(fetched).starts == [0]
    assert batch.layout(fetched).stopped is None


def test_layout_says_how_large_the_batch_was_that_the_fetch_cut_off():
    second = encoded(some(20, 101))
    found = batch.layout(encoded(some(1)) + second[:80])
    assert found.cut_bytes == len(second)


@given(st.data())
def test_no_flipped_bit_behind_the_crc_goes_unnoticed(data):
    good = encoded(some(2))
    at = data.draw(st.integers(min_value=batch.CRC_AT, max_value=len(good) - 1))
    bad = bytearray(good)
    bad[at] ^= 1 << data.draw(st.integers(min_value=0, max_value=7))
    found = batch.layout(good + bytes(bad) + good)
    assert found.starts == [0]
    assert found.stopped is not None
    assert isinstance(found.stopped, BrokenBatch)
    assert found.stopped.first_offset == 100


@pytest.mark.parametrize("length", [-1, 0, 48, -(2**31)])
def test_an_impossible_length_is_an_error_not_a_cut(length):
    bad = bytearray(encoded(some(1)))
    struct.pack_into(">i", bad, 8, length)
    with pytest.raises(BrokenBatch, match="length"):
        list(batch.scan(bytes(bad)))
    assert batch.layout(bytes(bad)).stopped is not None


def test_an_old_message_format_is_named():
    old = bytearray(encoded(some(1)))
    old[16] = 1
    with pytest.raises(OldFormat, match="v1 at source offset 100"):
        list(batch.scan(bytes(old)))


def test_markers_tell_commit_from_abort():
    assert batch.control_kind(control(5, 9, 0)) is ControlKind.ABORT
    assert batch.control_kind(control(5, 9, 1)) is ControlKind.COMMIT
    assert batch.control_kind(control(5, 9, 4)) is ControlKind.OTHER


def test_scanning_stops_when_asked_without_reading_on():
    broken = encoded(some(1)) + b"\xff" * 200
    assert len(list(islice(batch.scan(broken), 1))) == 1
