"""Moments as values of a column."""

from datetime import date, datetime, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from aggregator.formats.moments import of_moments
from aggregator.tables.column_type import column_type

UNITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
longs = st.integers(-(2**63), 2**63 - 1)
near = st.integers(-(2**40), 2**40)


def read(kind, values, arrow, timezone="UTC"):
    found, bad = of_moments(column_type(kind), pa.array(values, pa.int64()).cast(arrow), timezone)
    assert found.type == column_type(kind).arrow
    return ["bad" if each else value for value, each in zip(found.to_pylist(), bad, strict=True)]


def moments(unit):
    return pa.timestamp(unit, tz="UTC")


@given(
    st.lists(st.none() | longs | near, max_size=5),
    st.sampled_from(["s", "ms", "us", "ns"]),
    st.integers(0, 9),
)
@example([-1], "ms", 0)
@example([-(2**63)], "s", 1)
def test_a_moment_is_floored_to_the_ticks_of_its_column(values, unit, scale):
    def ticks(value):
        if value is None:
            return None
        number = Fraction(value, 10 ** UNITS[unit]) * 10**scale // 1
        return number if abs(number) < 2**63 - 2 * 10**scale else "bad"

    found = read(f"DateTime64({scale}, 'UTC')", values, moments(unit))
    at_limit = [each for each in values if each is not None and ticks(each) == "bad"]
    expected = [ticks(each) for each in values]
    # Within two seconds of the limit either answer is right.
    for one, other in zip(found, expected, strict=True):
        assert one == other or (
            at_limit and one not in ("bad", None) and abs(one) > 2**63 - 4 * 10**scale
        )


@given(st.lists(st.none() | longs | near, max_size=5))
def test_a_datetime_drops_the_fraction_of_a_second(values):
    expected = [
        each if each is None else each // 1000 if 0 <= each < 2**32 * 1000 else "bad"
        for each in values
    ]
    assert read("DateTime", values, moments("ms")) == expected


@given(st.lists(st.none() | longs | near, max_size=5))
def test_a_moment_is_the_days_of_the_server(values):
    def day(each):
        if each is None:
            return None
        if not 0 <= each < 2**32 * 1000:
            return "anything"
        local = datetime.fromtimestamp(each // 1000, ZoneInfo("America/New_York"))
        days = (local.date() - date(1970, 1, 1)).days
        return days if days >= 0 else "bad"

    found = read("Date", values, moments("ms"), "America/New_York")
    for one, other in zip(found, map(day, values), strict=True):
        assert other == "anything" or one == other


def test_a_moment_far_away_is_no_date():
    assert read("Date", [2**63 - 1, -(2**63)], moments("ms"), "Asia/Tokyo") == ["bad", "bad"]
    assert read("Date32", [2**63 - 1], pa.timestamp("s")) == ["bad"]


@given(st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1)), st.sampled_from([0, 3, 6]))
def test_a_local_time_is_in_the_time_zone_of_its_column_or_server(local, scale):
    since = (local - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    zoned = local.replace(tzinfo=ZoneInfo("America/New_York"))
    is_there = (
        zoned.astimezone(ZoneInfo("UTC")).astimezone(zoned.tzinfo).replace(tzinfo=None) == local
    )
    whole = int(zoned.replace(microsecond=0).timestamp())
    ticks = whole * 10**scale + local.microsecond * 10**scale // 10**6
    expected = [ticks if is_there else "bad"]
    column = f"DateTime64({scale}, 'America/New_York')"
    assert read(column, [since], pa.timestamp("us")) == expected
    assert read(f"DateTime64({scale})", [since], pa.timestamp("us"), "America/New_York") == expected


def test_a_local_time_before_1970_is_a_time():
    assert read("DateTime64(0, 'Europe/Berlin')", [-86_400], pa.timestamp("s")) == [-90_000]


def test_a_local_time_has_its_own_day():
    assert read("Date", [86_399], pa.timestamp("s"), "Asia/Tokyo") == [0]


def test_a_date_is_a_day_and_begins_in_utc():
    days = pa.array([0, 1, None, -1], pa.int32()).cast(pa.date32())
    for kind, expected in (
        ("Date", [0, 1, None, "bad"]),
        ("Date32", [0, 1, None, -1]),
        ("DateTime", [0, 86_400, None, "bad"]),
        ("DateTime64(3)", [0, 86_400_000, None, -86_400_000]),
    ):
        found, bad = of_moments(column_type(kind), days, "Asia/Tokyo")
        shown = ["bad" if b else v for v, b in zip(found.to_pylist(), bad, strict=True)]
        assert shown == expected, kind


def test_integers_are_days_seconds_or_ticks():
    assert read("Date", [1, 65_536], pa.int64()) == [1, "bad"]
    assert read("DateTime", [1, -1, 2**32], pa.int64()) == [1, "bad", "bad"]
    assert read("DateTime64(3)", [5, 3_000_000_000], pa.int64()) == [5000, 3_000_000_000]


def test_an_unsigned_integer_of_64_bits_is_no_time():
    found, bad = of_moments(column_type("DateTime64(0)"), pa.array([2**64 - 1], pa.uint64()), "UTC")
    assert found.to_pylist() == [None]
    assert bad.tolist() == [True]


def test_a_float_is_no_time():
    _, bad = of_moments(column_type("DateTime"), pa.array([1.0, None]), "UTC")
    assert bad.tolist() == [True, False]
