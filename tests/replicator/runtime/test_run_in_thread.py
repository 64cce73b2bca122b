"""Work in threads, and requests that are gathered."""

import asyncio
import subprocess
import sys
import threading

import pytest

from replicator.runtime.gather import gather_or_cancel
from replicator.runtime.run_in_thread import Panic, run_in_thread

# -- Work in threads: it returns, it raises, and it never keeps a process alive.


async def test_what_the_function_gives_or_raises_arrives():
    assert await run_in_thread(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        await run_in_thread(divmod, 7, 0)


async def test_a_panic_of_a_native_library_is_an_error_of_the_work_alone():
    class NativePanic(BaseException):
        """Panic as pyo3 raises it, which is no Exception."""

    def give_up():
        raise NativePanic("index out of bounds")

    with pytest.raises(Panic, match="NativePanic: index out of bounds"):
        await run_in_thread(give_up)


async def test_a_thread_that_cannot_start_is_an_error_of_the_process():
    before = threading.stack_size(1 << 47)  # no address space has room for it
    try:
        with pytest.raises(OSError, match="can't start new thread"):
            await run_in_thread(divmod, 7, 2)
    finally:
        threading.stack_size(before)


async def test_objects_that_can_be_called_are_run_too():
    class Doubling:
        def __call__(self, number):
            return 2 * number

    assert await run_in_thread(Doubling(), 4) == 8


def test_a_process_ends_while_its_work_aside_never_does():
    program = """
import asyncio, time
from replicator.runtime.run_in_thread import run_in_thread

async def main():
    run_in_thread(time.sleep, 3600)

asyncio.run(main())
"""
    subprocess.run([sys.executable, "-c", program], timeout=20, check=True)


# -- Gathered requests never run on alone.


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
