"""Event that does not wait, and records for how long it should have waited."""

from __future__ import annotations

import threading
from collections.abc import Callable


class RecordedWaits(threading.Event):
    """Event that is set by its owner only; `on_wait` is called at each wait."""

    def __init__(self, on_wait: Callable[[], object] = lambda: None) -> None:
        super().__init__()
        self.waited: list[float | None] = []
        self.on_wait = on_wait

    def wait(self, timeout: float | None = None) -> bool:
        self.waited.append(timeout)
        self.on_wait()
        return self.is_set()
