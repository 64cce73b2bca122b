"""Offset order: objects whose offsets interleave are merged, and none of them is read too early."""

from __future__ import annotations

from functools import partial

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.restore.offset_order import SortedChunks, in_offset_order
from aggregator.restore.restore_plan import CannotRestore


def chunks(offsets, size, opened=None):
    """Yields tables of these offsets, `size` records each."""
    if opened is not None:
        opened.append(offsets)
    for first in range(0, len(offsets), size):
        part = offsets[first : first + size]
        yield pa.table({"offset": pa.array(part, pa.int64()), "value": [f"v{at}" for at in part]})


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=60),
    st.integers(1, 7),
    st.integers(1, 20),
)
def test_records_come_in_the_order_of_the_topic_each_once(homes, size, object_records):
    objects, opened = [], []
    for home in set(homes):
        offsets = [at for at, each in enumerate(homes) if each == home]
        for first in range(0, len(offsets), object_records):
            part = offsets[first : first + object_records]
            make = partial(chunks, part, size, opened)
            objects.append(SortedChunks(f"{home}-{first}", part[0], make))
    seen = 0
    for table in in_offset_order(reversed(objects)):
        assert len(table)
        assert all(offsets[0] <= table["offset"][-1].as_py() + size * 5 for offsets in opened)
        for row in table.to_pylist():
            assert row == {"offset": seen, "value": f"v{seen}"}
            seen += 1
    assert seen == len(homes)


def test_an_object_is_opened_once_its_first_record_is_due():
    opened = []
    objects = [
        SortedChunks(f"{first}", first, partial(chunks, [first, first + 1], 1, opened))
        for first in (0, 10, 20)
    ]
    found = in_offset_order(objects)
    assert next(found)["offset"].to_pylist() == [0]
    assert opened == [[0, 1]]
    assert [each["offset"].to_pylist() for each in found] == [[1], [10], [11], [20], [21]]


def test_objects_that_hold_nothing_are_passed_over():
    empty = SortedChunks("empty", 5, lambda: iter(()))
    full = SortedChunks("full", 3, partial(chunks, [3, 9], 5))
    assert [each["offset"].to_pylist() for each in in_offset_order([empty, full])] == [[3, 9]]
    assert list(in_offset_order([empty])) == []
    assert list(in_offset_order([])) == []


def test_a_record_that_two_objects_hold_is_named_with_both():
    objects = [
        SortedChunks("one", 0, partial(chunks, [0, 4, 7], 5)),
        SortedChunks("two", 3, partial(chunks, [3, 7, 8], 5)),
    ]
    with pytest.raises(CannotRestore, match="offset 7 is in one and in two: the topic was"):
        list(in_offset_order(objects))
