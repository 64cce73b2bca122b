"""Record fields: keys, values and headers of records."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats.byte_columns import byte_column, taken
from aggregator.formats.record_fields import split
from aggregator.formats.record_headers import encoded_headers, encoded_number, read_headers
from aggregator.formats.record_slice import RecordSlice, joined
from aggregator.formats.record_values import record_values
from replicator.batches.batch import BrokenBatch
from replicator.batches.records import Records, opened
from replicator.batches.varints import BrokenVarints
from tests.aggregator.formats.header_samples import HEADERS, encoded_by_hand, number
from tests.aggregator.formats.slices import slice_of
from tests.replicator.batches.source_batches import batches

# -- Fields of records: what is split is what was written.


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


# -- Headers of records are read, and written again, byte for byte.


def slice_with(headers) -> RecordSlice:
    """Returns records of a null key, an empty value and these headers, as they are fetched."""
    tails = [b"\x01" + b"\x00" + encoded_by_hand(each) for each in headers]
    ends = np.cumsum([len(tail) for tail in tails])
    count = len(tails)
    begins = ends - [len(tail) for tail in tails]
    times = np.zeros(count, np.int64)
    return split(Records(b"".join(tails), np.arange(count), times, begins, ends, 0))


def in_bytes(headers):
    return tuple((name.encode(errors="surrogateescape"), value) for name, value in headers)


@given(st.lists(HEADERS, min_size=1, max_size=4), st.data())
def test_headers_are_read_as_they_are_however_their_records_were_moved(headers, data):
    found = slice_with(headers)
    order = data.draw(st.permutations(range(len(headers))))
    moved = [
        (found, range(len(headers))),
        (found.copied(), range(len(headers))),
        (found.copied(np.array(order)), order),
        (found.at(slice(1, None)).copied(), range(1, len(headers))),
        (joined([found, found]), [*range(len(headers))] * 2),
        (joined([found.copied(), found]).copied(), [*range(len(headers))] * 2),
    ]
    for part, which in moved:
        read = [in_bytes(part.headers_at(at)) for at in range(len(part))]
        assert read == [headers[at] for at in which]


@given(HEADERS)
def test_headers_are_written_as_they_were_read(headers):
    encoded = encoded_by_hand(headers)
    assert encoded_headers(read_headers(encoded)) == encoded


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_numbers_are_written_as_zigzag_varints(value):
    assert encoded_number(value) == number(value)


@pytest.mark.parametrize(
    "encoded",
    [
        b"",
        b"\x02",
        b"\x02\x02a",
        b"\x02\x02a\x04b",
        b"\x02\x01\x00",
        b"\x02\x02a\x03",
        b"\x00\x00",
        b"\x01",
        b"\x02" + b"\xff" * 12,
    ],
)
def test_headers_that_do_not_fill_their_record_are_named(encoded):
    with pytest.raises(BrokenVarints):
        read_headers(encoded)


# -- Values of records as one column, with the index of each record.


def test_null_values_are_left_out_and_empty_ones_are_not():
    values, record = record_values([slice_of([b"a", None, b""])])
    assert values.to_pylist() == [b"a", b""]
    assert record.tolist() == [0, 2]


def test_records_are_counted_over_all_slices():
    values, record = record_values([slice_of([None, b"a"]), slice_of([b"b"], first=7)])
    assert values.to_pylist() == [b"a", b"b"]
    assert record.tolist() == [1, 2]


def test_no_slices_hold_no_values():
    values, record = record_values([])
    assert values.to_pylist() == record.tolist() == []


# -- Parts of data as a column.


@given(st.binary(max_size=40), st.lists(st.integers(0, 40), max_size=12))
def test_the_parts_are_taken_as_they_are(data, places):
    places = sorted(min(place, len(data)) for place in places[: len(places) // 2 * 2])
    begin, end = np.array(places[0::2], np.int64), np.array(places[1::2], np.int64)
    expected = [data[left:right] for left, right in zip(begin, end, strict=True)]
    assert taken(data, begin, end).to_pylist() == expected


@given(st.lists(st.none() | st.binary(max_size=5), max_size=12))
def test_null_and_empty_values_stay_different(values):
    data = b"..".join(value or b"" for value in values)
    begin, end, at = [], [], 0
    for value in values:
        begin.append(-1 if value is None else at)
        at += len(value or b"")
        end.append(-1 if value is None else at)
        at += len(b"..")
    places = (np.array(each, np.int64) for each in (begin, end))
    assert byte_column(data, *places).to_pylist() == values
