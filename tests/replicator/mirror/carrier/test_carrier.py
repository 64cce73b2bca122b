"""Pauses between carrier sessions: short after one that lasted, growing after short ones."""

import asyncio
import time
from types import SimpleNamespace

import pytest

from replicator.config.topology import Route
from replicator.kafka.client.cluster import ProducerStateLost
from replicator.mirror.carrier import carrier
from replicator.mirror.carrier.assignment import Assignment
from replicator.spark.driver_command import Term


@pytest.mark.parametrize(
    ("lasted", "pauses"),
    [(5.1, [0.05, 0.05, 0.05]), (4.9, [0.1, 0.2, 0.4])],
    ids=["long", "briefly"],
)
def test_only_a_session_that_has_lasted_is_followed_by_the_next_at_once(
    monkeypatch, lasted, pauses
):
    sessions, waited = [], []
    now = [0.0]

    class Failing:
        async def run(self):
            now[0] += lasted
            if len(sessions) <= len(pauses):
                raise ProducerStateLost("west>east")

    def failing(*_):
        sessions.append(Failing())
        return sessions[-1]

    async def sleep(seconds):
        waited.append(seconds)

    clock = SimpleNamespace(time=time.time, monotonic=lambda: now[0])
    monkeypatch.setattr(carrier, "time", clock)
    monkeypatch.setattr("random.uniform", lambda *_: 1.0)
    monkeypatch.setattr(carrier.asyncio, "sleep", sleep)
    assignment = Assignment(Route("west", "east"), 0, (), Term(1, 0), 1, time.time() + 60)
    asyncio.run(carrier.carry(None, assignment, failing))  # type: ignore[arg-type]
    assert waited == pytest.approx(pauses)
