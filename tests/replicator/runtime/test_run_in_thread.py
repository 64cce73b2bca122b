"""Claims about work in threads: it returns, it raises, and it never keeps a process alive."""

import subprocess
import sys
import threading

import pytest

from replicator.runtime.run_in_thread import Panic, run_in_thread


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
