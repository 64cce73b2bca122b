"""Pauses between carrier sessions, and the end of a session.

A session that lasted is followed by a short pause; after short sessions the pause doubles.
"""

import asyncio
import time
from types import SimpleNamespace

import pytest

from replicator.config.topology import Appliance, Route
from replicator.kafka.client.cluster import ProducerStateLost
from replicator.mirror.carrier import carrier
from replicator.mirror.carrier.assignment import Assignment
from replicator.mirror.carrier.carrier_session import CarrierSession
from replicator.mirror.carrier.receipt_book import ReceiptBook
from replicator.spark.driver_command import Term


@pytest.mark.parametrize(
    ("lasted", "pauses"),
    [(5.1, [0.05, 0.05, 0.05]), (4.9, [0.1, 0.2, 0.4])],
    ids=["long", "briefly"],
)
def test_only_a_stint_that_has_lasted_is_followed_by_the_next_at_once(monkeypatch, lasted, pauses):
    stints, waited = [], []
    now = [0.0]

    class Failing:
        def __init__(self, *_):
            stints.append(self)

        async def run(self):
            now[0] += lasted
            if len(stints) <= len(pauses):
                raise ProducerStateLost("west>east")

    async def sleep(seconds):
        waited.append(seconds)

    clock = SimpleNamespace(time=time.time, monotonic=lambda: now[0])
    monkeypatch.setattr(carrier, "time", clock)
    monkeypatch.setattr(carrier, "CarrierSession", Failing)
    monkeypatch.setattr("random.uniform", lambda *_: 1.0)
    monkeypatch.setattr(carrier.asyncio, "sleep", sleep)
    assignment = Assignment(Route("west", "east"), 0, (), Term(1, 0), 1, time.time() + 60)
    asyncio.run(carrier.carry(None, assignment))  # type: ignore[arg-type]
    assert waited == pytest.approx(pauses)


def region(port: int) -> dict[str, object]:
    """Returns a region whose servers do not exist."""
    return {
        "regional": {"bootstrap": [f"127.0.0.1:{port}"]},
        "aggregate": {"bootstrap": [f"127.0.0.1:{port + 1}"]},
        "redis": f"redis://127.0.0.1:{port + 2}/0",
    }


def a_stint(seconds: float) -> CarrierSession:
    appliance = Appliance.model_validate(
        {"regions": {"west": region(1), "east": region(4)}, "routes": ["west>east"]}
    )
    assignment = Assignment(Route("west", "east"), 0, (), Term(1, 0), 1, time.time() + seconds)
    return CarrierSession(appliance, assignment, ReceiptBook(assignment))


@pytest.mark.parametrize("spins", range(4))
@pytest.mark.parametrize(
    ("loop", "event"),
    [
        (lambda session: session._keep_ledger(), lambda session: session._uncovered),
        (lambda session: session._senders.run(), lambda session: session._senders.took),
        (lambda session: session._reader.run(), lambda session: session._reader.changed),
    ],
    ids=["ledger", "senders", "reader"],
)
async def test_a_loop_that_is_cancelled_just_as_what_it_waits_for_happens_ends(loop, event, spins):
    """A session waits for its loops: one that missed its cancellation would block it for good."""
    session = a_stint(60)
    running = asyncio.create_task(loop(session))
    await asyncio.sleep(0.01)
    event(session).set()
    for _ in range(spins):
        await asyncio.sleep(0)
    running.cancel()
    done, _ = await asyncio.wait([running], timeout=5)
    running.cancel()
    assert done


async def test_a_stint_that_gets_no_answer_ends_with_its_epoch(monkeypatch):
    session = a_stint(0.1)

    async def unanswered():
        await asyncio.Event().wait()

    async def closed():
        pass

    monkeypatch.setattr(session, "_open", unanswered)
    monkeypatch.setattr(session, "_close", closed)
    async with asyncio.timeout(5):
        await session.run()
