"""Rounds of a balancer: when one runs, what it closes, and previews."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from balancer.carrier_plan import Plan
from balancer.decision.placement import Scope
from replicator.config.topology import Route
from replicator.orders.active_plan import ActivePlan
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import Uptime
from replicator.placement.rounds.preview import NoDriver, previews
from replicator.placement.rounds.round_schedule import RoundSchedule
from replicator.placement.rounds.rounds import Rounds
from replicator.placement.rounds.route_inputs import Reports
from replicator.placement.rounds.route_snapshot import RouteSnapshot
from replicator.runtime.store_errors import StoreUnreachable
from tests.replicator.placement.rounds.connections import APPLIANCE, NotedConnections
from tests.replicator.placement.rounds.snapshots import NOW_MS, active_plan, order_log_of, snapshot

# -- Rounds count the uptime of balancers on, and close every connection that they opened.


def rounds(connections: NotedConnections) -> Rounds:
    return Rounds(APPLIANCE, "east", "bob@ops pid 7", connections)


async def test_closing_closes_the_status_board_the_report_stores_and_the_watches() -> None:
    connections = NotedConnections({("SourceWatch", "close"): lambda: asyncio.sleep(0)})
    await rounds(connections).close()
    assert len(connections.opened) == 5
    assert sorted(connections.closed) == sorted(connections.opened)


async def test_a_connection_that_cannot_be_closed_leaves_no_other_one_open() -> None:
    connections = NotedConnections({("SourceWatch", "close"): OSError("cut")})
    with pytest.raises(OSError, match="cut"):
        await rounds(connections).close()
    assert sorted(connections.closed) == sorted(connections.opened)


class SeenPlans:
    """Inputs of a route, which note for how long the driver's plan has been seen."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.source = SimpleNamespace(
            is_loaded=True, has_first_look=lambda: True, set_partitions=lambda _: None
        )

    async def reports(self) -> Reports:
        return {}

    async def snapshot(self, *known: Any) -> RouteSnapshot:
        self.seconds.append(known[5])
        return snapshot(degraded="not measured")


class SeenConnections(NotedConnections):
    def __init__(self, shown: list[ActivePlan]) -> None:
        super().__init__({("StatusBoard", "plan"): lambda: shown.pop(0)})
        self.seen: list[SeenPlans] = []

    def route_inputs(self, route: Route) -> Any:
        self.seen.append(SeenPlans())
        return self.seen[-1]


@pytest.mark.parametrize("ahead_seconds", [-3600.0, 0.0, 3600.0])
async def test_a_plan_of_a_driver_with_another_clock_is_as_old_as_it_was_seen(
    ahead_seconds: float,
) -> None:
    posted = replace(active_plan(), posted_at=NOW_MS / 1000 + ahead_seconds)
    next_one = replace(posted, posted_at=posted.posted_at + 1)
    connections, now = SeenConnections([posted, posted, replace(posted, slots=9), next_one]), [0.0]
    own = Rounds(APPLIANCE, "east", "bob@ops pid 7", connections, lambda: now[0])
    own.update_orders(OrderLog())

    async def write(*_: object) -> None:
        """Writes nothing."""

    for now[0] in (100.0, 140.0, 150.0, 151.0):
        await own.tick(write)
    assert [each.seconds for each in connections.seen] == [[0.0, 40.0, 50.0, 0.0]] * 2


@pytest.mark.parametrize("before_ms", [0, 7_000_000])
def test_the_uptime_of_earlier_balancers_is_counted_on_once_their_records_are_read(
    before_ms: int,
) -> None:
    now = [100.0]
    own = Rounds(APPLIANCE, "east", "bob@ops pid 7", NotedConnections(), lambda: now[0])
    assert own.renewed() == ()
    last = Uptime(route="east", at_ms=1, who="one", uptime_ms=before_ms)
    own.update_orders(order_log_of(last) if before_ms else OrderLog())
    uptimes = []
    for now[0] in (100.0, 110.0, 120.5):
        (found,) = own.renewed()
        assert isinstance(found, Uptime) and found.route == "east"
        uptimes.append(found.uptime_ms - before_ms)
        own.update_orders(order_log_of(found))
    assert uptimes == [0, 10_000, 20_500]


# -- A round runs when its inputs change, when one is urgent, and periodically.


@pytest.fixture
def schedule() -> RoundSchedule:
    schedule = RoundSchedule(60.0)
    assert schedule.is_due("inputs", 100.0, is_urgent=False)
    return schedule


def test_a_round_runs_again_after_its_period(schedule: RoundSchedule) -> None:
    assert not schedule.is_due("inputs", 159.0, is_urgent=False)
    assert schedule.is_due("inputs", 160.0, is_urgent=False)


@pytest.mark.parametrize(("inputs", "is_urgent"), [("others", False), ("inputs", True)])
def test_a_change_or_an_urgent_round_does_not_wait_and_begins_a_new_period(
    schedule: RoundSchedule, inputs: str, is_urgent: bool
) -> None:
    assert schedule.is_due(inputs, 130.0, is_urgent=is_urgent)
    assert not schedule.is_due(inputs, 189.0, is_urgent=False)
    assert schedule.is_due(inputs, 190.0, is_urgent=False)


def test_a_round_that_left_a_route_out_is_repeated_at_once(schedule: RoundSchedule) -> None:
    schedule.repeat()
    assert schedule.is_due("inputs", 101.0, is_urgent=False)


# -- Previews close every connection, however they end.

AWAY = StoreUnreachable("Redis is away")
ANSWERS = {
    ("BalanceLog", "read"): OrderLog(),
    ("StatusBoard", "plan"): ActivePlan(Plan(1, {}), 1, 0.0),
    ("StatusBoard", "rounds"): [],
    ("SourceWatch", "load"): lambda: asyncio.sleep(0),
    ("SourceWatch", "close"): lambda: asyncio.sleep(0),
}
OF_ROUTE = ["StatusBoard", "SourceWatch", "CarrierReports"]


@pytest.mark.parametrize(
    ("answers", "error", "opened"),
    [
        ({("StatusBoard", "plan"): AWAY}, StoreUnreachable, ["StatusBoard"]),
        ({("StatusBoard", "rounds"): AWAY}, StoreUnreachable, ["StatusBoard"]),
        ({("StatusBoard", "plan"): None}, NoDriver, ["StatusBoard"]),
        ({("SourceWatch", "load"): OSError("cut")}, OSError, OF_ROUTE),
        ({("CarrierReports", "reports"): AWAY}, StoreUnreachable, OF_ROUTE),
    ],
)
async def test_a_preview_that_fails_leaves_no_connection_open(
    answers: dict[tuple[str, str], Any], error: type[Exception], opened: list[str]
) -> None:
    connections = NotedConnections(ANSWERS | answers)
    with pytest.raises(error):
        await previews(APPLIANCE, "east", Scope.STICKY, connections)
    assert connections.opened == ["BalanceLog", *opened]
    assert sorted(connections.closed) == sorted(opened)
