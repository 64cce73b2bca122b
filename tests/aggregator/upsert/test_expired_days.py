"""Tests of the days that may be dropped."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aggregator.upsert.expired_days import expired_days
from aggregator.upsert.visibility import day_begin_s, day_of, shown_since_s
from tests.aggregator.upsert.upsert_visible import is_visible

DAY_S = 86_400
HOUR_MS = 3_600_000


def days(*numbers: int) -> list[int]:
    return [day_of(number * DAY_S) for number in numbers]


def test_a_day_is_dropped_once_its_last_second_is_older_than_the_retention():
    horizon_ms = 20_000 * 24 * HOUR_MS
    some = days(19_999, 19_997, 19_998, 20_001)
    assert expired_days(some, horizon_ms, 24.0) == days(19_997, 19_998)
    assert expired_days(some, horizon_ms - 1, 24.0) == days(19_997)
    assert expired_days(some, horizon_ms, 24.5) == days(19_997)
    assert expired_days(some, 0, 24.0) == []


@given(st.integers(0, 40_000), st.integers(0, 2**41), st.integers(0, 2**41), st.floats(1, 336))
def test_no_mark_from_the_horizon_on_sees_a_row_of_a_day_that_was_dropped(
    number, horizon_ms, later_ms, hours
):
    for day in expired_days(days(number), horizon_ms, hours):
        last_s = day_begin_s(day) + DAY_S - 1
        since_s = shown_since_s(horizon_ms + later_ms, hours)
        assert not is_visible(1 << 32, 9, 5, (), time_s=last_s, since_s=since_s)
