"""Record slices: copied, joined and cut, the records stay the same ones."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.formats.record_fields import split
from aggregator.formats.record_slice import (
    SLICE_BYTES,
    SLICE_RECORDS,
    RecordSlice,
    gathered,
    joined,
)
from replicator.batches.records import opened
from tests.replicator.batches.source_batches import Record, encoded

FIELD = st.none() | st.binary(max_size=4)
HEADERS = st.lists(st.tuples(st.text("ab", max_size=2), FIELD), max_size=2).map(tuple)
RECORDS = st.lists(st.tuples(FIELD, FIELD, HEADERS), min_size=1, max_size=8)


def sliced(records, first=0):
    found = [
        Record(first + at, 1_700_000_000_000 + at, key, value, headers)
        for at, (key, value, headers) in enumerate(records)
    ]
    return split(opened(encoded(found), [0]))


def content(records: RecordSlice):
    assert records.key_column.to_pylist() == [records.key_at(at) for at in range(len(records))]
    assert records.value_column.to_pylist() == [records.value_at(at) for at in range(len(records))]
    return [
        (offset, time, records.key_at(at), records.value_at(at), records.headers_at(at))
        for at, (offset, time) in enumerate(
            zip(records.offset.tolist(), records.timestamp_ms.tolist(), strict=True)
        )
    ]


@given(RECORDS, st.data())
def test_copied_records_are_the_same_in_the_order_that_is_asked_for(records, data):
    found = sliced(records)
    order = data.draw(st.lists(st.sampled_from(range(len(records))), unique=True))
    assert content(found.copied()) == content(found)
    copied = found.copied(np.array(order, np.int64))
    assert content(copied) == [content(found)[at] for at in order]
    assert copied.size_bytes == found.at(np.array(order, np.int64)).size_bytes


@given(st.lists(RECORDS, min_size=1, max_size=4), st.data())
def test_joined_slices_have_the_records_of_all(slices, data):
    parts = [sliced(records, 10 * at) for at, records in enumerate(slices)]
    cuts = [data.draw(st.integers(0, len(part) - 1)) for part in parts]
    parts = [part.at(slice(cut, None)) for part, cut in zip(parts, cuts, strict=True)]
    assert content(joined(parts)) == [each for part in parts for each in content(part)]


def test_small_slices_are_joined_and_large_ones_are_left_alone():
    small = [sliced([(b"k", b"v", ())] * 3, 10 * at) for at in range(4)]
    large = sliced([(b"k", b"v", ())] * 5 * SLICE_RECORDS, 100)
    assert [len(each) for each in gathered(small)] == [12]
    assert [*gathered([*small, large])] == [*small, large]
    assert [*gathered([])] == []


@given(RECORDS, st.data())
def test_columns_are_cut_with_the_records(records, data):
    found = sliced(records)
    begin = data.draw(st.integers(0, len(records)))
    whole = content(found)
    part = found.at(slice(begin, None))
    assert part.columns.keys() == found.columns.keys()
    assert content(part) == whole[begin:]
    assert part.memory_bytes >= part.size_bytes
    assert not found.at(np.arange(len(records))).columns


LONG = st.none() | st.integers(0, 6000).map(bytes)
SHAPES = st.lists(
    st.tuples(LONG, LONG, st.lists(st.tuples(st.just("h"), LONG), max_size=3).map(tuple)),
    min_size=1,
    max_size=6,
)
WITHIN = 1.1
"""Excess of true memory over what is counted, for records whose framing is long."""


def allocated(make):
    """Returns what a call returns, and the memory that this keeps."""
    gc.collect()
    arrow = pa.total_allocated_bytes()
    tracemalloc.start()
    kept = make()
    gc.collect()
    size = tracemalloc.get_traced_memory()[0] + pa.total_allocated_bytes() - arrow
    tracemalloc.stop()
    return kept, size


def assert_counted(parts, size):
    counted = sum(part.size_bytes for part in parts)
    assert size <= WITHIN * counted
    assert counted <= WITHIN * size + SLICE_BYTES * len(parts)


@settings(max_examples=settings.default.max_examples // 3)
@given(SHAPES, st.integers(1, 300), st.integers(1, 9), st.data())
def test_the_memory_of_records_is_counted_whatever_they_hold(records, times, step, data):
    whole = sliced(records * times)
    begin = data.draw(st.integers(0, len(whole) - 1))

    def owned():
        each = [whole.at(np.arange(begin, len(whole), step)).owned() for _ in range(3)]
        cut = whole.at(slice(begin, None)).owned()
        return [*each, cut, cut.between(int(cut.offset[len(cut) // 2]), 1 << 40)]

    assert_counted(*allocated(owned))


@pytest.mark.parametrize(
    "record",
    [
        (None, b"{}", (("h", b"x" * 4096),)),
        (b"k" * 4096, b"{}", ()),
        (b"k", None, ()),
        (None, b"x" * 20, ()),
        (None, b"x" * 1000, ()),
        (None, b"v", (("", None),) * 20),
    ],
)
def test_one_record_of_many_keeps_no_other_in_memory(record):
    def parts():
        whole = sliced([record] * 2000)
        return [whole.between(7, 9).owned(), whole.at(np.arange(0, 2000, 500)).owned()]

    assert_counted(*allocated(parts))


@given(RECORDS, st.data())
def test_records_with_data_of_their_own_are_the_same(records, data):
    found = sliced(records)
    which = data.draw(st.lists(st.sampled_from(range(len(records))), unique=True).map(sorted))
    some = found.at(np.array(which, np.int64))
    assert content(some.owned()) == content(some)
