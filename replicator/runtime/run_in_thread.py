"""Blocking work beside the event loop, in threads that never delay the end of the process."""

from __future__ import annotations

import asyncio
import errno
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import ParamSpec, TypeVar

from typing_extensions import override

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


class Panic(RuntimeError):
    """A native library gave up the work: its error is of no class that callers know."""


class DaemonThreads(Executor):
    """Executor with a thread for each call, which the end of the process does not wait for."""

    @override
    def submit(
        self,
        fn: Callable[Arguments, Result],
        /,
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Future[Result]:
        future: Future[Result] = Future()
        # From here on the future cannot be cancelled: the thread always delivers.
        future.set_running_or_notify_cancel()

        def work() -> None:
            try:
                result = fn(*args, **kwargs)
            except (Exception, SystemExit, KeyboardInterrupt) as error:
                future.set_exception(error)
            except BaseException as error:
                # It is an error of this work, and no reason to end all other tasks.
                panic = Panic(f"{type(error).__name__}: {error}")
                panic.__cause__ = error
                future.set_exception(panic)
            else:
                future.set_result(result)

        # An object that can be called has no name of its own.
        name = getattr(fn, "__name__", type(fn).__name__)
        thread = threading.Thread(target=work, name=f"aside-{name}", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            # The process has too many threads, whatever this one was to do.
            raise BlockingIOError(errno.EAGAIN, str(error)) from error
        return future


THREADS = DaemonThreads()


def run_in_thread(function: Callable[..., Result], *arguments: object) -> asyncio.Future[Result]:
    """Runs a function in a thread; the future has its result or error. Nobody needs to await it.

    Not asyncio.to_thread: its threads are joined at exit, even those that wait for a Spark that is
    still starting or for a broker that does not answer.
    """
    # By way of the loop: one on virtual time has another way to run it.
    return asyncio.get_running_loop().run_in_executor(THREADS, function, *arguments)
