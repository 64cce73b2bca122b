"""Loads that are cancelled; tests/live/test_block_loading.py has those into real replicas."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress
from typing import Any

import numpy as np

from aggregator.loader.block_loading import BlockLoading
from aggregator.loader.pause_watch import PauseWatch
from aggregator.store.block_name import BlockName
from aggregator.store.outgoing_block import OutgoingBlock
from aggregator.store.recognition import Identities
from aggregator.store.retry import RetryPolicy
from aggregator.tables.native_block import NativeBlock

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


def block() -> OutgoingBlock:
    native = NativeBlock((), (), (), 0)
    return OutgoingBlock(
        name=BlockName("feed", "east", "hits", 0, "hits", 0, 1),
        native=native,
        identities=Identities(np.zeros(1, np.int64), np.zeros(1, np.int64)),
        has_coordinates=True,
        is_as_intended=True,
        sealed_at_ms=time.time_ns() // 1_000_000,
        moment=None,
        rest=lambda _: native,
    )


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
