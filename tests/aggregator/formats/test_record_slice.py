"""Record slices: copied, joined and cut, the records stay the same ones."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats.record_fields import split
from aggregator.formats.record_slice import SLICE_RECORDS, RecordSlice, gathered, joined
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
