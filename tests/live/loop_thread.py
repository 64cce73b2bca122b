"""An event loop in a thread of its own, so that a test reads from top to bottom."""

from __future__ import annotations

import asyncio
import selectors
import threading
from collections.abc import Awaitable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from deploy.lab.wait import until

T = TypeVar("T")


class LoopThread:
    """An event loop that runs until `close`."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._loop = asyncio.SelectorEventLoop(self._selector)
        self._idle = len(self._selector.get_map())
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def spawn(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Starts a coroutine that runs beside the test."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def wait(self, work: Awaitable[T]) -> T:
        """Waits at most 60 s for the result."""

        async def awaited() -> T:
            return await work

        return self.spawn(awaited()).result(60)

    def settle(self) -> None:
        """Waits at most 20 s until all remaining tasks have ended, also cancelled ones."""
        self.wait(_settled())

    def disconnect(self) -> None:
        """Waits at most 20 s until no connection is left. One with TLS is closed once its peer has
        answered; a loop that is closed before leaves its transport to the garbage collector."""
        assert until(lambda: len(self._selector.get_map()) <= self._idle, 20, 0.01)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _settled() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    if left:
        await asyncio.wait(left, timeout=20)
