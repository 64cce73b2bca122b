import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from balancer.demand.last_hour import PERCENT
from balancer.demand.look_back import LookBack
from balancer.demand.window import HOUR_MS, Rate, Window
from balancer.topic_partition import TopicPartition
from tests.balancer.demand.sustained import sustained
from tests.balancer.demand.traffic import MINUTE, NOON, minute, rate_of

DRAWN = st.lists(
    st.tuples(
        st.integers(0, 3),  # the partition
        st.integers(0, 400_000),  # milliseconds without a window before it
        st.integers(1, 900_000),
        st.integers(0, 1 << 40),
        st.integers(0, 1 << 30),
    ),
    max_size=80,
)


@given(DRAWN, st.integers(0, 2 * HOUR_MS))
@settings(deadline=None)
def test_a_rate_is_the_sustained_rate_of_the_last_hour(drawn, later_ms):
    back = LookBack()
    windows = {}
    ends = {}
    for number, idle_ms, length_ms, taken, records in drawn:
        partition = TopicPartition("t", number)
        begin = ends.get(partition, NOON) + idle_ms
        ends[partition] = begin + length_ms
        window = Window(begin, begin + length_ms, taken, records)
        windows.setdefault(partition, []).append(window)
        back.add({partition: window})
    now_ms = max(ends.values(), default=NOON) + later_ms
    expected = {partition: sustained(some, now_ms) for partition, some in windows.items()}
    found = back.rates(now_ms)
    for partition, rate in expected.items():
        if rate is not None:
            assert found[partition] == pytest.approx(rate)


def test_a_short_burst_does_not_count_and_a_long_one_does():
    end_ms = NOON + HOUR_MS
    calm = [minute(at, 1) for at in range(60)]
    assert rate_of(*calm[:-1], minute(59, 100), end_ms=end_ms) == Rate(10, 1)
    long = [minute(50 + at, 100) for at in range(10)]
    assert rate_of(*calm[:50], *long, end_ms=end_ms) == Rate(1000, 100)


@pytest.mark.parametrize(("longer_ms", "rate"), [(0, 1000), (1, 100_000)])
def test_a_burst_lasts_at_most_a_twentieth_of_the_hour(longer_ms, rate):
    begin_ms = HOUR_MS - HOUR_MS // 20 - longer_ms
    calm = Window(0, begin_ms, begin_ms, 0)
    burst = Window(begin_ms, HOUR_MS, 100 * (HOUR_MS - begin_ms), 0)
    assert rate_of(calm, burst) == Rate(rate, 0)


@pytest.mark.parametrize(("minutes", "rate"), [(30, 10_000), (15, 7500), (7.5, 6250), (3, 5500)])
def test_the_mean_counts_more_the_less_of_the_hour_is_covered(minutes, rate):
    length_ms = int(minutes * MINUTE)
    idle = Window(HOUR_MS - 2 * length_ms, HOUR_MS - length_ms, 0, 0)
    busy = Window(HOUR_MS - length_ms, HOUR_MS, 10 * length_ms, 0)
    assert rate_of(idle, busy) == pytest.approx(Rate(rate, 0))


def test_a_window_that_began_before_the_hour_counts_in_part():
    idle = Window(NOON - 24 * HOUR_MS, NOON, 0, 0)
    busy = [minute(at, 1) for at in range(59)]
    assert rate_of(idle, *busy, end_ms=NOON + 59 * MINUTE) == Rate(10, 1)


def test_windows_count_by_their_length():
    short = [Window(at, at + 1000, 10**9, 10**6) for at in range(HOUR_MS - 10_000, HOUR_MS, 1000)]
    assert rate_of(Window(0, HOUR_MS - 10_000, 3590, 3590), *short) == Rate(1, 1)


def test_bytes_and_records_are_computed_separately():
    large = Window(0, HOUR_MS // 2, 1800 * 10**6, 1800)
    many = Window(HOUR_MS // 2, HOUR_MS, 1800, 1800 * 10**6)
    assert rate_of(large, many) == Rate(10**6, 10**6)


@given(
    st.lists(st.tuples(st.integers(1, 120), st.integers(0, 99)), min_size=1, max_size=29),
    st.integers(0, 99),
)
def test_the_rate_is_exceeded_for_at_most_the_rest_of_the_hour(drawn, last):
    drawn = [*drawn, (3600 - sum(seconds for seconds, _ in drawn), last)]
    windows, begin_ms = [], 0
    for seconds, rate in drawn:
        end_ms = begin_ms + seconds * 1000
        windows.append(Window(begin_ms, end_ms, rate * seconds, 0))
        begin_ms = end_ms
    found = rate_of(*windows).bytes_per_second
    higher = sum(seconds for seconds, rate in drawn if rate > found + 1e-9)
    assert 100 * higher <= (100 - PERCENT) * 3600
    assert min(rate for _, rate in drawn) - 1e-9 <= found
