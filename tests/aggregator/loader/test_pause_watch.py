"""A pause of the process is noticed by whoever asks afterwards, and nothing else is one."""

from __future__ import annotations

import asyncio
import time

from aggregator.loader.pause_watch import PauseWatch

PAUSE_SECONDS = 0.2


def stand_still() -> None:
    time.sleep(2 * PAUSE_SECONDS)


async def test_a_pause_is_noticed_by_those_who_decided_before_it():
    watch = PauseWatch(PAUSE_SECONDS)
    async with watch.running():
        before = time.monotonic()
        stand_still()
        assert watch.was_paused(since=before)
        assert watch.was_paused(since=before)
        assert not watch.was_paused(since=time.monotonic())


async def test_waiting_is_no_pause():
    watch = PauseWatch(PAUSE_SECONDS)
    before = time.monotonic()
    async with watch.running():
        await asyncio.sleep(2 * PAUSE_SECONDS)
        assert not watch.was_paused(since=before)


async def test_time_in_which_nobody_watches_is_no_pause():
    watch = PauseWatch(PAUSE_SECONDS)
    async with watch.running():
        pass
    stand_still()
    async with watch.running(), watch.running():
        assert not watch.was_paused(since=0.0)
