"""Restore range: offsets as they are typed, and the objects that may hold records of a time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats.record_slice import NO_TIME
from aggregator.restore.restore_range import BadRange, OffsetRange, RestoreRange, parsed_offsets
from tests.aggregator.restore.told import told

TIMES = st.integers(-20, 20).filter(lambda at: at != NO_TIME)


def test_offsets_are_open_at_either_end():
    found = parsed_offsets(["3:100-200", "4:100-", "5:-200", "6:-"])
    assert found == {
        3: OffsetRange(100, 200),
        4: OffsetRange(100),
        5: OffsetRange(0, 200),
        6: OffsetRange(),
    }
    wanted = RestoreRange(offsets=found)
    assert (wanted.of(4), wanted.of(7)) == (OffsetRange(100), None)
    assert RestoreRange().of(7) == OffsetRange()


@pytest.mark.parametrize(
    ("texts", "text"),
    [
        (["3"], "no range"),
        (["3:x-"], "no range"),
        (["3:1-2-3"], "no range"),
        (["3:5-5"], "empty"),
        (["3:-0"], "empty"),
        (["3:1-2", "3:4-5"], "already"),
    ],
)
def test_what_is_no_range_is_named(texts, text):
    with pytest.raises(BadRange, match=text):
        parsed_offsets(texts)


@given(st.lists(TIMES, min_size=1), st.none() | TIMES, st.none() | TIMES)
def test_an_object_is_passed_over_only_if_none_of_its_records_is_of_the_time(times, since, until):
    wanted = RestoreRange(since_ms=since, until_ms=until)
    each = told(0, len(times), first_ms=min(times), last_ms=max(times))
    holds = any((since is None or since <= at) and (until is None or at < until) for at in times)
    assert wanted.may_hold(each) or not holds


def test_objects_without_records_or_times_are_passed_over():
    assert not RestoreRange().may_hold(told(0, 3, left_out=3))
    timeless = told(0, 3, first_ms=-1, last_ms=-1)
    assert RestoreRange().may_hold(timeless)
    assert not RestoreRange(since_ms=0).may_hold(timeless)
