"""Tests of the horizon: when it moves, and what is kept behind and before it. What becomes of it on
servers stands in tests/live/test_upsert_horizon.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from aggregator.upsert import visibility
from aggregator.upsert.claims import TickRow, What
from aggregator.upsert.horizon import STEP_MS, Horizon, Pruning, droppable_end, next_horizon
from aggregator.upsert.upsert_schema import TICKS_PER_PARTITION
from aggregator.upsert.visibility import SettlePoint, day_of, shown_since_s


def horizon(tick: int, time_ms: int = 0) -> TickRow:
    return TickRow(1, tick, What.HORIZON, time_ms)


def point(tick: int, time_ms: int) -> TickRow:
    return TickRow(1, tick, What.SETTLED, time_ms)


def test_a_partition_of_ends_goes_once_its_last_tick_is_at_the_horizon():
    found = [droppable_end(TICKS_PER_PARTITION + each) for each in (-2, -1, 0)]
    assert found == [0, 1, 1]


def test_a_horizon_is_published_if_a_partition_or_an_hour_can_go():
    def found(before: TickRow | None, tick: int, time_ms: int = 0) -> TickRow | None:
        return next_horizon(before, point(tick, time_ms))

    first = horizon(5)
    assert found(None, 5) == first
    assert found(first, TICKS_PER_PARTITION - 2) == first
    assert found(first, TICKS_PER_PARTITION - 1) == horizon(TICKS_PER_PARTITION - 1)
    assert found(first, 6, STEP_MS) == horizon(6, STEP_MS)
    assert found(horizon(9), 5, STEP_MS) == horizon(9), "it never goes back"
    assert next_horizon(first, None) == first


class Ticks:
    """Table of ticks in memory."""

    generation = 1

    def __init__(self) -> None:
        self.rows: list[TickRow] = []

    def newest(self, what: What, time_ms: int | None = None) -> TickRow | None:
        found = [each for each in self.rows if each.what is what]
        return max(
            (each for each in found if time_ms is None or each.time_ms <= time_ms),
            key=lambda each: each.tick,
            default=None,
        )

    def publish(self, row: TickRow, *, is_repeat: bool) -> None:
        self.rows.append(row)

    def first_answer(self, ask: object) -> None:
        return None


class Store:
    """Store that keeps what it was to let go of: partitions of ends, and days of rows."""

    database = "air"

    def __init__(self) -> None:
        self.ends, self.days = {0}, {day_of(0)}
        self.client, self.dropped = self, list[str]()

    def execute(self, query: str, of: Any = None) -> list[tuple[str]]:
        if query.startswith("ALTER"):
            self.dropped.append(query.rpartition(" ")[2])
            return []
        return [(str(each),) for each in (self.ends if "updates" in of["table"] else self.days)]

    def answer_of_leader(self, _: str, ask: Callable[[Store], Any]) -> Any:
        return ask(self)


SECOND, HOUR, DAY = 1000, 3_600_000, 86_400_000
GAPS = st.sampled_from([0, SECOND, 60 * SECOND, HOUR, DAY, 21 * DAY])
"""Time between ticks: none while a clock that was ahead is waited for; weeks of rest."""


@given(
    st.lists(st.tuples(GAPS, st.integers(1, TICKS_PER_PARTITION), st.booleans()), max_size=30),
    st.sampled_from([1.0, 3600.0, 604_800.0]),
    st.sampled_from([1.0, 336.0]),
)
def test_whatever_rests_and_clocks_did_all_that_may_be_read_is_kept(steps, history, hours):
    ticks, store = Ticks(), Store()
    it: Any = Horizon(store, "t", history, hours, wait_seconds=0.0)  # type: ignore[arg-type]
    tick, time_ms, times, last = 0, 1_700_000_000_000, {}, 0
    for number, (gap, count, is_settled) in enumerate(steps):
        tick, time_ms = tick + count, time_ms + gap
        times[tick] = time_ms
        store.ends.add(tick // TICKS_PER_PARTITION)
        store.days.add(day_of(time_ms // 1000))
        if is_settled:
            ticks.publish(point(tick, time_ms), is_repeat=False)
        for again in range(3):
            it.follow(ticks, TickRow(1, tick, What.CLAIM, time_ms), (3.0 * number + again) * 60)
        found = ticks.newest(What.HORIZON)
        if found is None:
            assert not store.dropped
            continue
        points = [SettlePoint(each.tick, each.time_ms) for each in ticks.rows
                  if each.what is What.SETTLED]  # fmt: skip
        assert last <= found.tick <= visibility.oldest_readable(points, time_ms, history)
        last = found.tick
        # The newest tick that is not later than a time within the history.
        as_of = max((at for at, of in times.items() if of <= time_ms - history * 1000), default=0)
        assert found.tick <= as_of
        since_s = shown_since_s(found.time_ms, hours)
        for each in map(int, store.dropped):
            is_day = each > 10**7
            assert each < (day_of(since_s) if is_day else (found.tick + 1) // TICKS_PER_PARTITION)


def test_a_table_that_is_made_anew_has_its_own_horizon_again():
    ticks, store = Ticks(), Store()
    it: Any = Horizon(store, "t", 1.0, 336.0)  # type: ignore[arg-type]
    ticks.publish(point(9000, 0), is_repeat=False)
    it.follow(ticks, TickRow(1, 9001, What.CLAIM, HOUR), 0.0)
    assert it.published == horizon(9000)
    ticks.rows.clear()
    it.follow(ticks, TickRow(1, 3, What.CLAIM, HOUR), 1000.0)
    assert it.published is None and not store.dropped


def test_births_of_lanes_and_the_newest_point_of_each_server_are_kept():
    found = Pruning(1, 100, 80, frozenset([1, 40]), frozenset([60, 90])).condition
    assert found == (
        "generation = 1 AND tick < 100 AND (what = 'horizon' "
        "OR what = 'settled' AND tick NOT IN (0, 60, 90) "
        "OR what = 'claim' AND tick < 80 AND tick NOT IN (0, 1, 40))"
    )
