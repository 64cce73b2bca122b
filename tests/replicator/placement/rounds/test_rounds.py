"""Rounds close every connection that they opened, even after one that cannot be closed."""

from __future__ import annotations

import asyncio

import pytest

from replicator.placement.rounds import rounds
from replicator.placement.rounds.rounds import Rounds
from tests.replicator.placement.rounds.connections import APPLIANCE, Connections


async def test_closing_closes_the_board_the_report_stores_and_the_watches(monkeypatch):
    connections = Connections({("SourceWatch", "close"): lambda: asyncio.sleep(0)})
    connections.replace(monkeypatch, rounds, "StatusBoard", "OffsetStore", "SourceWatch")
    await Rounds(APPLIANCE, "east", "bob@ops pid 7").close()
    assert len(connections.opened) == 5
    assert sorted(connections.closed) == sorted(connections.opened)


async def test_what_cannot_be_closed_keeps_nothing_else_open(monkeypatch):
    connections = Connections({("SourceWatch", "close"): OSError("cut")})
    connections.replace(monkeypatch, rounds, "StatusBoard", "OffsetStore", "SourceWatch")
    with pytest.raises(OSError, match="cut"):
        await Rounds(APPLIANCE, "east", "bob@ops pid 7").close()
    assert sorted(connections.closed) == sorted(connections.opened)
