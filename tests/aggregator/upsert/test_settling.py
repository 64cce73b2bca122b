"""Tests of settling; what becomes of them is tested on real servers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from threading import Event
from typing import Any

from aggregator.store.insert_errors import ErrorClass, InsertProblem
from aggregator.store.shard_store import NotStored
from aggregator.upsert.claims import TickRow
from aggregator.upsert.server_levels import ServerSight
from aggregator.upsert.settle_plan import SettlePlan
from aggregator.upsert.settling import (
    OpenRows,
    Settled,
    Settler,
    compared,
    open_condition,
    pusher,
    update_statement,
)
from aggregator.upsert.visibility import ReplicaCount
from replicator.runtime.clock import monotonic


def test_the_mutation_and_the_count_are_about_the_same_rows():
    condition = open_condition("shop", "t", 70, 100)
    first, _, last = condition.partition("_row_id IN")
    assert first in update_statement("shop", "t", 70, 100, 5, 1)
    assert update_statement("shop", "t", 70, 100, 5, 1).endswith(f" IN{last}")
    assert condition == (
        f"_until > 100 AND _row_id < {101 << 32} AND _row_id IN (SELECT row_id FROM "
        "`shop`.`t__updates` WHERE tick > 70 AND tick <= 100)"
    )
    assert "_until = least(_until, toUInt32(100))" in update_statement("shop", "t", 70, 100, 5, 1)


def test_a_server_that_lacks_ends_fails_instead_of_handing_its_parts_to_all():
    statement = update_statement("shop", "t", 70, 100, 5, 1)
    assert (
        "(_row_id + throwIf((SELECT count() FROM `shop`.`t__updates` WHERE tick > 70 AND "
        "tick <= 100) < 5 AND (SELECT max(tick) FROM `shop`.`t__ticks` WHERE what = 'horizon' "
        "AND generation = 1) <= 70)) IN (SELECT row_id FROM"
    ) in statement


def test_a_server_whose_ends_may_be_gone_is_compared_with_one_that_was_counted():
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


class Canned:
    """Store whose servers answer one after the other what a test has for them; one for which there
    is nothing hangs."""

    quorum, database = 1, "flights"

    def __init__(self, **answers: list[object]) -> None:
        self.replicas = tuple(answers)
        self.left = answers
        self.hanging = {name for name, each in answers.items() if not each}
        self.goes_on = Event()
        self.asked: list[str] = []

    def answer_of(self, replica: str, ask: Callable[[Any], object]) -> object:
        self.asked.append(ask.__qualname__.split(".")[1])
        if replica in self.hanging:
            self.goes_on.wait()
            return None
        answer = self.left[replica].pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def settled(
    store: Any,
    plan: SettlePlan,
    timeout_seconds: float = 20.0,
    clock: Callable[[], float] = monotonic,
) -> Settled:
    """Settles, and returns the result; what is published has the result's servers."""
    published: list[TickRow] = []

    class Ticks:
        publish = published.append

    ticks: Any = Ticks
    settler = Settler(store, store, ticks, "t", wait=lambda seconds: None, clock=clock)
    try:
        result = settler.settle(plan, timeout_seconds=timeout_seconds)
    finally:
        store.goes_on.set()
    assert [each.servers for each in published] == [result.servers] * result.is_published
    return result


A, B = (ServerSight(name, 1, 0, True, True) for name in "ab")
PLAN = SettlePlan(1, 100, 100_000, {})
AWAY = NotStored(InsertProblem(ErrorClass.OTHER_REPLICA, 210, "gone", may_be_stored=False))
NO_ENDS, IS_READY, ALL_CLOSED = 0, True, ReplicaCount(100, 0)


def test_a_server_that_hangs_leaves_time_to_settle_on_the_others():
    store = Canned(up=[A, NO_ENDS, IS_READY, ALL_CLOSED], hangs=[])
    found = settled(store, PLAN, timeout_seconds=0.4)
    assert found.is_published and found.servers == ("a",)


def test_a_server_that_goes_away_while_it_is_counted_is_not_compared():
    store = Canned(a=[A, NO_ENDS, IS_READY, ALL_CLOSED], b=[B, IS_READY, AWAY])
    assert settled(store, PLAN).servers == ("a",)
    assert store.left == {"a": [], "b": []}


def test_a_point_that_was_begun_is_counted_before_it_is_mutated():
    store = Canned(a=[A, IS_READY, ALL_CLOSED])
    found = settled(store, PLAN._replace(is_begun=True))
    assert found.is_published and found.mutations == 0


def test_a_point_that_was_begun_is_mutated_if_rows_stay_open_however_short_the_time_is():
    clock = count(0, 0.9)
    still_open, ends, is_made = ReplicaCount(100, 3), 5, None
    looks = [IS_READY, still_open] * 3
    store = Canned(a=[A, *looks, ends, is_made, IS_READY, ALL_CLOSED])
    found = settled(store, PLAN._replace(is_begun=True), 8.0, clock=lambda: next(clock))
    assert found.is_published and found.mutations == 1


def test_a_mutation_that_has_parts_to_do_is_waited_for_and_made_no_second_time():
    clock = count(0, 1.0)
    ends, is_made, is_busy = 5, None, False
    store = Canned(a=[A, ends, is_made, *[is_busy] * 12, IS_READY, ALL_CLOSED])
    found = settled(store, PLAN, 90.0, clock=lambda: next(clock))
    assert found.is_published and found.mutations == 1
    assert store.asked.count("_ends") == 1


BEYOND = SettlePlan(1, 100, 100_000, {"a": 40, "b": 0, "lost": 60}, horizon=50)


def test_servers_count_from_the_horizon_if_their_rows_prove_them_whole_and_nobody_else_can():
    count = [NO_ENDS, IS_READY, ALL_CLOSED]
    store = Canned(a=[A, 0, *count, OpenRows(7, 1)], b=[B, 7, OpenRows(9, 2)])
    found = settled(store, BEYOND)
    assert found.is_published and not found.are_ends_lost
    assert found.servers == ("a",)
    assert found.plan.after == {"a": 50, "b": 0, "lost": 60}


def test_nothing_is_settled_while_no_server_has_all_ends():
    store = Canned(a=[A, 3], b=[B, AWAY])
    found = settled(store, BEYOND)
    assert found.are_ends_lost and not found.is_published
    assert found.failures == {"a": "has 3 keys whose newest row is unsure", "b": "gone"}
