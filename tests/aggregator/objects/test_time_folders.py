"""Time folders: as strftime names them in the zone, whatever the clocks do."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from aggregator.objects.time_folders import NEVER, time_folders

PATTERN = "year=%Y/month=%m/day=%d/hour=%H"
NOTHING = (
    "year=__HIVE_DEFAULT_PARTITION__/month=__HIVE_DEFAULT_PARTITION__"
    "/day=__HIVE_DEFAULT_PARTITION__/hour=__HIVE_DEFAULT_PARTITION__"
)
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Africa/Monrovia"]
MILLISECONDS = st.one_of(
    st.integers(0, 200_000_000_000),
    st.integers(1_350_000_000_000, 1_400_000_000_000),
    st.integers(-5, 5),
    st.integers(-30_000_000_000_000, 0),
    st.just(NEVER),
)


def folders(pattern, zone, times):
    found = time_folders(pattern, ZoneInfo(zone), np.array(times, np.int64))
    return [found.names[number] for number in found.number]


@given(st.sampled_from(ZONES), st.booleans(), st.lists(MILLISECONDS, min_size=1, max_size=20))
def test_each_time_is_in_the_folder_that_strftime_names(zone, by_minute, times):
    pattern = f"{PATTERN}/minute=%M" if by_minute else PATTERN
    nothing = f"{NOTHING}/minute=__HIVE_DEFAULT_PARTITION__" if by_minute else NOTHING
    assert folders(pattern, zone, times) == [
        nothing
        if time == NEVER
        else datetime.fromtimestamp(time / 1000, ZoneInfo(zone)).strftime(pattern)
        for time in times
    ]


def test_the_hour_that_is_twice_in_autumn_is_one_folder_and_the_one_left_out_in_spring_none():
    autumn = [datetime(2026, 10, 25, hour, 30, tzinfo=UTC).timestamp() * 1000 for hour in (0, 1)]
    spring = [datetime(2026, 3, 29, hour, 30, tzinfo=UTC).timestamp() * 1000 for hour in (0, 1)]
    assert folders("hour=%H", "Europe/Berlin", autumn) == ["hour=02", "hour=02"]
    assert folders("hour=%H", "Europe/Berlin", spring) == ["hour=01", "hour=03"]


def test_a_time_beyond_every_calendar_is_no_time():
    found = folders("kind=x/year=%Y", "UTC", [1 << 62, -(1 << 62), NEVER])
    assert found == ["kind=x/year=__HIVE_DEFAULT_PARTITION__"] * 3
