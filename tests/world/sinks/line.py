"""Line: the connection of one client to one server, with messages in order and delays each way.

A server reads what a client wrote before it died, and finishes a query whose client has gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import TYPE_CHECKING, Any

from tests.world.network import Delays

if TYPE_CHECKING:
    from tests.world.sinks.server import Server

DELAYS = Delays(long_share=0.004)


class Line:
    """Connection to one life of a server."""

    def __init__(self, server: Server) -> None:
        self.server, self._life = server, server.life
        self.answers: asyncio.Queue[Any] = asyncio.Queue()
        """Answers that have arrived; exceptions are raised by `receive`."""
        self.data: asyncio.Queue[bytes | None] = asyncio.Queue()
        """Data that the server has received; None: the client has closed the line."""
        self.is_open = True
        self._arrives_at = self._answers_at = 0.0
        server.lines.append(self)

    # -- the client's side

    def send(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Has the server begin some work when the message arrives."""
        self._to_server(lambda: self.server.begin(work()))

    def write(self, data: bytes) -> None:
        """Sends data of the query that runs."""
        self._to_server(lambda: self.data.put_nowait(data))

    async def receive(self, seconds: float) -> Any:
        """Returns the next answer.

        Raises TimeoutError, and errors of the server and of the connection.
        """
        async with asyncio.timeout(seconds):
            answer = await self.answers.get()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        """Ends the line; the server notices it behind what was written before."""
        if self.is_open:
            self._to_server(lambda: self.data.put_nowait(None))
            self._end()

    # -- the server's side

    def answer(self, answer: Any) -> None:
        """Sends an answer, or an exception."""
        if self.is_open:
            self._answers_at = self._later(self._answers_at, self._answered, answer)

    def cut(self, error: Exception) -> None:
        """Breaks the line: both ends notice it, and what is under way to the client is lost."""
        if self.is_open:
            self._end()
            self.data.put_nowait(None)
            self._later(0.0, self.answers.put_nowait, error)

    def _answered(self, answer: Any) -> None:
        if self.is_open:
            self.answers.put_nowait(answer)

    def _to_server(self, act: Callable[[], object]) -> None:
        if self.is_open:
            self._arrives_at = self._later(self._arrives_at, self._arrived, act)

    def _arrived(self, act: Callable[[], object]) -> None:
        if self.server.is_up and self.server.life == self._life:
            act()

    def _later(self, not_before: float, act: Callable[..., object], *args: Any) -> float:
        loop, dice = self.server.loop, self.server.dice
        at = max(not_before + 1e-9, loop.time() + DELAYS.drawn(dice))
        loop.call_at(at, act, *args, context=Context())
        return at

    def _end(self) -> None:
        self.is_open = False
        if self in self.server.lines:
            self.server.lines.remove(self)
