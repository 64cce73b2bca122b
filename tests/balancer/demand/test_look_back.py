import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from balancer.demand.look_back import LookBack
from balancer.demand.window import HOUR_MS, Rate
from balancer.demand.window_columns import WindowColumns
from balancer.topic_partition import TopicPartition
from tests.balancer.demand.sustained import sustained
from tests.balancer.demand.traffic import MINUTE, NOON, A, B, C, filled, minute


@given(st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=1, max_size=70))
@settings(deadline=None)
def test_partitions_of_one_look_are_kept_apart(table):
    back = LookBack()
    windows = [
        {TopicPartition("t", number): minute(at, rate) for number, rate in enumerate(row) if rate}
        for at, row in enumerate(table)
    ]
    for look in windows:
        back.add(look)
    now_ms = NOON + len(table) * MINUTE
    for number in range(4):
        partition = TopicPartition("t", number)
        mine = [look[partition] for look in windows if partition in look]
        expected = sustained(mine, now_ms)
        if expected:
            assert back.rates(now_ms)[partition] == pytest.approx(expected)
        else:
            assert bool(mine) == (partition in back.rates(now_ms))


def test_repeated_and_overlapping_windows_are_left_out():
    windows = [minute(0, 1), minute(1, 1), minute(2, 100)]
    back = filled(*windows, *windows, minute(1, 9, length=3))
    now_ms = NOON + 4 * MINUTE
    assert back.rates(now_ms)[A] == pytest.approx(sustained(windows, now_ms))


def test_windows_of_the_last_hour_override_periods_of_the_day():
    back = LookBack()
    back.add_coarse({A: minute(0, 100, length=10), B: minute(0, 50, length=10)})
    back.add({A: minute(70, 1)})
    assert back.rates(NOON + 71 * MINUTE) == {A: Rate(10.0, 1.0), B: Rate(500.0, 50.0)}


def test_fresh_partitions_have_a_recent_window_that_is_not_in_the_future():
    back = filled(minute(0, 1))
    back.add({B: minute(5, 1)})
    back.add_coarse({C: minute(0, 1, length=10)})
    assert back.fresh(NOON + 6 * MINUTE, 2 * MINUTE) == {B}
    assert back.fresh(NOON + 6 * MINUTE, 5 * MINUTE) == {A, B}
    assert back.fresh(NOON, 2 * MINUTE) == {A}


def test_forgotten_partitions_free_their_rows():
    back = filled(*(minute(at, 5) for at in range(20)))
    back.add({B: minute(0, 1)})
    back.keep({B}, NOON)
    back.add({C: minute(0, 3)})
    assert len(back) == 2
    assert back.rates(NOON + MINUTE) == {B: Rate(10.0, 1.0), C: Rate(30.0, 3.0)}
    assert back.rates(NOON + 2 * HOUR_MS) == {B: Rate(10.0, 1.0), C: Rate(30.0, 3.0)}


def test_memory_is_bounded_by_the_partitions_at_one_time():
    back = LookBack()
    for turn in range(50):
        partitions = [TopicPartition(f"t{turn}", number) for number in range(10)]
        back.add({partition: minute(turn, 1) for partition in partitions})
        back.keep(partitions, NOON)
    assert len(back) == 10
    assert back.room <= 25


def test_windows_of_a_clock_that_was_ahead_are_forgotten():
    back = filled(minute(0, 1), minute(24 * 60, 1), minute(1, 1))
    assert back.fresh(NOON + 24 * HOUR_MS + MINUTE, 0) == {A}
    back.keep({A}, NOON + 2 * MINUTE)
    back.add({A: minute(2, 5)})
    assert back.rates(NOON + 3 * MINUTE) == {A: Rate(50.0, 5.0)}
    assert back.rates(NOON + 2 * HOUR_MS) == {A: Rate(50.0, 5.0)}


def test_a_hundred_thousand_partitions_are_computed_within_seconds():
    """Takes 0.8 CPU s; the limit leaves room for slower machines."""
    partitions = tuple(
        TopicPartition(f"t{number // 100}", number % 100) for number in range(100_000)
    )
    back = LookBack()
    random = np.random.default_rng(7)
    for at in range(60):
        begins = np.full(len(partitions), NOON + at * MINUTE)
        columns = (random.integers(0, 10**8, len(partitions)) for _ in range(2))
        back.add(WindowColumns(partitions, begins, begins + MINUTE, *columns))
    began = time.process_time()
    assert len(back.rates(NOON + HOUR_MS)) == len(partitions)
    assert time.process_time() - began < 5.0
