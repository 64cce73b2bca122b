"""Fields of records: what is split is what was written."""

import numpy as np
import pytest
from hypothesis import given

from aggregator.formats.record_fields import split
from aggregator.formats.record_slice import RecordSlice
from replicator.batches.batch import BrokenBatch
from replicator.batches.records import Records, opened
from tests.replicator.batches.source_batches import batches


def part(data, begin, end):
    return None if begin < 0 else bytes(data[begin:end])


def headers(data, begin, end):
    """Returns encoded headers as pairs, read byte by byte."""
    at = begin

    def number():
        nonlocal at
        value = shift = 0
        while True:
            octet = data[at]
            at += 1
            value |= (octet & 127) << shift
            shift += 7
            if octet < 128:
                return (value >> 1) ^ -(value & 1)

    def field():
        nonlocal at
        length = number()
        if length < 0:
            return None
        at += length
        return bytes(data[at - length : at])

    found = tuple((field().decode(), field()) for _ in range(number()))
    assert at == end
    return found


@given(batches())
def test_key_value_and_headers_come_out_as_they_went_in(made):
    data, records = made
    starts, at = [], 0
    for one in data:
        starts.append(at)
        at += len(one)
    found = split(opened(b"".join(data), starts))
    assert found.offset.tolist() == [one.offset for one in records]
    assert found.timestamp_ms.tolist() == [one.timestamp for one in records]
    for at, one in enumerate(records):
        assert part(found.data, found.key_begin[at], found.key_end[at]) == one.key
        assert part(found.data, found.value_begin[at], found.value_end[at]) == one.value
        read = headers(found.data, int(found.headers_begin[at]), int(found.headers_end[at]))
        assert read == one.headers


def records_of(*tails: bytes) -> Records:
    ends = np.cumsum([len(tail) for tail in tails])
    count = len(tails)
    return Records(
        b"".join(tails),
        np.arange(7, 7 + count),
        np.zeros(count, np.int64),
        ends - [len(tail) for tail in tails],
        ends,
        0,
    )


GOOD = b"\x01\x01\x00"
"""A null key, a null value, no headers."""


@pytest.mark.parametrize(
    "tail",
    [
        pytest.param(b"\x04k\x01\x00", id="a key that goes on into the value"),
        pytest.param(b"\x01\x7e\x00\x00", id="a value longer than its record"),
        pytest.param(b"\x01\x03\x00", id="a length below -1"),
        pytest.param(b"\x01\x01", id="no number of headers"),
        pytest.param(b"\x01\x01\x01", id="a negative number of headers"),
        pytest.param(b"\x01\x01\x04\x00\x00", id="more headers than there is room for"),
        pytest.param(b"\x01\x01\x00\x00", id="bytes behind the headers"),
        pytest.param(b"\x01" + b"\xff" * 9 + b"\x01\x00", id="a length of 63 bits"),
        pytest.param(b"\x01" + b"\xff" * 12, id="a number that does not end"),
    ],
)
def test_lengths_that_do_not_add_up_are_a_broken_batch(tail):
    with pytest.raises(BrokenBatch) as broken:
        split(records_of(GOOD, tail, GOOD))
    assert (broken.value.first_offset, broken.value.last_offset) == (7, 9)


def test_no_records_are_no_records():
    found = split(records_of(GOOD).between(0, 0))
    assert isinstance(found, RecordSlice) and len(found) == 0
