"""Waiting for a condition, with a timeout."""

import time
from collections.abc import Callable


def until(
    condition: Callable[[], object], timeout_seconds: float, every_seconds: float = 0.05
) -> bool:
    """Returns True if the condition became true in time. Checks at least once."""
    give_up_at = time.monotonic() + timeout_seconds
    while not condition():
        if time.monotonic() >= give_up_at:
            return False
        time.sleep(every_seconds)
    return True
