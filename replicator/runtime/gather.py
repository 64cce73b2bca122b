"""Gathered requests: when one fails, none of the others is left running.

asyncio.gather lets the others run on: a commit that was given up would continue to write.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

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
