"""Work of a task that is kept up: begun again after each failure, until its epoch is over.

A failed task would take down all other work in it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from replicator.runtime.backoff import Backoff
from replicator.spark.driver_command import TermSuperseded

log = logging.getLogger(__name__)

PAUSE_SECONDS = (0.5, 2.0)
OTHER_TERM_SECONDS = 1.0

Result = TypeVar("Result")


async def kept_up(
    work: Callable[[], Awaitable[Result]],
    *,
    who: str,
    failed: str,
    deadline: float,
    note_failure: Callable[[str], object],
) -> Result | None:
    """Returns the work's result; None if a newer driver or the deadline came first.

    Args:
        who: fields that name the work in the log.
        failed: text of the log for a failure, with places for `who` and the pause in seconds.
        deadline: end of the epoch by the monotonic clock, in seconds; no work begins after it.
        note_failure: called with the error in words after each failure.
    """
    backoff = Backoff(*PAUSE_SECONDS)
    while True:
        try:
            return await work()
        except TermSuperseded as error:
            log.info("event=other-term %s: %s", who, error)
            # Not at once: until its driver learns of the newer one, it would start this work again.
            await asyncio.sleep(OTHER_TERM_SECONDS)
            return None
        except Exception as error:
            log.exception(failed, who, backoff.seconds)
            note_failure(f"unexpected {type(error).__name__}: {str(error) or 'no message'}")
        backoff.grow()
        if time.monotonic() + backoff.seconds >= deadline:
            return None
        await asyncio.sleep(backoff.seconds)
