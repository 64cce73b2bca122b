"""Texts of dates and times against datetime."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats.time_texts import times
from aggregator.tables.column_type import column_type

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read(kind, *texts, zone="UTC"):
    """Returns the numbers of texts, with "bad" for bad ones."""
    numbers, bad = times(column_type(kind), pa.array(texts, pa.large_string()), zone)
    assert numbers.type == column_type(kind).arrow
    return [
        "bad" if each else number for number, each in zip(numbers.to_pylist(), bad, strict=True)
    ]


moments = st.datetimes(datetime(1970, 1, 1), datetime(2106, 2, 7, 6, 28, 15)).map(
    lambda moment: moment.replace(microsecond=0)
)


@given(st.lists(st.none() | moments, max_size=5))
def test_times_are_seconds_since_1970(found):
    texts = [moment and str(moment) for moment in found]
    seconds = [
        moment and (moment.replace(tzinfo=UTC) - EPOCH) // timedelta(seconds=1) for moment in found
    ]
    assert read("DateTime", *texts) == seconds
    assert read("DateTime", *[text and text.replace(" ", "T") for text in texts]) == seconds
    assert read("DateTime", *[each if each is None else str(each) for each in seconds]) == seconds
    millis = [each if each is None else each * 1000 for each in seconds]
    assert read("DateTime64(3)", *texts) == millis


@given(st.dates(date(1970, 1, 1), date(2149, 6, 6)))
def test_dates_are_days_since_1970(day):
    days = (day - date(1970, 1, 1)).days
    assert read("Date", str(day)) == read("Date32", str(day)) == [days]


# polars knows no summer time after 2099.
@given(
    moments.filter(lambda moment: moment.year < 2100),
    st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Kolkata"]),
)
def test_a_time_without_an_offset_is_in_the_columns_zone_else_in_the_servers(moment, zone):
    local = moment.replace(tzinfo=ZoneInfo(zone))
    if local.astimezone(UTC).astimezone(local.tzinfo).replace(tzinfo=None) != moment:
        assert read("DateTime", str(moment), zone=zone) == ["bad"]
        return
    seconds = int(local.timestamp())
    expected = [seconds if 0 <= seconds < 2**32 else "bad"]
    if moment == datetime(1970, 1, 1):
        # It also stands for 0000-00-00, in each time zone.
        expected = [max(seconds, 0)]
    assert read("DateTime", str(moment), zone=zone) == expected
    assert read(f"DateTime('{zone}')", str(moment), zone="Asia/Tokyo") == expected


@given(moments, st.integers(-14 * 60, 14 * 60))
def test_a_time_with_an_offset_is_exact(moment, minutes):
    zoned = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    seconds = (zoned - EPOCH) // timedelta(seconds=1)
    expected = [seconds if 0 <= seconds < 2**32 else "bad"]
    assert read("DateTime", zoned.isoformat(), zone="Asia/Tokyo") == expected


@given(
    st.datetimes(datetime(1970, 1, 1), datetime(2106, 1, 1)),
    st.integers(0, 9),
    st.integers(-14 * 60, 14 * 60),
)
def test_a_fraction_finer_than_the_column_is_dropped_towards_the_past(moment, scale, minutes):
    zoned = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    micros = (zoned - EPOCH) // timedelta(microseconds=1)
    ticks, seconds = micros * 10**scale // 10**6, micros // 10**6
    texts = (zoned.isoformat(), f"{Decimal(micros).scaleb(-6):.6f}")
    expected = seconds if 0 <= seconds < 2**32 else "bad"
    assert read("DateTime", *texts) == [expected, expected]
    # A larger number would be ticks.
    is_small = not scale or abs(seconds) < 10**9 * scale - 1
    kind = f"DateTime64({scale})"
    assert read(kind, *texts[: 1 + is_small]) == [ticks] * (1 + is_small)


def test_z_is_utc():
    assert read("DateTime", "1970-01-01T00:00:05Z", zone="Asia/Tokyo") == [5]


@pytest.mark.parametrize(
    ("kind", "text", "ticks"),
    [
        ("DateTime64(3)", "1970-01-01 00:00:01.5", 1500),
        ("DateTime64(3)", "1970-01-01 00:00:01.123456", 1123),
        ("DateTime64(6)", "1970-01-01T00:00:01.000001Z", 1_000_001),
        ("DateTime64(0)", "1970-01-01 00:00:07", 7),
        ("DateTime64(3)", "1969-12-31 23:59:59.5", -500),
        ("DateTime64(3)", "1969-12-31 23:59:59.9991", -1),
        ("DateTime64(3)", "1970-01-01T00:00:01.1239999999999Z", 1123),
        ("DateTime64(3)", "1970-01-02", 86_400_000),
        ("DateTime64(3)", "1.25", 1250),
        ("DateTime64(3)", "-1.25", -1250),
        ("DateTime64(3)", "-1.2501", -1251),
        ("DateTime64(3)", "-1.2500000000001", -1251),
        ("DateTime64(3)", "-1.2500000000000", -1250),
        ("DateTime64(9)", "-1.0000000000001", -1_000_000_001),
        ("DateTime64(3)", "1700000000", 1_700_000_000_000),
        ("DateTime64(3)", "1700000000123", 1_700_000_000_123),
        ("DateTime64(3)", "1700000000123.9", 1_700_000_000_123),
        ("DateTime64(3)", "-1700000000123.9", -1_700_000_000_124),
        ("DateTime64(6)", "1700000000123456", 1_700_000_000_123_456),
        ("DateTime", "1970-01-02", 86_400),
        ("DateTime", "2020-02-01T00:00:00.900Z", 1_580_515_200),
        ("DateTime", "1970-01-01 00:00:01.999999999", 1),
        ("DateTime", "1.9", 1),
        ("DateTime", "0000-00-00 00:00:00", 0),
        ("Date", "0000-00-00", 0),
        ("Date32", "1925-01-01", -16_436),
    ],
)
def test_other_forms(kind, text, ticks):
    assert read(kind, "not a time", text, None) == ["bad", ticks, None]


@pytest.mark.parametrize("kind", ["Date", "DateTime", "DateTime64(3)"])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "2013-02-29",
        "2013-13-01",
        "2013-00-01",
        "2013-01-00",
        "0000-00-01",
        "2013/01/01",
        "2013-1-1",
        "2013-02-29 00:00:00",
        "2013-01-01 24:00:00",
        "2013-01-01 00:60:00",
        "2013-01-01 00:00:60",
        "2013-01-01_00:00:00",
        "2013-01-01 00-00:00",
        "2013-01-01 00:00:0x",
        " 2013-01-01 00:00:00",
        "2013-01-01 00:00:00 ",
        "2013-01-01 00:00:00+1",
        "2013-01-01 00:00:00+24:00",
        "2013-01-01T00:00:00-00:60",
        "2013-01-01T00:00:00.5+99:99",
        "٢٠١٣-٠١-٠١",
        "99999999999999999999",
        "true",
    ],
)
def test_what_is_no_time_is_bad(kind, text):
    assert read(kind, text, "2013-01-01" + " 00:00:00" * (kind != "Date"))[0] == "bad"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("Date", "1969-12-31"),
        ("Date", "2149-06-07"),
        ("Date", "5"),
        ("Date32", "1899-12-31"),
        ("DateTime", "1969-12-31 23:59:59"),
        ("DateTime", "2106-02-07 06:28:16"),
        ("DateTime", "-1"),
        ("DateTime", "4294967296"),
        ("DateTime", "1969-12-31T23:59:59.9Z"),
        ("DateTime", "-0.5"),
        ("DateTime('Europe/Berlin')", "1960-01-01 00:00:00"),
        ("DateTime64(9)", "2300-01-01 00:00:00"),
        ("DateTime64(9)", "2300-01-01T00:00:00.5Z"),
        ("DateTime64(9)", "1600-01-01 00:00:00"),
    ],
)
def test_what_a_column_cannot_hold_is_bad(kind, text):
    assert read(kind, text) == ["bad"]


def test_a_time_before_1970_is_one_in_each_zone():
    before = datetime(1960, 1, 1, tzinfo=ZoneInfo("Europe/Berlin")).timestamp()
    assert read("DateTime64(3, 'Europe/Berlin')", "1960-01-01 00:00:00") == [int(before * 1000)]


def test_no_date_is_the_first_second_in_each_zone():
    assert read("DateTime('Europe/Berlin')", "0000-00-00 00:00:00") == [0]
