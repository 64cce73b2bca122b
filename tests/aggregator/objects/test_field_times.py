"""Field times: what Python reads from the same texts, number or ISO 8601."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.objects.partitioner import PER_SECOND, field_times
from aggregator.objects.time_folders import NEVER

BERLIN = ZoneInfo("Europe/Berlin")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LEAST, MOST = datetime(1002, 1, 1), datetime(9998, 12, 31)


def milliseconds(moment):
    return (moment - EPOCH) // timedelta(milliseconds=1)


@given(
    st.lists(st.datetimes(LEAST, MOST), min_size=1, max_size=5),
    st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=45)), timezone(-timedelta(hours=9))]),
    st.sampled_from(["T", " "]),
)
def test_a_time_with_an_offset_is_that_time(moments, zone, between):
    found = [each.replace(tzinfo=zone) for each in moments]
    texts = [each.isoformat(sep=between) for each in found]
    assert field_times(texts, "s", BERLIN).tolist() == [milliseconds(each) for each in found]


@given(st.datetimes(datetime(1980, 1, 1), datetime(2030, 1, 1)))
def test_a_time_without_an_offset_is_in_the_zone_unless_its_clock_leaves_it_out(moment):
    local = moment.replace(tzinfo=BERLIN, fold=0)  # a text has no fold
    is_left_out = local.astimezone(UTC).astimezone(BERLIN).replace(tzinfo=None) != moment
    wanted = NEVER if is_left_out else milliseconds(local)
    assert field_times([moment.isoformat()], "ms", BERLIN).tolist() == [wanted]


def test_the_hour_that_spring_leaves_out_is_no_time_and_the_one_twice_in_autumn_is_the_first():
    texts = ["2026-03-29T02:30:00", "2026-10-25T02:30:00"]
    autumn = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert field_times(texts, "ms", BERLIN).tolist() == [NEVER, milliseconds(autumn)]


@given(st.dates(date(1002, 1, 1), date(9998, 12, 31)))
def test_a_day_is_its_begin(day):
    wanted = milliseconds(datetime(day.year, day.month, day.day, tzinfo=UTC))
    assert field_times([day.isoformat()], "ms", ZoneInfo("UTC")).tolist() == [wanted]


@pytest.mark.parametrize("unit", PER_SECOND)
@given(data=st.data())
def test_a_number_counts_its_unit_since_1970(unit, data):
    first, last = (milliseconds(each.replace(tzinfo=UTC)) // 1000 for each in (LEAST, MOST))
    number = data.draw(st.integers(first * PER_SECOND[unit], last * PER_SECOND[unit]))
    wanted = number * 1000 // PER_SECOND[unit]
    assert field_times([str(number)], unit, BERLIN).tolist() == [wanted]


@given(st.decimals(0, 4_000_000_000, places=3))
def test_a_fraction_of_seconds_is_within_a_millisecond(number):
    [found] = field_times([str(number)], "s", BERLIN).tolist()
    assert abs(Decimal(found) - number * 1000) <= 1


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "no",
        "true",
        "0000-00-00",
        "0000-00-00 00:00:00",
        "2013-02-30",
        "2013-01-01T24:00:00",
        "99999999999999999999999999",
        "1e400",
        "-1e300",
        str(2**63 - 1),
        " 5",
        "+5",
        "NaN",
        "inf",
        "٣",
    ],
)
def test_other_texts_are_no_time(text):
    assert field_times([text, "5"], "ms", BERLIN).tolist() == [NEVER, 5]
