"""Tests of when a table is settled, and to which point."""

from __future__ import annotations

import math

from aggregator.upsert.claims import TickRow, What
from aggregator.upsert.settle_plan import SettlePlan, settle_plan

BOTH = ("a", "b")
HOUR = 3600.0


def settled(tick: int, *servers: str) -> TickRow:
    return TickRow(1, tick, What.SETTLED, tick * 1000, servers=servers)


def plan(
    points, tick=100, servers=BOTH, new=30.0, last=math.inf, every=30.0, unreached=None
) -> SettlePlan | None:
    return settle_plan(
        points,
        TickRow(1, tick, What.CLAIM, tick * 1000),
        servers,
        settle_seconds=every,
        seconds_since_new=new,
        seconds_since_last=last,
        unreached=unreached,
    )


def test_the_mark_is_settled_once_settle_seconds_have_passed():
    found = plan([settled(70, *BOTH)])
    assert found == SettlePlan(1, 100, 100_000, {"a": 70, "b": 70})
    assert plan([settled(70, *BOTH)], new=29.9) is None


def test_a_table_without_new_ticks_is_not_settled_again():
    assert plan([settled(100, *BOTH)]) is None
    assert plan([], tick=0) is None


def test_a_server_that_was_not_counted_is_settled_from_the_last_point_that_names_it():
    points = [settled(40, *BOTH), settled(70, "a"), settled(100, "a")]
    found = plan(points)
    assert found is not None
    assert found.after == {"a": 100, "b": 40}
    assert found.first(["a"]) == 100
    assert found.first(BOTH) == 40
    assert found.first(["new", "a"]) == 0


def test_a_server_that_gets_no_queries_does_not_make_a_settling_due():
    points = [settled(40, *BOTH), settled(100, "a")]
    assert plan(points, servers=["a"]) is None
    assert plan(points, servers=[]) is None


def test_a_server_that_comes_back_is_named_by_the_newest_point_within_a_minute():
    points = [settled(40, *BOTH), settled(70, "a")]
    found = plan(points, new=100.0, last=61.0, every=HOUR)
    assert found == SettlePlan(1, 70, 70_000, {"a": 70, "b": 40}, is_begun=True)
    assert plan(points, new=100.0, last=59.0, every=HOUR) is None
    assert plan(points, servers=["a"], new=100.0, every=HOUR) is None
    assert plan([], new=100.0, every=HOUR) is None, "there is no point yet"


def test_a_point_that_was_not_reached_stays_the_goal_and_is_tried_again_within_a_minute():
    goal, points = settled(80), [settled(70, *BOTH)]
    found = plan(points, new=100.0, last=61.0, every=HOUR, unreached=goal)
    assert found == SettlePlan(1, 80, 80_000, {"a": 70, "b": 70}, is_begun=True)
    assert plan(points, new=2 * HOUR, last=10.0, every=HOUR, unreached=goal) is None
    assert plan(points, new=10.0, last=2.0, every=1.0, unreached=goal) == found


def test_a_point_that_another_process_went_past_is_no_goal_any_more():
    points, goal = [settled(70, *BOTH), settled(90, *BOTH)], settled(80)
    assert plan(points, new=100.0, every=HOUR, unreached=goal) is None
    found = plan(points, unreached=goal)
    assert found is not None and (found.point, found.is_begun) == (100, False)


def test_an_operator_gets_the_mark_whatever_was_not_reached():
    found = plan([settled(70, *BOTH)], new=math.inf, last=0.0, every=HOUR)
    assert found is not None and found.point == 100


def test_a_server_whose_ends_may_be_gone_cannot_count():
    found = SettlePlan(1, 100, 0, {"a": 70, "b": 40}, horizon=50)
    assert [found.can_count(each) for each in ("a", "b", "new")] == [True, False, False]
    assert SettlePlan(1, 100, 0, {}).can_count("first")
