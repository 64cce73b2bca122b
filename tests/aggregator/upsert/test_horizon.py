"""Tests of the horizon: when it moves, and what is kept behind and before it. What becomes of it on
servers stands in tests/live/test_upsert_horizon.py."""

from __future__ import annotations

from aggregator.upsert.claims import TickRow, What
from aggregator.upsert.horizon import STEP_MS, Pruning, droppable_end, is_worth
from aggregator.upsert.upsert_schema import TICKS_PER_PARTITION


def horizon(tick: int, time_ms: int = 0) -> TickRow:
    return TickRow(1, tick, What.HORIZON, time_ms)


def test_a_partition_of_ends_goes_once_its_last_tick_is_at_the_horizon():
    found = [droppable_end(TICKS_PER_PARTITION + each) for each in (-2, -1, 0)]
    assert found == [0, 1, 1]


def test_a_horizon_is_published_if_a_partition_or_an_hour_can_go():
    assert is_worth(None, horizon(5))
    assert not is_worth(horizon(5), horizon(TICKS_PER_PARTITION - 2))
    assert is_worth(horizon(5), horizon(TICKS_PER_PARTITION - 1))
    assert is_worth(horizon(5), horizon(6, STEP_MS))
    assert not is_worth(horizon(9), horizon(5, STEP_MS)), "it never goes back"


def test_births_of_lanes_and_the_newest_point_of_each_server_are_kept():
    found = Pruning(1, 100, 80, frozenset([1, 40]), frozenset([60, 90])).condition
    assert found == (
        "generation = 1 AND tick < 100 AND (what = 'horizon' "
        "OR what = 'settled' AND tick NOT IN (0, 60, 90) "
        "OR what = 'claim' AND tick < 80 AND tick NOT IN (0, 1, 40))"
    )
