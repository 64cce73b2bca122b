"""Blocking code in a world: runs in a thread that waits for virtual time.

The loop and its threads never run at the same time: the loop waits while a thread works, and the
thread waits while the loop goes on. So each seed still decides everything. A blocking Redis client
gets a socket whose bytes go over the world's network.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cache
from typing import Any, TypeVar

import redis.connection
import redis.utils

Result = TypeVar("Result")
_HERE = threading.local()
HAS_THREADS: ContextVar[bool] = ContextVar("has threads", default=False)
"""True in processes of which work for other threads takes virtual time."""
CHUNK_BYTES = 1 << 16


class Abandoned(BaseException):
    """The process of this thread is dead: nothing that it still wants to do happens."""


class _Baton:
    """Baton between the loop and one thread: whoever has it runs."""

    def __init__(self) -> None:
        self.loop_may_run = threading.Semaphore(0)
        self.thread_may_run = threading.Semaphore(0)
        self.asked: Callable[[], Awaitable[Any]] | None = None
        self.answer: Any = None
        self.error: BaseException | None = None
        self.is_over = False
        self.closing: list[asyncio.StreamWriter] = []
        """Connections that the thread has closed since it had the baton."""


async def in_thread(function: Callable[..., Result], *args: Any) -> Result:
    """Runs blocking code in a thread; what it waits for takes virtual time."""
    baton, outcome = _Baton(), []
    context = copy_context()

    def work() -> None:
        _HERE.baton = baton
        try:
            outcome.append(context.run(function, *args))
        except BaseException as error:
            baton.error = error
        baton.is_over = True
        baton.loop_may_run.release()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    abandoned: asyncio.CancelledError | None = None
    while True:
        baton.loop_may_run.acquire()
        if not abandoned:
            for writer in baton.closing:
                writer.close()
        baton.closing.clear()
        if baton.is_over:
            break
        assert baton.asked is not None
        baton.answer = baton.error = None
        try:
            if abandoned:
                raise abandoned
            baton.answer = await baton.asked()
        except asyncio.CancelledError as error:
            abandoned = error
            baton.error = Abandoned()
        except Exception as error:
            baton.error = error
        baton.thread_may_run.release()
    thread.join()
    if abandoned:
        raise abandoned
    if baton.error is not None:
        raise baton.error
    return outcome[0]


def wait(ask: Callable[[], Awaitable[Result]]) -> Result:
    """Waits in a thread for what the loop does; raises its error."""
    baton: _Baton = _HERE.baton
    baton.asked = ask
    baton.loop_may_run.release()
    baton.thread_may_run.acquire()
    if baton.error is not None:
        error, baton.error = baton.error, None
        raise error
    answer: Result = baton.answer
    return answer


def pause(seconds: float) -> None:
    """Lets virtual time pass in a thread."""
    wait(lambda: asyncio.sleep(seconds))


class BlockingSocket:
    """Socket of a blocking client; the part of `socket.socket` that redis uses."""

    def __init__(self, *_: Any) -> None:
        self._timeout: float | None = None
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    def setsockopt(self, *_: Any) -> None:
        """Does nothing: the network in memory has no options."""

    def settimeout(self, seconds: float | None) -> None:
        self._timeout = seconds

    def connect(self, address: tuple[str, int]) -> None:
        async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
            async with self._in_time():
                return await asyncio.open_connection(*address)

        self._streams = wait(connect)

    def sendall(self, data: bytes) -> None:
        assert self._streams
        writer = self._streams[1]

        # A thread may not touch the loop's timers: the loop writes.
        async def write() -> None:
            writer.write(data)

        wait(write)

    def recv(self, size: int) -> bytes:
        assert self._streams
        reader = self._streams[0]

        async def read() -> bytes:
            async with self._in_time():
                return await reader.read(min(size, CHUNK_BYTES))

        return wait(read)

    def shutdown(self, _: int) -> None:
        """Does nothing: `close` follows."""

    def close(self) -> None:
        # Whoever drops the last reference closes it, also in the middle of wait(), or in the loop's
        # thread when nobody uses it any more: so the loop closes it later.
        if self._streams and hasattr(_HERE, "baton"):
            baton: _Baton = _HERE.baton
            baton.closing.append(self._streams[1])

    def _in_time(self) -> asyncio.Timeout:
        return asyncio.timeout(None if self._timeout is None else max(self._timeout, 1e-9))


class _Sockets:
    """Module `socket` as redis sees it: in a world's threads, its sockets are the world's."""

    def __getattr__(self, name: str) -> Any:
        return getattr(socket, name)

    def getaddrinfo(self, host: str, port: int, *options: Any) -> Any:
        if not hasattr(_HERE, "baton"):
            return socket.getaddrinfo(host, port, *options)
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (host, port))]

    def socket(self, *options: Any) -> Any:
        return BlockingSocket() if hasattr(_HERE, "baton") else socket.socket(*options)


@contextmanager
def blocking_redis() -> Iterator[None]:
    """Leads the blocking Redis connections of a world's threads into its network."""
    version = redis.utils.get_lib_version
    redis.connection.socket = _Sockets()  # type: ignore[assignment]
    # Each connection reads it from the disk.
    redis.utils.get_lib_version = cache(version)
    try:
        yield
    finally:
        redis.connection.socket = socket
        redis.utils.get_lib_version = version
