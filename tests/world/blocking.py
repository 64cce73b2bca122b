"""Blocking code in a world: runs beside the loop, in the same thread, and waits for virtual time.

It is a greenlet, which gives way to the loop wherever it waits. So each seed still decides
everything, and to change over costs next to nothing. A blocking Redis client gets a socket whose
bytes go over the world's network.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cache, partial
from typing import Any, TypeVar

import redis.connection
import redis.utils
from greenlet import getcurrent, greenlet

Result = TypeVar("Result")
HAS_THREADS: ContextVar[bool] = ContextVar("has threads", default=False)
"""True in processes of which work for other threads takes virtual time."""
CHUNK_BYTES = 1 << 16


class Abandoned(BaseException):
    """The process of this thread is dead: nothing that it still wants to do happens."""


class _Thread(greenlet):
    """Thread of a process in the world; the loop runs it on until it waits."""

    is_abandoned = False


async def in_thread(function: Callable[..., Result], *args: Any) -> Result:
    """Runs blocking code in a thread of the world; what it waits for takes virtual time."""
    thread = _Thread(copy_context().run)
    go_on = partial(thread.switch, function, *args)
    abandoned: asyncio.CancelledError | None = None
    while True:
        try:
            asked = go_on()
        except BaseException:
            if abandoned:
                raise abandoned from None
            raise
        if thread.dead:
            break
        try:
            if abandoned:
                raise abandoned
            go_on = partial(thread.switch, await asked())
        except asyncio.CancelledError as error:
            abandoned, thread.is_abandoned = error, True
            go_on = partial(thread.throw, Abandoned())
        except Exception as error:
            go_on = partial(thread.throw, error)
    if abandoned:
        raise abandoned
    result: Result = asked
    return result


def wait(ask: Callable[[], Awaitable[Result]]) -> Result:
    """Waits in a thread for what the loop does; raises its error."""
    loop = getcurrent().parent
    assert loop is not None
    answer: Result = loop.switch(ask)
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
        if _is_alive():
            self._streams[1].write(data)
        else:
            raise Abandoned

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
        # Whoever drops the last reference closes it, also the loop when nobody uses it any more.
        if self._streams and _is_alive():
            self._streams[1].close()

    def _in_time(self) -> asyncio.Timeout:
        return asyncio.timeout(None if self._timeout is None else max(self._timeout, 1e-9))


def _is_alive() -> bool:
    """Returns True in a thread of the world whose process is not dead."""
    thread = getcurrent()
    return isinstance(thread, _Thread) and not thread.is_abandoned


class _Sockets:
    """Module `socket` as redis sees it: in a world's threads, its sockets are the world's."""

    def __getattr__(self, name: str) -> Any:
        return getattr(socket, name)

    def getaddrinfo(self, host: str, port: int, *options: Any) -> Any:
        if not isinstance(getcurrent(), _Thread):
            return socket.getaddrinfo(host, port, *options)
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (host, port))]

    def socket(self, *options: Any) -> Any:
        return BlockingSocket() if isinstance(getcurrent(), _Thread) else socket.socket(*options)


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
