"""Pause watch: notices that the process stood still, as under SIGSTOP or in a suspended machine.

A loader that stood still may have lost its partitions, and others may have sent its blocks.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

PAUSE_SECONDS = 5.0
BEATS_PER_PAUSE = 5


class PauseWatch:
    """Watch over the event loop while somebody runs it.

    Args:
        pause_seconds: no shorter pause is noticed.
    """

    def __init__(self, pause_seconds: float = PAUSE_SECONDS) -> None:
        self.pause_seconds = pause_seconds
        self._beat_at = time.monotonic()
        self._paused_at = float("-inf")
        self._users = 0
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Watches the event loop inside of the `with` block."""
        if not self._users:
            self._beat_at = time.monotonic()
            self._task = asyncio.create_task(self._run())
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            if not self._users and self._task:
                self._task.cancel()

    def was_paused(self, since: float) -> bool:
        """Returns True if a pause ended after a time of the monotonic clock."""
        self._beat()
        return self._paused_at > since

    async def _run(self) -> None:
        while True:
            self._beat()
            await asyncio.sleep(self.pause_seconds / BEATS_PER_PAUSE)

    def _beat(self) -> None:
        now = time.monotonic()
        if now - self._beat_at > self.pause_seconds:
            self._paused_at = now
        self._beat_at = now
