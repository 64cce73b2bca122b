"""An event loop on a thread of its own, so that a test reads from top to bottom."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """Runs from the start until it is closed."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def spawn(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """What runs beside the test."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def wait(self, work: Awaitable[T]) -> T:
        """What it comes to."""

        async def awaited() -> T:
            return await work

        return self.spawn(awaited()).result(60)

    def settle(self) -> None:
        """What was cancelled has also come to its end."""
        self.wait(_settled())

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _settled() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    if left:
        await asyncio.wait(left, timeout=20)
