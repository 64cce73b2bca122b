"""Work that ends as a whole: none is left running when one fails, and no cancellation is lost.

asyncio.gather lets the others run on: a commit that was given up would continue to write.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def gather_or_cancel(*asked: Awaitable[T]) -> list[T]:
    """Returns the answers in the order asked.

    Raises the first failure once all the others have ended.
    """
    tasks = [asyncio.ensure_future(each) for each in asked]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def in_own_task(work: Coroutine[Any, Any, T]) -> T:
    """Returns the result of work that is done in a task of its own.

    In Python 3.11 a task is not cancelled if that is asked of it while a TaskGroup in it ends
    because of an error: who catches the error goes on. Here the cancellation is raised once the
    work has ended.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        raise
    return task.result()
