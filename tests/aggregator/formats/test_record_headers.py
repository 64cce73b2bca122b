"""Headers of records are read, and written again, byte for byte."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats.record_fields import split
from aggregator.formats.record_headers import encoded_headers, encoded_number, read_headers
from aggregator.formats.record_slice import RecordSlice, joined
from replicator.batches.records import Records
from replicator.batches.varints import BrokenVarints
from tests.aggregator.formats.header_samples import HEADERS, encoded_by_hand, number


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
