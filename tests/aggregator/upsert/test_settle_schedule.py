"""Tests of the schedule of settling: what waits for what, and what is told meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from threading import Event
from typing import Any

from aggregator.store import recognition
from aggregator.store.insert_errors import ErrorClass, InsertProblem
from aggregator.store.shard_store import NotStored
from aggregator.upsert import expired_days, server_levels
from aggregator.upsert.claims import TickRow, What
from aggregator.upsert.settle_plan import AGAIN_SECONDS, SettlePlan
from aggregator.upsert.settle_schedule import LOST_SECONDS, SettleSchedule
from aggregator.upsert.settling import Settled
from aggregator.upsert.table_orders import TableOrders
from aggregator.upsert.visibility import ReplicaCount
from replicator.config.upsert_table import UpsertTable
from replicator.notices.condition import Kind
from replicator.orders.order_log import OrderLog

HOUR = 3600.0
TABLE = UpsertTable(
    name="calls",
    semantic="upsert",
    columns={"id": "UInt64"},
    primary_key=("id",),
    settle_seconds=HOUR,
    retention_hours=24.0,
)
DAY_MS = 86_400_000
HANGS = NotStored(InsertProblem(ErrorClass.OTHER_REPLICA, None, "no answer", may_be_stored=False))
AWAY = NotStored(InsertProblem(ErrorClass.OTHER_REPLICA, 210, "gone", may_be_stored=False))
TOO_LARGE = NotStored(InsertProblem(ErrorClass.STOP, 359, "a: too large", may_be_stored=False))


class Server:
    """Only server of a store; it has all, and two days of rows that are over."""

    quorum, database, replicas = 1, "air", ("a",)
    client = property(lambda self: self)

    def __init__(self) -> None:
        self.days = ["19700103", "19700104"]
        self.refused = {"19700103"}
        self.hangs_until: Event | None = None

    def answer_of(self, _: str, ask: Callable[[Server], Any]) -> Any:
        return ask(self)

    def answer_of_leader(self, _: str, ask: Callable[[Server], Any]) -> Any:
        return ask(self)

    def execute(self, query: str, parameters: Any = None) -> list[tuple[Any, ...]]:
        if query.startswith("ALTER"):
            if self.hangs_until is not None:
                self.hangs_until.wait()
                raise HANGS
            day = query.rpartition(" ")[2]
            if day in self.refused:
                raise TOO_LARGE
            self.days.remove(day)
            return []
        if query == expired_days.PARTITIONS:
            return [(day,) for day in self.days if parameters["table"] == "calls__rows"]
        answers: dict[str, list[tuple[Any, ...]]] = {
            recognition.REPLICA_PATH: [],
            server_levels.MADE: [(1, 0, 2)],
            recognition.REPLICA: [],
        }
        return answers.get(query, [(1, 1)])


@dataclass
class Ticks:
    """Table of ticks with a settle point a day before each claim."""

    generation = 1
    tick: int = 100
    horizon: TickRow | None = None
    points: list[TickRow] = field(default_factory=list)

    def newest(self, what: What, time_ms: int | None = None) -> TickRow | None:
        if what is What.HORIZON:
            return self.horizon
        behind = 1 if what is What.SETTLED else 0
        return TickRow(1, self.tick - behind, what, (self.tick - behind) * DAY_MS, servers=("a",))

    def settle_points(self, first: int) -> list[TickRow]:
        return self.points

    def publish(self, row: TickRow, *, is_repeat: bool) -> None:
        self.horizon = row

    def first_answer(self, ask: object) -> None:
        return None


@dataclass
class Played:
    """Schedule, and its settler, whose settlings a test plays.

    Args:
        settled: plays a settling.
        step_seconds: by which the clock goes on with each look at it.
    """

    settled: Callable[[SettlePlan], Settled]
    step_seconds: float = 700.0
    seconds: float = 0.0
    server: Server = field(default_factory=Server)
    ticks: Ticks = field(default_factory=Ticks)
    told: dict[Kind, str] = field(default_factory=dict)
    all_told: list[str] = field(default_factory=list)
    plans: list[SettlePlan] = field(default_factory=list)
    schedule: SettleSchedule = field(init=False)

    def clock(self) -> float:
        self.seconds += self.step_seconds
        return self.seconds

    def tell(self, kind: Kind, text: str) -> None:
        self.told[kind] = text
        self.all_told.append(text)

    def settle(self, plan: SettlePlan, *, timeout_seconds: float) -> Settled:
        assert timeout_seconds < HOUR
        self.plans.append(plan)
        return self.settled(plan)

    def __post_init__(self) -> None:
        of: Any = self
        self.schedule = SettleSchedule(
            "f",
            TABLE,
            of.server,
            lambda ticks: of,
            TableOrders("f", "calls"),
            lambda: OrderLog({}),
            self.tell,
            clock=self.clock,
            look_seconds=0.001,
        )

    async def keep_until(self, is_so: Callable[[], object]) -> None:
        """Keeps the table until something is so."""
        ticks: Any = self.ticks
        task = asyncio.create_task(self.schedule.keep(ticks))
        async with asyncio.timeout(20):
            while not is_so():
                assert not task.done()
                await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.wait([task])


def published(plan: SettlePlan) -> Settled:
    return Settled(plan, is_published=True, counts={"a": ReplicaCount(plan.point, 0)})


def test_looks_the_horizon_and_drops_do_not_wait_for_a_settling() -> None:
    goes_on = Event()

    def waits(plan: SettlePlan) -> Settled:
        goes_on.wait()
        return published(plan)

    played = Played(waits)
    played.server.refused.clear()
    try:
        asyncio.run(played.keep_until(lambda: not played.server.days))
    finally:
        goes_on.set()
    assert [plan.point for plan in played.plans] == [100]
    assert played.ticks.horizon and played.ticks.horizon.tick == 99


def test_a_refused_drop_holds_up_no_other_drop_and_no_settling() -> None:
    played = Played(published)

    def is_told() -> bool:
        return bool(played.told.get(Kind.UPSERT_NOT_DROPPED)) and bool(played.plans)

    async def history() -> None:
        await played.keep_until(is_told)
        assert played.server.days == ["19700103"]
        assert played.told[Kind.UPSERT_NOT_DROPPED] == (
            "calls__rows keeps partition 19700103: a: too large; set max_partition_size_to_drop of "
            "the servers to 0, or above that size"
        )
        settled = len(played.plans)
        await played.keep_until(lambda: len(played.plans) > settled + 2)

    asyncio.run(history())


def test_a_drop_that_no_server_answers_holds_up_no_settling() -> None:
    played = Played(published)
    played.server.hangs_until = goes_on = Event()

    async def history() -> None:
        await played.keep_until(lambda: played.ticks.horizon and len(played.plans) > 3)
        goes_on.set()
        await played.keep_until(lambda: played.told.get(Kind.UPSERT_NOT_DROPPED))

    asyncio.run(history())
    text = "calls__rows keeps partition 19700103: no answer"
    assert played.told[Kind.UPSERT_NOT_DROPPED] == text, "one unanswered drop is waited for"


def test_that_all_is_well_is_told_once_for_the_process_before() -> None:
    played = Played(published)
    kinds = {Kind.SETTLING_FAILS, Kind.UPSERT_NOT_DROPPED, Kind.UPSERT_ENDS_LOST}
    played.server.days.clear()
    asyncio.run(played.keep_until(lambda: played.told.keys() == kinds))
    assert not any(played.told.values())


def test_a_drop_that_passes_at_last_is_told_no_more() -> None:
    played = Played(published)

    def is_over() -> bool:
        if played.told.get(Kind.UPSERT_NOT_DROPPED):
            played.server.refused.clear()
        return not played.server.refused and not played.told[Kind.UPSERT_NOT_DROPPED]

    asyncio.run(played.keep_until(is_over))
    assert not played.server.days


def test_a_settling_that_fails_is_told_and_tried_again_within_a_minute_at_its_point() -> None:
    def fails_once(plan: SettlePlan) -> Settled:
        if len(played.plans) == 1:
            played.ticks.tick += 1
            raise AWAY
        return published(plan)

    played = Played(fails_once, step_seconds=20.0)

    def is_over() -> bool:
        return len(played.plans) > 1 and not played.told[Kind.SETTLING_FAILS]

    asyncio.run(played.keep_until(is_over))
    assert "gone" in played.all_told
    assert [(plan.point, plan.is_begun) for plan in played.plans[:2]] == [(100, False), (100, True)]
    assert played.seconds < HOUR


def test_lost_ends_are_told_with_the_servers_that_had_them_and_looked_at_now_and_then() -> None:
    def lost(plan: SettlePlan) -> Settled:
        failures = {"a:9000": "has 3 keys whose newest row is unsure"}
        return Settled(plan, failures=failures, are_ends_lost=True)

    played = Played(lost, step_seconds=10.0)
    played.ticks.horizon = TickRow(1, 99, What.HORIZON, 99 * DAY_MS)
    played.ticks.points = [TickRow(1, 99, What.SETTLED, 99 * DAY_MS, servers=("gone",))]
    asyncio.run(played.keep_until(lambda: len(played.plans) > 1))
    assert played.seconds > LOST_SECONDS
    text = played.told[Kind.UPSERT_ENDS_LOST]
    assert "behind the horizon, tick 99" in text
    assert "a:9000 has 3 keys" in text
    assert "Bring back one of those that had it: gone;" in text


def test_lost_ends_stay_told_while_no_server_can_be_asked() -> None:
    def lost_at_first(plan: SettlePlan) -> Settled:
        return Settled(plan, are_ends_lost=len(played.plans) == 1)

    played = Played(lost_at_first)
    asyncio.run(played.keep_until(lambda: len(played.plans) > 2))
    assert played.told[Kind.UPSERT_ENDS_LOST]


def test_a_server_that_the_newest_point_lacks_is_settled_no_faster_than_once_a_pause() -> None:
    """The table rests: its newest claim is the point."""
    pauses: list[float] = []

    def without_it(plan: SettlePlan) -> Settled:
        pauses.append(played.seconds)
        return Settled(plan, is_published=True)

    played = Played(without_it, step_seconds=1.0)
    played.ticks.points = [TickRow(1, 100, What.SETTLED, 100 * DAY_MS, servers=("other",))]
    asyncio.run(played.keep_until(lambda: len(pauses) > 3))
    assert min(b - a for a, b in pairwise(pauses)) > AGAIN_SECONDS


def test_a_run_upon_tables_that_were_made_anew_knows_nothing_of_those_before() -> None:
    played = Played(published)
    asyncio.run(played.keep_until(lambda: played.plans))
    played.ticks = Ticks(tick=3)
    asyncio.run(played.keep_until(lambda: played.plans[-1].point == 3))
    assert played.plans[-1].horizon in (0, 2), "not that of the tables before"
