import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.carrier.lag_clock import ENDS_MAX, LagClock


def test_a_mirror_that_keeps_up_is_not_behind_however_busy_its_source():
    clock = LagClock()
    for second in range(1000):
        # What came since the last look is still under way.
        assert clock.seconds(second, source_end=100 * second + 7, mirrored_to=100 * second) == 0


@pytest.mark.parametrize("behind", [5, 50, 500, 5000])
def test_a_mirror_that_follows_at_a_distance_is_so_long_behind(behind):
    clock = LagClock()
    for second in range(2 * behind + 500):
        found = clock.seconds(second, 100 * (second + 1), max(0, 100 * (second + 1 - behind)))
    assert behind * 0.875 - 1 <= found <= behind


def test_what_stands_still_is_behind_since_the_first_record_it_has_not():
    clock = LagClock()
    assert clock.seconds(100.0, 5, 5) == 0
    found = [clock.seconds(100.0 + each, 6 + each, 5) for each in range(1, 200)]
    assert found == [each - 1 for each in range(1, 200)]


def test_what_was_far_behind_and_has_caught_up_is_behind_no_more():
    clock = LagClock()
    clock.seconds(0.0, 1000, 0)
    assert clock.seconds(60.0, 1000, 999) == 60
    assert clock.seconds(61.0, 1000, 1000) == 0
    assert clock.seconds(62.0, 1001, 1000) == 0


def test_a_log_that_was_cut_is_not_behind_for_what_it_lost():
    clock = LagClock()
    clock.seconds(0.0, 1000, 100)
    assert clock.seconds(5.0, 100, 100) == 0
    assert clock.seconds(6.0, 101, 100) == 0


@given(st.lists(st.tuples(st.integers(0, 50), st.floats(0, 1)), max_size=300))
def test_it_says_nothing_only_where_nothing_is_missing_and_remembers_little(steps):
    clock, end, mirrored = LagClock(), 0, 0
    for now, (grown, part) in enumerate(steps):
        end += grown
        mirrored += int((end - mirrored) * part)
        found = clock.seconds(float(now), end, mirrored)
        assert 0 <= found <= now
        assert found == 0 or end > mirrored
        assert len(clock._ends) <= ENDS_MAX
