"""Lag of a mirror, from sightings of the source's ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.mirror.carrier.lag_clock import SIGHTINGS_MAX, LagClock


def seconds(clock, now, source_end, mirrored_to, written_ms=None):
    clock.see(now, source_end, source_end)
    clock.forget(mirrored_to)
    return clock.lag_seconds(now, mirrored_to, written_ms)


def test_a_mirror_that_keeps_up_is_not_behind_however_busy_its_source():
    clock = LagClock()
    for second in range(1000):
        # Records that arrived since the last look are still under way.
        assert seconds(clock, second, 100 * second + 7, 100 * second) == 0


@pytest.mark.parametrize("behind", [5, 50, 500, 5000])
def test_a_mirror_that_follows_at_a_distance_is_so_long_behind(behind):
    clock = LagClock()
    for second in range(2 * behind + 500):
        found = seconds(clock, second, 100 * (second + 1), max(0, 100 * (second + 1 - behind)))
    assert behind - 1 <= found <= behind * 1.125 + 1


@pytest.mark.parametrize("behind", [50, 5000])
def test_true_timestamps_say_exactly_how_long(behind):
    clock = LagClock()
    for second in range(2 * behind + 500):
        mirrored_to = max(0, 100 * (second + 1 - behind))
        found = seconds(clock, second, 100 * (second + 1), mirrored_to, mirrored_to * 10 - 500)
    assert found == pytest.approx(behind - 0.5)


def test_what_stands_still_is_behind_since_the_first_record_it_has_not():
    clock = LagClock()
    assert seconds(clock, 100.0, 5, 5) == 0
    found = [seconds(clock, 100.0 + each, 5 + each, 5) for each in range(1, 200)]
    assert found == [each - 1 for each in range(1, 200)]


def test_what_was_far_behind_and_has_caught_up_is_behind_no_more():
    clock = LagClock()
    seconds(clock, 0.0, 1000, 0)
    assert seconds(clock, 60.0, 1000, 999) == 60
    assert seconds(clock, 61.0, 1000, 1000) == 0
    assert seconds(clock, 62.0, 1001, 1000) == 0


def test_a_log_that_was_cut_is_not_behind_for_what_it_lost():
    clock = LagClock()
    seconds(clock, 0.0, 1000, 100)
    assert seconds(clock, 5.0, 100, 100) == 0
    assert seconds(clock, 6.0, 101, 100) == 0


def test_a_new_leader_that_knows_less_for_a_moment_does_not_reset_lag():
    clock = LagClock()
    seconds(clock, 0.0, 1000, 100)
    assert seconds(clock, 5.0, 990, 100) == 5.0
    assert seconds(clock, 6.0, 1000, 100) == 6.0


def test_the_next_carrier_goes_on_where_the_one_before_left_off():
    clock = LagClock()
    seconds(clock, 0.0, 5, 5)
    seconds(clock, 1.0, 9, 5)
    assert seconds(LagClock(clock.sightings), 100.0, 12, 5) == 99.0


def test_the_clock_of_a_host_that_was_ahead_does_not_make_lag_zero_for_long():
    ahead = LagClock()
    seconds(ahead, 3600.0, 9, 5)
    clock = LagClock(ahead.sightings)
    assert seconds(clock, 10.0, 9, 5) == 0.0
    assert seconds(clock, 40.0, 9, 5) == 30.0


def test_an_open_transaction_lasts_until_its_last_stable_offset_moves():
    clock = LagClock()
    clock.see(0.0, 10, 10)
    for second in range(1, 60):
        clock.see(float(second), 10, 10 + second)
    assert clock.open_transaction_seconds(60.0) == 59.0
    assert clock.lag_seconds(60.0, 10) == 0.0
    assert clock.written_lag_seconds(60.0, 10) == 59.0
    clock.see(61.0, 80, 80)
    assert clock.open_transaction_seconds(61.0) == 0.0
    assert clock.lag_seconds(61.0, 10) == 1.0


def test_transactions_that_follow_each_other_are_not_one_that_stays_open():
    clock = LagClock()
    for second in range(200):
        clock.see(float(second), 100 * second, 100 * second + 50)
        clock.forget(100 * second)
        assert clock.open_transaction_seconds(float(second)) == 0.0


def test_a_record_could_be_read_when_it_came_or_when_it_says_if_that_can_be():
    clock = LagClock()
    clock.see(10.0, 5, 5)
    clock.see(12.0, 5, 5)
    assert clock.readable_ms(12.4, 5, 12_300) == 12_300
    assert clock.readable_ms(12.4, 5, 1) == 12_400
    assert clock.readable_ms(12.4, 5, 99_000) == 12_400


@given(st.lists(st.tuples(st.integers(0, 50), st.floats(0, 1)), max_size=300))
def test_it_says_nothing_only_where_nothing_is_missing_and_remembers_little(steps):
    clock, end, mirrored = LagClock(), 0, 0
    for now, (grown, part) in enumerate(steps):
        end += grown
        mirrored += int((end - mirrored) * part)
        found = seconds(clock, float(now), end, mirrored)
        assert found is not None and 0 <= found <= now
        assert found == 0 or end > mirrored
        assert len(clock.sightings) <= SIGHTINGS_MAX
