"""Rotation: an object ends where the first of its limits is reached."""

from __future__ import annotations

from datetime import datetime, time
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.objects.rotation import NO_TIME, Ending, Rotation

BERLIN = ZoneInfo("Europe/Berlin")
SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=12)
LIMIT = st.none() | st.integers(2, 30)


@given(LIMIT, LIMIT, st.data(), SIZES)
def test_an_object_takes_records_up_to_the_one_that_reaches_a_limit(records, size, data, more):
    before = data.draw(st.integers(0, (records or 9) - 1))
    bytes_before = data.draw(st.integers(0, (size or 9) - 1))
    taken, ending = 0, None
    total = bytes_before
    for each in more:
        taken, total = taken + 1, total + each
        if records is not None and before + taken >= records:
            ending = Ending.RECORDS
        elif size is not None and total >= size:
            ending = Ending.BYTES
        if ending:
            break
    rotation = Rotation(records_max=records, bytes_max=size)
    assert rotation.room(before, bytes_before, np.array(more, np.int64)) == (taken, ending)


@pytest.mark.parametrize(
    ("interval", "first", "times", "at"),
    [
        (10, 100, [100, 109, 110, 90, 200], 2),
        (10, 100, [99, 109], None),
        (10, 100, [], None),
        (10, 100, [NO_TIME, 110], 1),
        (10, NO_TIME, [110], None),
        (None, 100, [1000], None),
    ],
)
def test_record_time_ends_an_object_before_the_first_record_that_is_too_young(
    interval, first, times, at
):
    rotation = Rotation(interval_ms=interval)
    assert rotation.first_beyond(first, np.array(times, np.int64)) == at


def test_an_object_ends_at_its_age():
    rotation = Rotation(age_seconds=60.0)
    assert rotation.ending_by_clock(100.0, 159.9) is None
    assert rotation.ending_by_clock(100.0, 160.0) is Ending.AGE


@pytest.mark.parametrize(
    ("since", "now", "ending"),
    [
        ("2026-11-26T05:59:59", "2026-11-26T06:00:00", Ending.TIME_OF_DAY),
        ("2026-11-26T06:00:01", "2026-11-26T17:59:59", None),
        ("2026-11-26T06:00:01", "2026-11-26T18:00:00", Ending.TIME_OF_DAY),
        ("2026-11-26T18:00:01", "2026-11-27T05:59:59", None),
        ("2026-11-25T17:00:00", "2026-11-26T05:00:00", Ending.TIME_OF_DAY),
        ("2026-03-28T23:00:00", "2026-03-29T06:00:00", Ending.TIME_OF_DAY),
        ("2026-10-25T05:00:00", "2026-10-25T05:59:59", None),
    ],
)
def test_an_object_ends_at_times_of_day_in_the_zone(since, now, ending):
    rotation = Rotation(times_of_day=(time(6), time(18)), zone=BERLIN)
    begin, end = (
        datetime.fromisoformat(each).replace(tzinfo=BERLIN).timestamp() for each in (since, now)
    )
    assert rotation.ending_by_clock(begin, end) is ending
