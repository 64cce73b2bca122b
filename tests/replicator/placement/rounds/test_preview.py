"""Previews close every connection, however they end."""

from __future__ import annotations

import asyncio

import pytest

from balancer.decision.placing import Scope
from balancer.plan import Plan
from replicator.orders.active_plan import InForce
from replicator.orders.order_log import Book
from replicator.placement.rounds import preview
from replicator.placement.rounds.preview import NoDriver, previews
from replicator.runtime.store_errors import StoreUnreachable
from tests.replicator.placement.rounds.connections import APPLIANCE, Connections

AWAY = StoreUnreachable("Redis is away")
ANSWERS = {
    ("BalanceLog", "read"): Book(),
    ("Board", "plan"): InForce(Plan(1, {}), 1, 0.0),
    ("Board", "rounds"): [],
    ("SourceWatch", "load"): lambda: asyncio.sleep(0),
    ("SourceWatch", "close"): lambda: asyncio.sleep(0),
}


@pytest.mark.parametrize(
    ("answers", "error", "opened"),
    [
        ({("Board", "plan"): AWAY}, StoreUnreachable, ["Board"]),
        ({("Board", "rounds"): AWAY}, StoreUnreachable, ["Board"]),
        ({("Board", "plan"): None}, NoDriver, ["Board"]),
        ({("SourceWatch", "load"): OSError("cut")}, OSError, ["Board", "SourceWatch"]),
        (
            {("OffsetStore", "reports"): AWAY},
            StoreUnreachable,
            ["Board", "SourceWatch", "OffsetStore"],
        ),
    ],
)
async def test_a_preview_that_fails_leaves_no_connection_open(monkeypatch, answers, error, opened):
    connections = Connections(ANSWERS | answers)
    names = ("BalanceLog", "Board", "SourceWatch", "OffsetStore")
    connections.replace(monkeypatch, preview, *names)
    with pytest.raises(error):
        await previews(APPLIANCE, "east", Scope.STICKY)
    assert connections.opened == ["BalanceLog", *opened]
    assert sorted(connections.closed) == sorted(opened)
