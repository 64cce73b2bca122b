"""Settings of Python under which the screen's thread is not held up by the others."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SWITCH_SECONDS = 0.001
"""Time for which a thread runs while another waits; Python's 5 ms are seen when keys are held."""
FULL_COLLECTION_NEVER = 1_000_000
FULL_COLLECTION_SECONDS = 600.0
"""Time between two full collections: each holds all threads for some 80 ms at 10,000 partitions."""


@contextmanager
def screen_first(collection_seconds: float = FULL_COLLECTION_SECONDS) -> Iterator[None]:
    """Lets threads change places often, and makes full collections rare."""
    thresholds, interval = gc.get_threshold(), sys.getswitchinterval()
    ended = threading.Event()
    gc.set_threshold(*thresholds[:2], FULL_COLLECTION_NEVER)
    sys.setswitchinterval(SWITCH_SECONDS)
    collector = threading.Thread(
        target=_collect, args=(ended, collection_seconds), name="collector", daemon=True
    )
    collector.start()
    try:
        yield
    finally:
        ended.set()
        gc.set_threshold(*thresholds)
        sys.setswitchinterval(interval)


def _collect(ended: threading.Event, seconds: float) -> None:
    while not ended.wait(seconds):
        gc.collect()


def keep_imported() -> None:
    """Takes what was imported out of further collections."""
    gc.freeze()
