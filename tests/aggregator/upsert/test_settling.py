"""Tests of the plans of settling; what becomes of them is tested on real servers."""

from __future__ import annotations

from threading import Event
from typing import Any

from aggregator.upsert.claims import TickRow, What
from aggregator.upsert.server_levels import ServerSight
from aggregator.upsert.settling import (
    OpenRows,
    Settled,
    SettlePlan,
    Settler,
    compared,
    open_condition,
    pusher,
    settle_plan,
    update_statement,
)
from aggregator.upsert.visibility import ReplicaCount

BOTH = ("a", "b")


def settled(tick: int, *servers: str) -> TickRow:
    return TickRow(1, tick, What.SETTLED, tick * 1000, servers=servers)


def plan(points, tick=100, servers=BOTH, seconds=30.0) -> SettlePlan | None:
    claim = TickRow(1, tick, What.CLAIM, tick * 1000)
    return settle_plan(points, claim, servers, seconds_since_last=seconds, settle_seconds=30.0)


def test_the_mark_is_settled_once_settle_seconds_have_passed():
    found = plan([settled(70, *BOTH)])
    assert found == SettlePlan(1, 100, 100_000, {"a": 70, "b": 70})
    assert plan([settled(70, *BOTH)], seconds=29.9) is None


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


def test_the_mutation_and_the_count_are_about_the_same_rows():
    condition = open_condition("shop", "t", 70, 100)
    first, _, last = condition.partition("_row_id IN")
    assert first in update_statement("shop", "t", 70, 100, 5)
    assert update_statement("shop", "t", 70, 100, 5).endswith(f" IN{last}")
    assert condition == (
        f"_until > 100 AND _row_id < {101 << 32} AND _row_id IN (SELECT row_id FROM "
        "`shop`.`t__updates` WHERE tick > 70 AND tick <= 100)"
    )
    assert "_until = least(_until, toUInt32(100))" in update_statement("shop", "t", 70, 100, 5)


def test_a_server_that_lacks_ends_fails_instead_of_handing_its_parts_to_all():
    statement = update_statement("shop", "t", 70, 100, 5)
    assert (
        "(_row_id + throwIf((SELECT count() FROM `shop`.`t__updates` WHERE tick > 70 AND "
        "tick <= 100) < 5 AND (SELECT max(tick) FROM `shop`.`t__ticks` WHERE what = 'horizon') "
        "<= 70)) IN (SELECT row_id FROM"
    ) in statement


def test_a_server_whose_ends_may_be_gone_cannot_count_and_is_compared():
    found = SettlePlan(1, 100, 0, {"a": 70, "b": 40}, horizon=50)
    assert [found.can_count(each) for each in ("a", "b", "new")] == [True, False, False]
    assert SettlePlan(1, 100, 0, {}).can_count("first")
    wanted = OpenRows(7, 123)
    assert compared(100, OpenRows(7, 123), wanted) == ReplicaCount(100, 0)
    assert compared(100, OpenRows(9, 99), wanted) == ReplicaCount(100, 2)
    assert compared(100, OpenRows(7, 99), wanted).open_rows == 1
    assert compared(100, OpenRows(3, 99), wanted).open_rows == 1


def test_only_servers_without_open_rows_have_the_settle_point():
    found = Settled(SettlePlan(1, 100, 0, {}))
    found.counts = {"a": ReplicaCount(100, 0), "b": ReplicaCount(100, 3), "c": ReplicaCount(0, 0)}
    assert found.servers == ("a",)


def test_a_pusher_is_of_no_tick_and_never_visible():
    block = pusher(7, 86_400)
    columns = dict(zip(block.names, block.columns, strict=True))
    assert bytes(columns["_row_id"]) == (7).to_bytes(8, "little")
    assert bytes(columns["_until"]) == bytes(4)
    assert bytes(columns["_time"]) == (86_400).to_bytes(4, "little")


class HalfSilent:
    """Store of two replicas, of which one hangs. The other one tells what it is asked for: that it
    is complete, the number of ends, that it has no parts to mutate, its count."""

    quorum, database, replicas = 1, "flights", ("up", "hangs")

    def __init__(self) -> None:
        self.goes_on = Event()
        self.answers = iter([ServerSight("a", 1, 0, True, True), 0, True, ReplicaCount(100, 0)])

    def answer_of(self, replica: str, ask: object) -> object:
        if replica == "hangs":
            self.goes_on.wait()
            return None
        return next(self.answers)


def test_a_server_that_hangs_leaves_time_to_settle_on_the_others():
    store: Any = HalfSilent()
    published: list[TickRow] = []

    class Ticks:
        publish = published.append

    ticks: Any = Ticks
    settler = Settler(store, store, ticks, "t", wait=lambda seconds: None)
    found = plan([])
    assert found
    try:
        assert settler.settle(found, timeout_seconds=0.4).is_published
    finally:
        store.goes_on.set()
    assert [each.servers for each in published] == [("a",)]
