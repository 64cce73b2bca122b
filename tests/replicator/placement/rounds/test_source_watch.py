"""A source watch closes the history that it reads and writes."""

from __future__ import annotations

from replicator.config.topology import Route
from replicator.placement.rounds.source_watch import SourceWatch
from tests.replicator.placement.rounds.connections import APPLIANCE
from tests.replicator.placement.traffic.test_traffic_history import Remembered


async def test_a_watch_closes_its_history():
    history = Remembered()
    await SourceWatch(APPLIANCE, Route("west", "east"), history).close()
    assert history.is_closed
