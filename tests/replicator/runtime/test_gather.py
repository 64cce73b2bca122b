"""Gathered requests never run on alone."""

import asyncio

import pytest

from replicator.runtime.gather import gather_or_cancel


async def after(turns: int, answer: int) -> int:
    for _ in range(turns):
        await asyncio.sleep(0)
    return answer


async def test_answers_come_in_the_order_asked():
    assert await gather_or_cancel(after(3, 1), after(0, 2), after(1, 3)) == [1, 2, 3]
    assert await gather_or_cancel() == []


async def test_what_is_still_under_way_when_one_fails_has_ended_before_the_failure_is_told():
    ended = []

    async def endless() -> int:
        try:
            return await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append(True)

    async def failing() -> int:
        await asyncio.sleep(0)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await gather_or_cancel(endless(), failing(), endless())
    assert ended == [True, True]


async def test_cancelled_it_cancels_all():
    ended = []

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    asking = asyncio.ensure_future(gather_or_cancel(endless(), endless()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert ended == [True, True]
