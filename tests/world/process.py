"""Processes of a world: killed as by kill -9, stopped as by SIGSTOP.

Everything that a process starts belongs to it: tasks, timers and connections.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import Any, NamedTuple

CURRENT: ContextVar[Process | None] = ContextVar("process", default=None)


class _Parked(NamedTuple):
    """Callback that waits until its process is no longer stopped."""

    context: Context
    callback: Callable[..., object]
    args: tuple[Any, ...]
    is_cancelled: Callable[[], bool]


class Process:
    """A process.

    Args:
        name: for people.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_dead = False
        self.is_stopped = False
        self.main: asyncio.Task[Any] | None = None
        self.clock_ahead = 0.0
        """Seconds by which its wall clock is ahead of the world's when the world begins."""
        self.clock_drift = 0.0
        """Seconds that it gains in each second."""
        self.turns = 0
        """Callbacks that it has run so far: steps of its tasks, timers, and what has arrived."""
        self._strikes: list[tuple[int, Callable[[], object]]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._parked: list[_Parked] = []
        self._is_resuming = False
        self.at_kill: list[Callable[[], object]] = []
        """Called when the process is killed, such as for each of its connections."""

    def wall_clock(self, now: float) -> float:
        """Returns the time by its own wall clock.

        Args:
            now: time of the world.
        """
        return now + self.clock_ahead + self.clock_drift * now

    def start(self, main: Coroutine[Any, Any, Any]) -> Process:
        """Begins to run `main`."""
        context = copy_context()
        context.run(CURRENT.set, self)
        self._loop = asyncio.get_running_loop()
        self.main = self._loop.create_task(main, context=context)
        return self

    def run(self, callback: Callable[..., object], *args: Any) -> None:
        """Runs a callback of the process, now or once it is no longer stopped."""
        if self._begins_turn():
            callback(*args)
        else:
            self._parked.append(_Parked(copy_context(), callback, args, lambda: False))

    def run_in(
        self,
        context: Context,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        is_cancelled: Callable[[], bool],
    ) -> None:
        """Runs a callback of the process in a context, now or once it is no longer stopped.

        Args:
            is_cancelled: returns True if the callback is not to be run any more.
        """
        if self._strikes:
            self._strike_what_is_due()
        if self.is_stopped:
            self._parked.append(_Parked(context.copy(), callback, args, is_cancelled))
        else:
            self.turns += 1
            context.run(callback, *args)

    def strike(self, turns: int, act: Callable[[], object]) -> None:
        """Calls `act` once the process has taken some more turns, and before the next one.

        Between two awaits there may be no virtual time at all, but there is always a turn.
        """
        self._strikes.append((self.turns + turns, act))

    def _begins_turn(self) -> bool:
        """Counts a turn; returns False if the process is stopped, perhaps just now."""
        if self._strikes:
            self._strike_what_is_due()
        if not self.is_stopped:
            self.turns += 1
        return not self.is_stopped

    def _strike_what_is_due(self) -> None:
        due = [act for turn, act in self._strikes if turn <= self.turns]
        self._strikes = [each for each in self._strikes if each[0] > self.turns]
        for act in due:
            # Nothing that begins now belongs to the process.
            Context().run(act)

    def stop(self) -> None:
        self.is_stopped, self._is_resuming = True, False

    def resume(self) -> None:
        """Goes on soon with what waited, in order."""
        if not self.is_stopped or self._loop is None:
            self.is_stopped = False
        elif not self._is_resuming:
            # A turn later: a task may not take steps within a step of another one.
            self._is_resuming = True
            self._loop.call_soon(self._go_on, context=Context())

    def _go_on(self) -> None:
        if not self._is_resuming:
            return
        self.is_stopped = self._is_resuming = False
        parked, self._parked = self._parked, []
        for at, each in enumerate(parked):
            # A step before may have cancelled a timer whose time had come.
            if each.is_cancelled():
                continue
            if not self._begins_turn():
                self._parked = parked[at:] + self._parked
                return
            # In its own context, by which all that it begins belongs to this process.
            each.context.run(each.callback, *each.args)

    def kill(self) -> None:
        """Ends the process at once. What it wrote before is still under way."""
        self.is_dead = True
        for act in self.at_kill:
            act()
        self.resume()
        if self.main is not None:
            # Its last words reach nobody: a dead process writes nothing.
            self.main.cancel()

    @property
    def has_ended(self) -> bool:
        return self.main is not None and self.main.done()
