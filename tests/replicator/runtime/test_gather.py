"""Tests of work that ends as a whole."""

from __future__ import annotations

import asyncio

import pytest

from replicator.runtime.gather import in_own_task


async def test_a_cancellation_is_not_lost_while_a_task_group_ends_because_of_an_error():
    is_ending, goes_on = asyncio.Event(), asyncio.Event()

    async def fails() -> None:
        raise OSError

    async def ends_slowly() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            is_ending.set()
            await goes_on.wait()

    async def group() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(fails())
            tasks.create_task(ends_slowly())

    async def goes_on_after_errors() -> None:
        try:
            await in_own_task(group())
        except* OSError:
            await asyncio.Event().wait()

    working = asyncio.create_task(goes_on_after_errors())
    await is_ending.wait()
    working.cancel()
    goes_on.set()
    async with asyncio.timeout(10):
        await asyncio.wait([working])
    assert working.cancelled()


async def test_the_result_or_the_error_of_work_is_handed_on():
    async def answers(divisor: int) -> int:
        return 6 // divisor

    assert await in_own_task(answers(3)) == 2
    with pytest.raises(ZeroDivisionError):
        await in_own_task(answers(0))
