import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.demand.window import PERCENT, Rate, Window, sustained

MINUTE = 60_000
HOUR = 60 * MINUTE


def minutes(*mebibytes, begin=0):
    """Returns one window a minute, each with so many MiB a second."""
    return [
        Window(begin + at * MINUTE, begin + (at + 1) * MINUTE, (each << 20) * 60, each * 600)
        for at, each in enumerate(mebibytes)
    ]


def test_a_single_burst_is_not_what_is_planned_for_and_a_long_one_is():
    assert sustained(minutes(*[1] * 59, 100), HOUR, HOUR) == Rate(1 << 20, 10)
    assert sustained(minutes(*[1] * 50, *[100] * 10), HOUR, HOUR) == Rate(100 << 20, 1000)


@pytest.mark.parametrize("length_ms", [1, 7, 23, 1000])
def test_exactly_a_twentieth_of_the_time_is_a_burst_and_any_more_is_not(length_ms):
    calm, burst = (Window(0, length_ms, rate * length_ms, 0) for rate in (1, 100))
    assert sustained([calm] * 95 + [burst] * 5, length_ms, length_ms) == calm.rate
    assert sustained([calm] * 94 + [burst] * 5, length_ms, length_ms) == burst.rate


def test_the_less_of_the_time_is_known_the_more_its_mean_counts():
    uneven = [Window(at, at + 1000, rate, 0) for at, rate in ((0, 0), (1000, 1000))]
    means = [sustained(uneven, 2000, length_ms) for length_ms in (2000, 4000, 8000, HOUR)]
    rates = [rate.bytes_per_second for rate in means if rate]
    assert rates == pytest.approx([1000, 750, 625, 500 + 500 * 2000 / HOUR])


def test_of_a_window_that_had_begun_before_only_the_rest_counts():
    idle = Window(0, 24 * HOUR, 0, 0)
    busy = minutes(*[1] * 60, begin=24 * HOUR)
    assert sustained([idle, *busy], 25 * HOUR, HOUR + 1000) == Rate(1 << 20, 10)


def test_windows_count_by_their_length():
    long, short = Window(0, HOUR, 3600, 3600), Window(0, 1000, 10**9, 10**6)
    assert sustained([long, *[short] * 10], HOUR, HOUR) == Rate(1.0, 1.0)


def test_bytes_and_records_are_looked_at_apart():
    large = [Window(at, at + 1000, 10**6, 1) for at in range(0, 50_000, 1000)]
    many = [Window(at, at + 1000, 1, 10**6) for at in range(50_000, 100_000, 1000)]
    assert sustained(large + many, 100_000, 100_000) == Rate(1e6, 1e6)


def test_what_ended_before_the_look_back_says_nothing():
    assert sustained(minutes(5, 5), 3 * MINUTE, MINUTE) is None
    assert sustained(minutes(5, 1), 2 * MINUTE, MINUTE) == Rate(1 << 20, 10)


TOLD = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 99)), min_size=1, max_size=30)


@given(TOLD)
def test_for_no_more_than_the_rest_of_the_time_the_rate_was_higher(told):
    windows = [Window(0, seconds * 1000, rate * seconds, 0) for seconds, rate in told]
    whole_ms = sum(window.end_ms for window in windows)
    found = sustained(windows, whole_ms, whole_ms)
    assert found is not None
    higher = sum(seconds for seconds, rate in told if rate > found.bytes_per_second + 1e-9)
    assert 100_000 * higher <= (100 - PERCENT) * whole_ms


@given(TOLD, st.integers(1, 10_000))
def test_a_rate_never_leaves_what_was_seen(told, length_s):
    windows = [Window(0, seconds * 1000, rate * seconds, 0) for seconds, rate in told]
    found = sustained(windows, 0, length_s * 1000)
    rates = [rate for _, rate in told]
    assert found is not None
    assert min(rates) - 1e-9 <= found.bytes_per_second <= max(rates) + 1e-9


@pytest.mark.parametrize(
    ("numbers", "why"),
    [
        ((5, 5, 1, 1), "has no length"),
        ((6, 5, 1, 1), "has no length"),
        ((0, 1, -1, 1), "took in -1 bytes"),
        ((0, 1, 1, -1), "-1 records"),
    ],
)
def test_what_no_log_can_have_done_is_refused(numbers, why):
    with pytest.raises(ValueError, match=why):
        Window(*numbers)
