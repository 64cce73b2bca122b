"""Claims about the active plan in Redis: the latest is written, and an outage is reported once."""

import asyncio
import queue
from contextlib import suppress

import pytest

from balancer.carrier_plan import Plan
from balancer.topic_partition import TopicPartition
from replicator.mirror.driver.active_plan_publisher import ActivePlanPublisher
from replicator.mirror.driver.planner import Planned

PAUSED = TopicPartition("orders", 1)


class Board:
    """Board that fails as often as it is told to."""

    def __init__(self, failures=0):
        self.shown = queue.Queue()
        self._failures = failures

    def show_plan(self, active):
        self.shown.put(active)
        if self._failures:
            self._failures -= 1
            raise ConnectionError("Redis is away")

    async def next(self):
        return await asyncio.to_thread(self.shown.get, timeout=5.0)


def planned(version):
    return Planned(Plan(version), (("west.east", "default", 3),), {"a": (), "b": (PAUSED,)})


@pytest.fixture
async def keep():
    """Has a publisher keep its plan until the end of the test."""
    tasks = []

    def begin(publisher):
        tasks.append(asyncio.ensure_future(publisher.keep()))

    yield begin
    for task in tasks:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_a_changed_plan_is_written_at_once(keep):
    board = Board()
    publisher = ActivePlanPublisher(lambda: board)
    keep(publisher)
    publisher.show(planned(7), slots=2)
    first = await board.next()
    assert (first.plan.version, first.slots, first.paused) == (7, 2, (("b", (PAUSED,)),))
    publisher.show(planned(7), slots=3)
    again = await board.next()
    assert (again.slots, again.posted_at) == (3, first.posted_at)
    publisher.show(planned(8), slots=3)
    assert (await board.next()).posted_at > first.posted_at


async def test_an_outage_is_reported_once_and_again_after_a_success(keep, caplog):
    board = Board(failures=2)
    publisher = ActivePlanPublisher(lambda: board)
    keep(publisher)
    for version in range(4):
        publisher.show(planned(version), slots=1)
        await board.next()
    assert caplog.messages.count("event=plan-not-shown Redis is away") == 1


async def test_a_board_that_cannot_be_made_yet_is_made_later(keep, caplog):
    board, failures = Board(), [OSError("no password file")]

    def make():
        if failures:
            raise failures.pop()
        return board

    publisher = ActivePlanPublisher(make)
    keep(publisher)
    publisher.show(planned(1), slots=1)
    await asyncio.sleep(0.01)
    publisher.show(planned(2), slots=1)
    assert (await board.next()).plan.version == 2
    assert caplog.messages == ["event=plan-not-shown no password file"]
