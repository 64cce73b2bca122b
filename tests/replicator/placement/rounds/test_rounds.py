"""Rounds close every connection that they opened, even after one that cannot be closed."""

from __future__ import annotations

import asyncio

import pytest

from replicator.placement.rounds.rounds import Rounds
from tests.replicator.placement.rounds.connections import APPLIANCE, NotedConnections


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
