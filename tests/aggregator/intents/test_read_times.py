"""Read times: a record that is read again counts from its first reading, within one part of the
time that lies between."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from aggregator.intents.read_times import POINTS_MAX, STEP_MS, ReadTimes, set_back

READS = st.lists(st.tuples(st.integers(1, 50), st.floats(0, 90)), min_size=1, max_size=60)


@given(READS, st.lists(st.integers(0, 3), min_size=60, max_size=60))
def test_no_loader_takes_a_record_for_younger_than_it_is(reads, hand_overs):
    """Each read is some records, and some seconds after the one before."""
    times, begins, read_at, now, end = ReadTimes(), [], [], 0.0, 0
    for (count, seconds), is_handed_over in zip(reads, hand_overs, strict=False):
        now += seconds
        times.note(end, now)
        begins.append(end)
        read_at.append(now)
        end += count
        if not is_handed_over:
            times = ReadTimes(end, times.behind(0))
    points = times.behind(0)
    assert len(points) <= POINTS_MAX
    taker = ReadTimes(end, points)
    for offset in range(end):
        true = read_at[bisect_right(begins, offset) - 1]
        found = taker.since(offset, now + 1000)
        assert found <= true + 0.001
    # The oldest object is as old as it is.
    assert abs(taker.since(0, now + 1000) - read_at[0]) < 0.001
    assert taker.since(end, now) == now


def test_records_keep_their_age_if_a_loader_ends_before_it_has_read_them_again():
    times = ReadTimes()
    times.note(0, 1.0)
    times.note(20, 9.0)
    between = ReadTimes(50, times.behind(0, 50))
    taker = ReadTimes(10, between.behind(5, 10))
    assert [taker.since(offset, 30.0) for offset in (5, 19, 20, 49)] == [1.0, 1.0, 9.0, 9.0]
    assert taker.since(50, 30.0) == 30.0
    # Once all is read again, what comes behind it is younger.
    taker.note(50, 30.0)
    assert [each.offset for each in taker.behind(5, 60)] == [0, 20, 50]
    assert ReadTimes(60, taker.behind(5, 60)).since(50, 40.0) == 30.0


@given(st.lists(st.integers(-3600, 3600), min_size=1, max_size=8))
def test_records_are_no_younger_for_loaders_whose_clocks_differ(ahead):
    """Each loader reads the record again, commits after three seconds, and the next one follows."""
    points, committed_ms, now = (), 0, 10_000
    for seconds in ahead:
        clock = now + seconds
        points = set_back(points, committed_ms - clock * 1000)
        times = ReadTimes(5, points)
        if not points:
            times = ReadTimes()
            times.note(0, clock)
        assert times.since(0, clock) <= clock - (now - 10_000)
        now += 3
        points, committed_ms = times.behind(0), (clock + 3) * 1000


def test_points_are_kept_where_they_tell_most():
    times = ReadTimes()
    for second in range(600):
        times.note(second, float(second))
    points = times.behind(0)
    gaps = [later.ms - each.ms for each, later in pairwise(points)]
    assert len(points) == POINTS_MAX and max(gaps) < 600_000 / 2


def test_points_before_the_offset_are_forgotten_but_the_one_that_tells_of_it():
    times = ReadTimes()
    for at in range(4):
        times.note(10 * at, at * STEP_MS / 1000)
    assert [each.offset for each in times.behind(15)] == [10, 20, 30]
    assert [each.offset for each in times.behind(30)] == [30]


def test_a_clock_that_is_behind_makes_no_record_of_the_future():
    times = ReadTimes()
    times.note(0, 1000.0)
    assert ReadTimes(1, times.behind(0)).since(0, 900.0) == 900.0


def test_an_intent_without_times_counts_from_now():
    assert ReadTimes(9).since(3, 5.0) == 5.0
