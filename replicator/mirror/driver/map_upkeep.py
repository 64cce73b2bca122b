"""Upkeep of a region's offset maps in Redis, beside the driver."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from replicator.runtime.run_in_thread import run_in_thread

log = logging.getLogger(__name__)

UPKEEP_SECONDS = 30.0


class Keeper(Protocol):
    """Keeper of the maps; `keep` does one round and blocks."""

    def keep(self) -> object: ...


async def keep_maps(make_keeper: Callable[[], Keeper], seconds: float = UPKEEP_SECONDS) -> None:
    """Has the maps kept again and again, whatever fails. Runs until cancelled.

    Args:
        make_keeper: called again until it succeeds, as the password file of Redis may be missing
            for a moment.
        seconds: pause between two rounds.
    """
    keeper: Keeper | None = None
    while True:
        try:
            keeper = keeper or make_keeper()
            await run_in_thread(keeper.keep)
        except Exception:
            log.exception("event=runs-not-kept")
        await asyncio.sleep(seconds)
