"""Previews close every connection, however they end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from balancer.carrier_plan import Plan
from balancer.decision.placement import Scope
from replicator.orders.active_plan import ActivePlan
from replicator.orders.order_log import OrderLog
from replicator.placement.rounds.preview import NoDriver, previews
from replicator.runtime.store_errors import StoreUnreachable
from tests.replicator.placement.rounds.connections import APPLIANCE, NotedConnections

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
