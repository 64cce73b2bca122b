"""Blocking work beside the event loop, in threads that never delay the end of the process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

Result = TypeVar("Result")


def run_in_thread(function: Callable[..., Result], *arguments: object) -> asyncio.Future[Result]:
    """Runs a function in a thread; the future has its result or error. Nobody needs to await it.

    Not asyncio.to_thread: its threads are joined at exit, even those that wait for a Spark that is
    still starting or for a broker that does not answer.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def deliver(give: Callable[..., None], what: object) -> None:
        if not future.done():
            give(what)

    def work() -> None:
        try:
            result = function(*arguments)
        except BaseException as error:
            answer: tuple[Callable[..., None], object] = (future.set_exception, error)
        else:
            answer = (future.set_result, result)
        # The loop is closed when the daemon has ended meanwhile.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(deliver, *answer)

    # An object that can be called has no name of its own.
    name = getattr(function, "__name__", type(function).__name__)
    threading.Thread(target=work, name=f"aside-{name}", daemon=True).start()
    return future
