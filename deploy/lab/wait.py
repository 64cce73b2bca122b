"""Waiting for something to become true, with an end to it."""

import time
from collections.abc import Callable


def until(
    condition: Callable[[], object], timeout_seconds: float, every_seconds: float = 0.05
) -> bool:
    """Whether the condition came true in time; it is asked at least once."""
    give_up_at = time.monotonic() + timeout_seconds
    while not condition():
        if time.monotonic() >= give_up_at:
            return False
        time.sleep(every_seconds)
    return True
