import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from balancer.demand.look_back import HOUR_MS, PERCENT, LookBack
from balancer.demand.window import Rate, Window
from balancer.demand.window_columns import WindowColumns
from balancer.plan import TopicPartition
from tests.balancer.demand.sustained import sustained

MINUTE = 60_000
NOON = 1_700_000_000_000 // HOUR_MS * HOUR_MS
A, B, C = (TopicPartition("t", number) for number in range(3))


def minute(at, rate, length=1):
    """Returns a window with `rate` records of ten bytes a second.

    Args:
        at: start of the window, in minutes after noon.
        length: length of the window in minutes.
    """
    records = rate * 60 * length
    return Window(NOON + at * MINUTE, NOON + (at + length) * MINUTE, records * 10, records)


def filled(*windows, place=A):
    back = LookBack()
    for window in windows:
        back.add({place: window})
    return back


def rate_of(*windows, end_ms=HOUR_MS):
    return filled(*windows).rates(end_ms)[A]


# -- the last hour

TOLD = st.lists(
    st.tuples(
        st.integers(0, 3),  # the partition
        st.integers(0, 400_000),  # milliseconds without a window before it
        st.integers(1, 900_000),
        st.integers(0, 1 << 40),
        st.integers(0, 1 << 30),
    ),
    max_size=80,
)


@given(TOLD, st.integers(0, 2 * HOUR_MS))
@settings(deadline=None)
def test_a_rate_is_what_the_windows_of_the_last_hour_sustained(told, later_ms):
    back = LookBack()
    windows = {}
    ends = {}
    for number, idle_ms, length_ms, taken, records in told:
        place = TopicPartition("t", number)
        begin = ends.get(place, NOON) + idle_ms
        ends[place] = begin + length_ms
        window = Window(begin, begin + length_ms, taken, records)
        windows.setdefault(place, []).append(window)
        back.add({place: window})
    now_ms = max(ends.values(), default=NOON) + later_ms
    expected = {place: sustained(some, now_ms) for place, some in windows.items()}
    found = back.rates(now_ms)
    for place, rate in expected.items():
        if rate is not None:
            assert found[place] == pytest.approx(rate)


@given(st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=1, max_size=70))
@settings(deadline=None)
def test_partitions_that_are_looked_at_together_are_told_apart(table):
    back = LookBack()
    windows = [
        {TopicPartition("t", number): minute(at, rate) for number, rate in enumerate(row) if rate}
        for at, row in enumerate(table)
    ]
    for look in windows:
        back.add(look)
    now_ms = NOON + len(table) * MINUTE
    for number in range(4):
        place = TopicPartition("t", number)
        mine = [look[place] for look in windows if place in look]
        expected = sustained(mine, now_ms)
        if expected:
            assert back.rates(now_ms)[place] == pytest.approx(expected)
        else:
            assert bool(mine) == (place in back.rates(now_ms))


def test_a_window_that_is_told_again_or_lies_over_another_is_left_out():
    windows = [minute(0, 1), minute(1, 1), minute(2, 100)]
    back = filled(*windows, *windows, minute(1, 9, length=3))
    now_ms = NOON + 4 * MINUTE
    assert back.rates(now_ms)[A] == pytest.approx(sustained(windows, now_ms))


def test_a_single_burst_is_not_what_is_planned_for_and_a_long_one_is():
    end_ms = NOON + HOUR_MS
    calm = [minute(at, 1) for at in range(60)]
    assert rate_of(*calm[:-1], minute(59, 100), end_ms=end_ms) == Rate(10, 1)
    long = [minute(50 + at, 100) for at in range(10)]
    assert rate_of(*calm[:50], *long, end_ms=end_ms) == Rate(1000, 100)


@pytest.mark.parametrize(("longer_ms", "rate"), [(0, 1000), (1, 100_000)])
def test_exactly_a_twentieth_of_the_hour_is_a_burst_and_any_more_is_not(longer_ms, rate):
    begin_ms = HOUR_MS - HOUR_MS // 20 - longer_ms
    calm = Window(0, begin_ms, begin_ms, 0)
    burst = Window(begin_ms, HOUR_MS, 100 * (HOUR_MS - begin_ms), 0)
    assert rate_of(calm, burst) == Rate(rate, 0)


@pytest.mark.parametrize(("minutes", "rate"), [(30, 10_000), (15, 7500), (7.5, 6250), (3, 5500)])
def test_the_less_of_the_hour_is_known_the_more_its_mean_counts(minutes, rate):
    length_ms = int(minutes * MINUTE)
    idle = Window(HOUR_MS - 2 * length_ms, HOUR_MS - length_ms, 0, 0)
    busy = Window(HOUR_MS - length_ms, HOUR_MS, 10 * length_ms, 0)
    assert rate_of(idle, busy) == pytest.approx(Rate(rate, 0))


def test_of_a_window_that_had_begun_before_only_the_rest_counts():
    idle = Window(NOON - 24 * HOUR_MS, NOON, 0, 0)
    busy = [minute(at, 1) for at in range(59)]
    assert rate_of(idle, *busy, end_ms=NOON + 59 * MINUTE) == Rate(10, 1)


def test_windows_count_by_their_length():
    short = [Window(at, at + 1000, 10**9, 10**6) for at in range(HOUR_MS - 10_000, HOUR_MS, 1000)]
    assert rate_of(Window(0, HOUR_MS - 10_000, 3590, 3590), *short) == Rate(1, 1)


def test_bytes_and_records_are_looked_at_apart():
    large = Window(0, HOUR_MS // 2, 1800 * 10**6, 1800)
    many = Window(HOUR_MS // 2, HOUR_MS, 1800, 1800 * 10**6)
    assert rate_of(large, many) == Rate(10**6, 10**6)


@given(
    st.lists(st.tuples(st.integers(1, 120), st.integers(0, 99)), min_size=1, max_size=29),
    st.integers(0, 99),
)
def test_for_no_more_than_the_rest_of_the_hour_the_rate_was_higher(told, last):
    told = [*told, (3600 - sum(seconds for seconds, _ in told), last)]
    windows, begin_ms = [], 0
    for seconds, rate in told:
        end_ms = begin_ms + seconds * 1000
        windows.append(Window(begin_ms, end_ms, rate * seconds, 0))
        begin_ms = end_ms
    found = rate_of(*windows).bytes_per_second
    higher = sum(seconds for seconds, rate in told if rate > found + 1e-9)
    assert 100 * higher <= (100 - PERCENT) * 3600
    assert min(rate for _, rate in told) - 1e-9 <= found


# -- the day


def test_without_a_window_in_the_last_hour_the_busiest_ten_minutes_of_the_day_count():
    quiet = [minute(at, 1) for at in range(10)]
    busy = [minute(10 + at, at) for at in range(10)]
    back = filled(*quiet, *busy, minute(20, 2))
    assert back.rates(NOON + 3 * HOUR_MS) == {A: Rate(45.0, 4.5)}
    assert back.rates(NOON + 25 * HOUR_MS) == {A: Rate(45.0, 4.5)}
    assert back.rates(NOON + 26 * HOUR_MS) == {}


def test_a_burst_within_ten_minutes_counts_for_what_it_was_of_them():
    back = filled(minute(0, 1000), *(minute(at, 0) for at in range(1, 10)), minute(10, 0))
    assert back.rates(NOON + 2 * HOUR_MS) == {A: Rate(1000.0, 100.0)}


def test_ten_minutes_that_were_not_seen_to_their_end_count_too():
    assert filled(minute(3, 7)).rates(NOON + 2 * HOUR_MS) == {A: Rate(70.0, 7.0)}


@given(
    st.lists(st.tuples(st.integers(0, 35 * 6), st.integers(0, 1000)), max_size=60),
    st.integers(0, 12 * 60),
)
@settings(deadline=None)
def test_of_the_day_the_highest_counts_until_its_hour_is_a_day_old(told, later_minutes):
    """Adds sums as a history does, in any order and twice."""
    back = LookBack()
    last = max((at for at, _ in told), default=0)
    for at, rate in sorted(told, key=lambda pair: pair[0]) + told[::-1]:
        back.add_coarse({A: minute(10 * at, rate, length=10)})
    now_ms = NOON + (10 * (last + 1) + later_minutes) * MINUTE
    counted = [rate for at, rate in told if (at // 6 + 1) * HOUR_MS + NOON > now_ms - 25 * HOUR_MS]
    expected = {A: Rate(max(counted) * 10.0, float(max(counted)))} if counted else {}
    assert back.rates(now_ms) == expected


def test_the_windows_of_the_last_hour_go_before_what_the_day_had():
    back = LookBack()
    back.add_coarse({A: minute(0, 100, length=10), B: minute(0, 50, length=10)})
    back.add({A: minute(70, 1)})
    assert back.rates(NOON + 71 * MINUTE) == {A: Rate(10.0, 1.0), B: Rate(500.0, 50.0)}


# -- fresh, kept and forgotten partitions


def test_fresh_are_those_whose_last_window_is_no_older_and_not_in_the_future():
    back = filled(minute(0, 1))
    back.add({B: minute(5, 1)})
    back.add_coarse({C: minute(0, 1, length=10)})
    assert back.fresh(NOON + 6 * MINUTE, 2 * MINUTE) == {B}
    assert back.fresh(NOON + 6 * MINUTE, 5 * MINUTE) == {A, B}
    assert back.fresh(NOON, 2 * MINUTE) == {A}


def test_what_is_not_kept_is_forgotten_and_its_place_used_for_another():
    back = filled(*(minute(at, 5) for at in range(20)))
    back.add({B: minute(0, 1)})
    back.keep({B}, NOON)
    back.add({C: minute(0, 3)})
    assert len(back) == 2
    assert back.rates(NOON + MINUTE) == {B: Rate(10.0, 1.0), C: Rate(30.0, 3.0)}
    assert back.rates(NOON + 2 * HOUR_MS) == {B: Rate(10.0, 1.0), C: Rate(30.0, 3.0)}


def test_partitions_that_come_and_go_take_no_more_room_than_there_are_at_once():
    back = LookBack()
    for turn in range(50):
        places = [TopicPartition(f"t{turn}", number) for number in range(10)]
        back.add({place: minute(turn, 1) for place in places})
        back.keep(places, NOON)
    assert len(back) == 10
    assert back._room <= 25


def test_a_clock_that_was_a_day_ahead_for_a_while_does_not_keep_right_windows_out():
    back = filled(minute(0, 1), minute(24 * 60, 1), minute(1, 1))
    assert back.fresh(NOON + 24 * HOUR_MS + MINUTE, 0) == {A}
    back.keep({A}, NOON + 2 * MINUTE)
    back.add({A: minute(2, 5)})
    assert back.rates(NOON + 3 * MINUTE) == {A: Rate(50.0, 5.0)}
    assert back.rates(NOON + 2 * HOUR_MS) == {A: Rate(50.0, 5.0)}


def test_a_hundred_thousand_partitions_are_computed_within_seconds():
    """Takes 0.8 s on two cores; the limit leaves room for slower machines."""
    places = tuple(TopicPartition(f"t{number // 100}", number % 100) for number in range(100_000))
    back = LookBack()
    drawn = np.random.default_rng(7)
    for at in range(60):
        begins = np.full(len(places), NOON + at * MINUTE)
        columns = (drawn.integers(0, 10**8, len(places)) for _ in range(2))
        back.add(WindowColumns(places, begins, begins + MINUTE, *columns))
    began = time.perf_counter()
    assert len(back.rates(NOON + HOUR_MS)) == len(places)
    assert time.perf_counter() - began < 5.0
