"""Between two stints a carrier waits: briefly after one that held partitions, else ever longer."""

import asyncio
import time

import pytest

from replicator.carrier import carrier
from replicator.carrier.assignment import Assignment
from replicator.config.topology import Route
from replicator.kafka.cluster import StartOver
from replicator.ledger.word import Term


@pytest.mark.parametrize(
    ("has_taken", "pauses"),
    [(True, [0.05, 0.05, 0.05]), (False, [0.1, 0.2, 0.4])],
    ids=["held partitions", "held none"],
)
def test_only_a_stint_that_held_partitions_is_followed_by_the_next_at_once(
    monkeypatch, has_taken, pauses
):
    stints, waited = [], []

    class Failing:
        def __init__(self, *_):
            self.has_taken = has_taken
            stints.append(self)

        async def run(self):
            if len(stints) <= len(pauses):
                raise StartOver("west>east")

    async def sleep(seconds):
        waited.append(seconds)

    monkeypatch.setattr(carrier, "Stint", Failing)
    monkeypatch.setattr(carrier.random, "uniform", lambda *_: 1.0)
    monkeypatch.setattr(carrier.asyncio, "sleep", sleep)
    assignment = Assignment(Route("west", "east"), 0, (), Term(1, 0), 1, time.time() + 60)
    asyncio.run(carrier.carry(None, assignment))  # type: ignore[arg-type]
    assert waited == pytest.approx(pauses)
