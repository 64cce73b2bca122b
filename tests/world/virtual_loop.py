"""Event loop on virtual time: nobody waits, the clock jumps to the next timer.

Code of asyncio runs on it unchanged. Connections lead into the world's network. Work for other
threads is done at once, in the loop, but for processes in which it takes time.
"""

from __future__ import annotations

import asyncio
import gc
import selectors
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from contextvars import Context, copy_context
from heapq import heapify, heappop, heappush
from math import inf, nextafter
from typing import Any, Protocol

from tests.world.blocking import HAS_THREADS, blocking_redis, in_thread, pause
from tests.world.process import CURRENT

EPOCH = 1_700_000_000.0
"""Unix time at which each world begins."""


TURNS_MAX = 100_000
"""Turns of the loop within one moment; more are a task that never waits."""


TIMERS_MIN = 100
"""Timers from which on those that were cancelled are looked for; as in asyncio."""


WAIT_SECONDS_MAX = 24 * 3600
"""Longest wait for a timer at once; as in asyncio."""


COLLECT_TURNS = 50_000
"""Turns between two collections of garbage. Python's own depend on all that the process has done
before, and sockets would be closed at other moments.
"""


class Deadlock(Exception):
    """Every task waits for something that never comes: there is no timer left."""


class Dialer(Protocol):
    """Opener of the world's connections."""

    async def dial(
        self, make_protocol: Callable[[], asyncio.BaseProtocol], host: str, port: int
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        """Returns both ends of a connection; raises OSError."""


class _Clock(selectors.BaseSelector):
    """Selector without files: waiting moves the time forward."""

    def __init__(self) -> None:
        self.now = 0.0
        self.steps = 0
        self._turns = 0
        self._files: dict[Any, selectors.SelectorKey] = {}

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        key = self._files[fileobj] = selectors.SelectorKey(fileobj, -1, events, data)
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._files.pop(fileobj)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.steps += 1
        if self.steps % COLLECT_TURNS == 0:
            gc.collect()
        if timeout is None:
            raise Deadlock(f"no timer is left after {self.now:.3f} s")
        # Time always goes on: who computes that a moment is left must not do so for ever.
        self.now = nextafter(self.now + timeout, inf)
        self._turns = 0 if timeout else self._turns + 1
        if self._turns > TURNS_MAX:
            raise Deadlock(f"nothing moves the time on after {self.now:.6f} s")
        return []

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._files

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:
        # asyncio asks for the key of its own wake-up pipe when it closes it.
        return self._files[fileobj]


class VirtualLoop(asyncio.SelectorEventLoop):
    """Event loop whose time is virtual, and whose connections are those of a dialer."""

    _ready: deque[_Owned]
    _scheduled: list[tuple[float, _Owned]]
    _stopping: bool
    _timer_cancelled_count: int

    def __init__(self) -> None:
        self._clock = _Clock()
        self.dialer: Dialer | None = None
        self.bug: BaseException | None = None
        """Error of the world itself, which ends it."""
        super().__init__(self._clock)
        self._clock_resolution = 0.0  # no timer is early

    def time(self) -> float:
        return self._clock.now

    def call_soon(  # type: ignore[override]
        self, callback: Any, *args: Any, context: Context | None = None
    ) -> Any:
        handle = _Owned(None, callback, args, self, context)
        self._ready.append(handle)
        return handle

    def _call_soon(self, callback: Any, args: tuple[Any, ...], context: Context | None) -> Any:
        # For `call_soon_threadsafe`: a thread belongs to no process.
        handle = _Owned(None, callback, args, self, context, is_owned=False)
        self._ready.append(handle)
        return handle

    def call_at(  # type: ignore[override]
        self, when: float, callback: Any, *args: Any, context: Context | None = None
    ) -> Any:
        timer = _Owned(when, callback, args, self, context)
        heappush(self._scheduled, (when, timer))
        return timer

    def _run_once(self) -> None:
        """Turns once, as asyncio does, without what only real files and its debug mode need.

        Timers stand in the heap behind their times: Python code that compares two of them, and one
        more call for each callback, were a quarter of what a history costs.
        """
        ready, scheduled = self._ready, self._scheduled
        if len(scheduled) > TIMERS_MIN and self._timer_cancelled_count / len(scheduled) > 0.5:
            scheduled = [each for each in scheduled if not each[1].cancelled()]
            heapify(scheduled)
            self._scheduled = scheduled
            self._timer_cancelled_count = 0
        else:
            while scheduled and scheduled[0][1].cancelled():
                self._timer_cancelled_count -= 1
                heappop(scheduled)
        clock = self._clock
        if ready or self._stopping:
            clock.select(0)
        elif scheduled:
            clock.select(min(max(0, scheduled[0][0] - clock.now), WAIT_SECONDS_MAX))
        else:
            clock.select(None)
        while scheduled and scheduled[0][0] < clock.now:
            timer = heappop(scheduled)[1]
            timer.leaves()
            ready.append(timer)
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle.cancelled():
                handle.run()

    def fail(self, error: BaseException) -> None:
        """Ends the world: something in it is wrong."""
        self.bug = self.bug or error
        self.stop()

    def in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Runs work beside all else; an error of it ends the world."""
        task = self.create_task(work)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error:
            self.fail(error)

    @property
    def steps(self) -> int:
        """Number of turns of the loop so far."""
        return self._clock.steps

    async def create_connection(  # type: ignore[override]
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        host: str,
        port: int,
        **_: Any,
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        if self.dialer is None:
            raise ConnectionRefusedError("this world has no network")
        return await self.dialer.dial(protocol_factory, host, port)

    def run_in_executor(  # type: ignore[override]
        self, executor: object, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        if HAS_THREADS.get():
            return self._in_thread(func, *args)
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def _in_thread(self, function: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        working = self.create_task(in_thread(function, *args))
        process = CURRENT.get()
        if process is not None:
            process.at_kill.append(working.cancel)

        def ended(task: asyncio.Task[Any]) -> None:
            if process is not None:
                process.at_kill.remove(task.cancel)
            if not task.cancelled():
                task.exception()  # it may be that nobody waits for it

        working.add_done_callback(ended)
        # A thread goes on when nobody waits for it any more.
        return asyncio.shield(working)


class _Owned(asyncio.TimerHandle):
    """Callback that waits while the process it belongs to is stopped; of a timer, or run soon."""

    __slots__ = ("_process",)

    def __init__(
        self,
        when: float | None,
        callback: Any,
        args: tuple[Any, ...],
        loop: VirtualLoop,
        context: Context | None,
        is_owned: bool = True,
    ) -> None:
        # All that the base classes set, without their questions about asyncio's debug mode.
        self._context = copy_context() if context is None else context
        self._loop = loop
        self._callback = callback
        self._args = args
        self._cancelled = False
        self._repr = self._source_traceback = None
        self._when = when
        self._scheduled = when is not None
        self._process = self._context.get(CURRENT) if is_owned else None

    # Two timers of one moment are not compared by what they call.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def leaves(self) -> None:
        """Notes that it is no longer among the timers: a cancelled one there is counted."""
        self._scheduled = False

    def run(self) -> None:
        """Calls the callback, if its process is not stopped."""
        process = self._process
        try:
            if process is None:
                self._context.run(self._callback, *self._args)
            else:
                process.run_in(self._context, self._callback, self._args, self.cancelled)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            self._loop.call_exception_handler(
                {"message": f"Exception in {self!r}", "exception": error, "handle": self}
            )


def in_background(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """Runs work beside all else on the loop that runs now; an error of it ends the world."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return loop.in_background(work)


@contextmanager
def virtual_time(loop: VirtualLoop) -> Iterator[None]:
    """Lets the clocks of `time` tell the loop's time, and threads sleep by it; libraries do too.

    Each process has a wall clock of its own.
    """

    def wall_clock() -> float:
        process, now = CURRENT.get(), loop.time()
        return EPOCH + (process.wall_clock(now) if process else now)

    real = time.time, time.time_ns, time.monotonic, time.sleep
    time.time = wall_clock
    time.time_ns = lambda: int(wall_clock() * 1e9)
    time.monotonic = loop.time
    time.sleep = pause
    try:
        yield
    finally:
        time.time, time.time_ns, time.monotonic, time.sleep = real


def run(main: Callable[[VirtualLoop], Awaitable[Any]]) -> Any:
    """Returns the result of `main`, run on a loop of its own until it ends."""
    loop = VirtualLoop()
    gc.collect()
    gc.disable()
    with (
        virtual_time(loop),
        blocking_redis(),
        asyncio.Runner(loop_factory=lambda: loop) as runner,
    ):
        try:
            result = runner.run(main(loop))  # type: ignore[arg-type]
            if loop.bug:
                raise loop.bug  # found in the turn in which `main` ended
            return result
        except RuntimeError as error:
            raise loop.bug or error from None
        finally:
            gc.enable()
