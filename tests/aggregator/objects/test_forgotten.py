"""Forgotten ranges: no offset of a forgotten object is left out, however many there are."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.objects.forgotten import RANGES_MAX, Forgotten, Log, Removed, decoded
from aggregator.objects.object_name import is_file
from aggregator.objects.told_object import UnreadableObject, decode
from tests.aggregator.restore.told import told

LOG = Log("east aggregate", "t", 3, 7)

objects = st.builds(
    lambda begin, size, ms: told(begin, begin + size, partition=3, first_ms=ms, last_ms=ms),
    st.integers(0, 2000),
    st.integers(1, 5),
    st.integers(-1, 50),
)


@given(st.lists(st.lists(objects, max_size=200), max_size=3))
def test_each_forgotten_offset_is_in_a_range_and_ranges_are_few_and_apart(runs):
    found, gone = Forgotten(LOG), []
    for at, some in enumerate(runs):
        found, gone = found.with_objects(some, at), gone + some
    assert all(found.has(at) for each in gone for at in (each.begin, each.end - 1))
    assert found.end == max((each.end for each in gone), default=0)
    assert found.objects == len(gone)
    assert found.records == sum(each.records for each in gone)
    assert len(found.ranges) <= RANGES_MAX
    assert all(a.end < b.begin for a, b in zip(found.ranges, found.ranges[1:], strict=False))
    for each in gone:
        (held,) = found.within(each.begin, each.begin + 1)
        assert held.last_ms >= each.last_ms
        assert each.first_ms < 0 or 0 <= held.first_ms <= each.first_ms
    assert decoded(found.key, found.encode()) == found
    assert len(found.encode()) < 10_000


def test_few_ranges_have_no_offset_that_is_not_forgotten():
    found = Forgotten(LOG).with_objects([told(0, 10), told(10, 20), told(30, 40)], 1)
    assert [each[:4] for each in found.ranges] == [(0, 20, 2, 20), (30, 40, 1, 10)]
    assert not found.has(20) and found.has(30)
    assert str(found.ranges[0]) == "20 records of 2 objects, offsets 0 to 19"


def test_a_range_without_a_record_in_an_object_counts_as_none():
    found = Forgotten(LOG).with_objects([told(0, 10, left_out=10)], 1)
    assert (found.objects, found.records, found.end) == (0, 0, 10)


def test_records_of_the_topic_are_told_apart():
    one = told(0, 10)
    assert decoded(one.key.encode(), one.encode()) == one
    assert decoded(one.key.encode(), None) == Removed(one.key)
    # Also an object below a prefix of this name.
    other = told(0, 10, key="forgotten/t/0/t+0+0000000000.parquet")
    assert decoded(other.key.encode(), other.encode()) == other
    key = Forgotten(LOG).key
    assert key == b"forgotten/east aggregate/t/3/7"
    assert not is_file(key.decode().rpartition("/")[2])


@pytest.mark.parametrize("value", [b"", b"[]", b"{}", b'{"forgotten":[[1]]}', b"no"])
def test_a_record_that_cannot_be_read_is_named(value):
    with pytest.raises(UnreadableObject, match="newer version"):
        decoded(Forgotten(LOG).key, value)
    with pytest.raises(UnreadableObject, match="newer version"):
        decoded(b"topics/t/p=0/t+0+0000000000.parquet", value)


def test_a_newer_version_may_tell_more_and_an_older_one_refuses_to_read_on():
    found = Forgotten(LOG).with_objects([told(0, 10)], 1)
    fields = json.loads(found.encode())
    more = {**fields, "more": 1, "forgotten": [[*fields["forgotten"][0], "more"]]}
    assert decoded(found.key, json.dumps(more).encode()) == found
    with pytest.raises(UnreadableObject):
        decode(found.key, found.encode())
