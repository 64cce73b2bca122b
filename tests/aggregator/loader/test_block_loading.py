"""Block loading: blocks are sent until they are stored, and a pause of the process is noticed."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from aggregator.loader.block_loading import BlockLoading, BlockRefused
from aggregator.loader.pause_watch import PauseWatch
from aggregator.store.block_name import BlockName
from aggregator.store.insert_errors import ErrorClass, InsertProblem
from aggregator.store.outgoing_block import OutgoingBlock
from aggregator.store.recognition import Decision, Identities, Verdict
from aggregator.store.retry import RetryPolicy
from aggregator.store.shard_store import NotStored
from aggregator.tables.native_block import NativeBlock

# -- Loads that are cancelled or late; tests/live/test_block_loading.py has those into replicas.

PAUSE_SECONDS = 0.3


class SlowStore:
    """Store whose insert waits for a server, and sends the block if it is not too late."""

    quorum = 0

    def __init__(self) -> None:
        self.begun, self.answered, self.ended = (threading.Event() for _ in range(3))
        self.sent: list[str] = []

    def insert(self, block: OutgoingBlock, _: NativeBlock, __: str, not_after: float) -> None:
        self.begun.set()
        self.answered.wait()
        if time.monotonic() <= not_after:
            self.sent.append(str(block.name))
        self.ended.set()


def block(**sealed: Any) -> OutgoingBlock:
    """Returns a block that was sealed now, or as given."""
    return OutgoingBlock(
        name=BlockName("feed", "east", "hits", 0, "hits", 0, 1),
        rows=None,  # nothing of it is encoded again
        native=NativeBlock((), (), (), 0),
        identities=Identities(np.zeros(1, np.int64), np.zeros(1, np.int64)),
        has_coordinates=True,
        is_as_intended=True,
        **{"sealed_at_ms": time.time_ns() // 1_000_000, **sealed},
        moment=None,
    )


class LookedAt:
    """Store that has every block it is asked for."""

    quorum, insert_seconds = 0, 1.0

    def __init__(self) -> None:
        self.calls: list[str] = []

    def look(self, *_: Any, **__: Any) -> Decision:
        self.calls.append("look")
        return Decision(Verdict.DONE)

    def insert(self, *_: Any) -> None:
        self.calls.append("insert")


@pytest.mark.parametrize(
    ("set_back_seconds", "stood_still", "first"),
    [(0, False, "insert"), (0, True, "look"), (3600, True, "look"), (-3600, False, "look")],
)
async def test_a_loader_that_stood_still_looks_for_its_block_though_its_clock_was_set(
    set_back_seconds, stood_still, first
):
    store: Any = LookedAt()
    age_seconds = 10 * PAUSE_SECONDS if stood_still else 0.0
    sealed = {
        "sealed_at_ms": int((time.time() - age_seconds + set_back_seconds) * 1000),
        "sealed_at": time.monotonic() - age_seconds,
    }
    policy = RetryPolicy(pause_seconds=0.05, pause_seconds_max=0.5)
    watch = PauseWatch(PAUSE_SECONDS)
    loading = BlockLoading(store, policy, asyncio.Semaphore(1), "feed=feed", watch)
    await loading.load(block(**sealed), is_doubtful=False)
    assert store.calls == [first]


class Refuses(LookedAt):
    """Store that refuses inserts twice."""

    def insert(self, *_: Any) -> None:
        super().insert()
        if len(self.calls) < 3:
            raise NotStored(InsertProblem(ErrorClass.STOP, 497, "no right", may_be_stored=False))


@pytest.mark.parametrize("has_coordinates", [True, False])
async def test_a_block_that_is_refused_waits_without_its_forms_if_it_can_be_recognized(
    has_coordinates,
):
    store: Any = Refuses()
    policy = RetryPolicy(pause_seconds=0.05, pause_seconds_max=0.05)
    loading = BlockLoading(store, policy, asyncio.Semaphore(1), "feed=feed")
    refused = replace(block(), has_coordinates=has_coordinates)
    if has_coordinates:
        with pytest.raises(BlockRefused, match="no right") as caught:
            await loading.load(refused, is_doubtful=False)
        assert 0.025 <= caught.value.pause_seconds <= 0.05 and loading.refuses("hits")
        await loading.load(refused, is_doubtful=True)
        assert store.calls == ["insert", "look"]
    else:
        await loading.load(refused, is_doubtful=False)
        assert store.calls == ["insert"] * 3
    assert not loading.refuses("hits")


class Holds(LookedAt):
    """Store that refuses the first insert, as its table has too many parts for a while."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = iter([300, 300, 300, 10])

    def insert(self, *_: Any) -> None:
        super().insert()
        if self.calls == ["insert"]:
            problem = InsertProblem(ErrorClass.HOLD_TABLE, 252, "parts", may_be_stored=False)
            raise NotStored(problem)

    def most_parts(self, _: str) -> int:
        return next(self.parts)


@pytest.mark.parametrize(("pause_seconds", "then"), [(60.0, "insert"), (0.5, "look")])
async def test_a_block_whose_table_was_held_for_long_is_looked_for(pause_seconds, then):
    """A successor may have sent it meanwhile, formed of what a loss had left of it: it would not be
    recognized as a repeat."""
    store: Any = Holds()
    policy = RetryPolicy(pause_seconds=0.3, pause_seconds_max=0.3)
    watch = PauseWatch(pause_seconds)
    loading = BlockLoading(store, policy, asyncio.Semaphore(1), "feed=feed", watch)
    await loading.load(block(), is_doubtful=False)
    assert store.calls == ["insert", then]


async def cancelled_load(store: Any) -> asyncio.Task[None]:
    """Returns the load of a block that was cancelled before the block was sent."""
    loading = BlockLoading(
        store,
        RetryPolicy(pause_seconds=0.05, pause_seconds_max=0.5),
        asyncio.Semaphore(1),
        "feed=feed",
        PauseWatch(PAUSE_SECONDS),
    )
    task = asyncio.create_task(loading.load(block(), is_doubtful=False))
    await asyncio.to_thread(store.begun.wait)
    task.cancel()
    await asyncio.wait([task], timeout=PAUSE_SECONDS / 10)
    return task


async def test_a_load_ends_once_its_block_can_be_found_or_is_not_sent_any_more():
    """A look right behind it would have the block sent a second time."""
    store = SlowStore()
    task = await cancelled_load(store)
    assert not task.done() and not store.sent
    store.answered.set()
    with suppress(asyncio.CancelledError):
        await task
    assert store.sent == [str(block().name)]


async def test_a_load_that_is_cancelled_waits_for_no_server_longer_than_its_block_may_be_sent():
    store = SlowStore()
    task = await cancelled_load(store)
    with suppress(asyncio.CancelledError):
        await task
    store.answered.set()
    await asyncio.to_thread(store.ended.wait)
    assert not store.sent


# -- A pause of the process is noticed by whoever asks afterwards, and nothing else is one.

NOTICED_SECONDS = 0.2


def stand_still() -> None:
    time.sleep(2 * NOTICED_SECONDS)


async def test_a_pause_is_noticed_by_those_who_decided_before_it():
    watch = PauseWatch(NOTICED_SECONDS)
    async with watch.running():
        before = time.monotonic()
        stand_still()
        assert watch.was_paused(since=before)
        assert watch.was_paused(since=before)
        assert not watch.was_paused(since=time.monotonic())


async def test_waiting_is_no_pause():
    watch = PauseWatch(NOTICED_SECONDS)
    before = time.monotonic()
    async with watch.running():
        await asyncio.sleep(2 * NOTICED_SECONDS)
        assert not watch.was_paused(since=before)


async def test_time_in_which_nobody_watches_is_no_pause():
    watch = PauseWatch(NOTICED_SECONDS)
    async with watch.running():
        pass
    stand_still()
    async with watch.running(), watch.running():
        assert not watch.was_paused(since=0.0)
