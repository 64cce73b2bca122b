"""Claims about the upkeep of offset maps: nothing that fails ends it."""

import asyncio
import threading
from contextlib import suppress

from replicator.mirror.driver.daemon import keep_maps


class Keeper:
    def __init__(self):
        self.rounds = 0
        self.is_third = threading.Event()

    def keep(self):
        self.rounds += 1
        if self.rounds == 1:
            raise ConnectionError("Redis is away")
        if self.rounds == 3:
            self.is_third.set()


async def test_upkeep_goes_on_after_a_missing_password_and_a_failed_round():
    keeper, failures = Keeper(), [OSError("no password file"), OSError("no password file")]

    def make():
        if failures:
            raise failures.pop()
        return keeper

    keeping = asyncio.ensure_future(keep_maps(make, seconds=0.001))
    assert await asyncio.to_thread(keeper.is_third.wait, 5.0)
    assert not keeping.done()
    keeping.cancel()
    with suppress(asyncio.CancelledError):
        await keeping
