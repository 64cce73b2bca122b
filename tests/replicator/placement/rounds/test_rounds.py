"""Rounds count the uptime of balancers on, and close every connection that they opened."""

from __future__ import annotations

import asyncio

import pytest

from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import Uptime
from replicator.placement.rounds.rounds import Rounds
from tests.replicator.placement.rounds.connections import APPLIANCE, NotedConnections
from tests.replicator.placement.rounds.snapshots import order_log_of


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


@pytest.mark.parametrize("before_ms", [0, 7_000_000])
def test_the_uptime_of_earlier_balancers_is_counted_on_once_their_records_are_read(
    before_ms: int,
) -> None:
    own = rounds(NotedConnections())
    assert own.renewed() == ()
    last = Uptime(route="east", at_ms=1, who="one", uptime_ms=before_ms)
    own.update_orders(order_log_of(last) if before_ms else OrderLog())
    (first,) = own.renewed()
    own.update_orders(order_log_of(first))
    (second,) = own.renewed()
    assert isinstance(first, Uptime) and isinstance(second, Uptime)
    assert before_ms <= first.uptime_ms <= second.uptime_ms < before_ms + 60_000
    assert (first.route, first.who) == ("east", "bob@ops pid 7")
