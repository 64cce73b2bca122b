"""Clock and sleep, as defaults of arguments and fields.

A default is taken down once, when its module is loaded; these ask `time` at each call, so that code
runs on another time unchanged.
"""

from __future__ import annotations

import time


def monotonic() -> float:
    """Returns seconds of a clock that never goes back."""
    return time.monotonic()


def unix_seconds() -> float:
    """Returns the Unix time, by the clock of this host."""
    return time.time()


def sleep(seconds: float) -> None:
    """Sleeps for some seconds."""
    time.sleep(seconds)
