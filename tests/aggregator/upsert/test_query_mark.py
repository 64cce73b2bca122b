"""Mark of a query: ticks, times and settle points, and what is refused."""

from __future__ import annotations

import pytest

from aggregator.upsert.query_mark import (
    FRESH,
    SETTLED,
    At,
    TableTicks,
    TickTime,
    mark_at,
    oldest_mark,
    tick_at,
)
from aggregator.upsert.seen_rows import ReadMark
from aggregator.upsert.visibility import MarkRefused

TICKS = TableTicks(
    generation=1, newest=TickTime(90, 90_000), oldest=TickTime(40, 40_000), horizon=30
)


def test_fresh_is_the_newest_tick_and_no_end_is_told_after_it() -> None:
    tick = tick_at(FRESH, "t", TICKS)
    assert mark_at(FRESH, tick, 80, TICKS, is_all_versions=False) == ReadMark(90, 80, 90)


def test_settled_is_the_settle_point_itself() -> None:
    assert mark_at(SETTLED, 80, 80, TICKS, is_all_versions=False) == ReadMark(80, 80, 80)


def test_an_earlier_mark_tells_ends_up_to_the_newest_tick() -> None:
    at = At(tick=50)
    assert mark_at(at, tick_at(at, "t", TICKS), 45, TICKS, is_all_versions=False) == ReadMark(
        50, 45, 90
    )


def test_all_versions_of_an_earlier_mark_are_those_that_were_known_then() -> None:
    at = At(tick=50)
    assert mark_at(at, 50, 45, TICKS, is_all_versions=True) == ReadMark(
        50, 45, 50, True, told_after=30
    )


def test_a_mark_says_since_when_rows_are_seen():
    mark = mark_at(FRESH, 90, 80, TICKS, is_all_versions=False, since_s=86_400)
    assert mark == ReadMark(90, 80, 90, since_s=86_400)


@pytest.mark.parametrize("tick", [40, 41, 89, 90])
def test_ticks_within_the_history_are_read(tick: int) -> None:
    assert tick_at(At(tick=tick), "t", TICKS) == tick
    found = TickTime(tick, tick * 1000)
    assert tick_at(At(time_ms=tick * 1000), "t", TICKS, found) == tick


@pytest.mark.parametrize(
    ("at", "found", "text"),
    [
        (At(tick=39), TickTime(0, 0), "t: tick 39 is too old; the oldest that can be read is 40"),
        (At(tick=91), TickTime(0, 0), "t: tick 91 is not there yet"),
        (At(time_ms=39_999), TickTime(39, 39_000), "the oldest that can be read is tick 40"),
        (At(time_ms=5), TickTime(0, 0), "the oldest that can be read is tick 40"),
        (At(time_ms=90_001), TickTime(90, 90_000), "its newest tick is 90, of 1970-01-01T00:01:30"),
    ],
)
def test_marks_outside_the_history_name_the_one_that_can_be_read(
    at: At, found: TickTime, text: str
) -> None:
    with pytest.raises(MarkRefused, match=text):
        tick_at(at, "t", TICKS, found)


def test_a_table_without_a_tick_has_no_time_to_be_read_at() -> None:
    none = TableTicks(1, TickTime(0, 0), TickTime(0, 0), 0)
    assert tick_at(FRESH, "t", none) == 0
    with pytest.raises(MarkRefused):
        tick_at(At(time_ms=1), "t", none)


def test_the_oldest_mark_is_a_settle_point_that_is_old_enough_or_the_horizon() -> None:
    newest = TickTime(90, 90_000)
    assert oldest_mark(newest, TickTime(30, 30_000), TickTime(40, 40_000)).tick == 40
    assert oldest_mark(newest, TickTime(50, 50_000), TickTime(40, 40_000)).tick == 50
    assert oldest_mark(newest, TickTime(0, 0), TickTime(0, 0)).tick == 0


def test_one_mark_is_named_at_a_time() -> None:
    with pytest.raises(ValueError, match="a tick, a time or the newest settle point"):
        At(tick=1, is_settled=True)
