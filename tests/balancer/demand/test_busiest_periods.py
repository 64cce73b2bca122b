from hypothesis import given, settings
from hypothesis import strategies as st

from balancer.demand.look_back import LookBack
from balancer.demand.window import HOUR_MS, Rate
from tests.balancer.demand.traffic import MINUTE, NOON, A, filled, minute


def test_without_windows_in_the_hour_the_busiest_ten_minutes_of_the_day_count():
    quiet = [minute(at, 1) for at in range(10)]
    busy = [minute(10 + at, at) for at in range(10)]
    back = filled(*quiet, *busy, minute(20, 2))
    assert back.rates(NOON + 3 * HOUR_MS) == {A: Rate(45.0, 4.5)}
    assert back.rates(NOON + 25 * HOUR_MS) == {A: Rate(45.0, 4.5)}
    assert back.rates(NOON + 26 * HOUR_MS) == {}


def test_a_burst_counts_with_its_mean_over_ten_minutes():
    back = filled(minute(0, 1000), *(minute(at, 0) for at in range(1, 10)), minute(10, 0))
    assert back.rates(NOON + 2 * HOUR_MS) == {A: Rate(1000.0, 100.0)}


def test_an_unfinished_period_counts():
    assert filled(minute(3, 7)).rates(NOON + 2 * HOUR_MS) == {A: Rate(70.0, 7.0)}


@given(
    st.lists(st.tuples(st.integers(0, 35 * 6), st.integers(0, 1000)), max_size=60),
    st.integers(0, 12 * 60),
)
@settings(deadline=None)
def test_the_highest_period_counts_until_its_hour_is_a_day_old(drawn, later_minutes):
    """Adds sums as a history does, in any order and twice."""
    back = LookBack()
    last = max((at for at, _ in drawn), default=0)
    for at, rate in sorted(drawn, key=lambda pair: pair[0]) + drawn[::-1]:
        back.add_coarse({A: minute(10 * at, rate, length=10)})
    now_ms = NOON + (10 * (last + 1) + later_minutes) * MINUTE
    counted = [rate for at, rate in drawn if (at // 6 + 1) * HOUR_MS + NOON > now_ms - 25 * HOUR_MS]
    expected = {A: Rate(max(counted) * 10.0, float(max(counted)))} if counted else {}
    assert back.rates(now_ms) == expected
