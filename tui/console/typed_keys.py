"""Keys as they were typed: each one takes effect on what the one before has led to.

Textual gives a key to the widget that has the focus when the key arrives. Keys typed ahead, or
delivered together by a slow line, would go to the page or the field before.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import suppress

from textual import events
from textual.app import ScreenStackError
from textual.message_pump import MessagePump

from tui.console.page_screen import PageScreen
from tui.console.textual_internals import ContainedApp

TOGETHER = "alt+"
"""Textual's name for an escape with a key at once; no key of the console is named so."""
DIGITS = dict(zip("¡™£¢∞§¶•ªº", "1234567890", strict=True))
"""Characters as which Textual reports an escape with a digit at once."""
ROUNDS_MAX = 50
"""Rounds of messages that a key may cause: from its widget up to the screen, and the focus."""
QUIET_ROUNDS = 2
"""Rounds without any message after which a key has had its effect."""
ROUND_SECONDS = 0.5
"""Time after which a widget that does not answer, as at its end, is no longer waited for."""


class TypedKeys:
    """Keys of an app on their way. For its event loop.

    Args:
        main: shows the page that a key has led to.
    """

    def __init__(self, app: ContainedApp, main: PageScreen) -> None:
        self._app, self._main = app, main
        self._waiting: deque[events.Key] = deque()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_busy(self) -> bool:
        """True while a key has not yet had all its effect."""
        return self._task is not None and not self._task.done()

    async def put(self, event: events.Key) -> None:
        """Takes a key; it has its effect once those before it have had theirs."""
        self._waiting.append(event)
        if not self.is_busy:
            await self._route_next()
            self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        # Keys that are left when the console ends have no screen to go to.
        with suppress(ScreenStackError):
            await self._settled()
            while self._waiting:
                await self._route_next()
                await self._settled()

    async def _route_next(self) -> None:
        # Only now is it known what has the focus.
        first, *rest = apart(self._waiting.popleft(), in_text=self._app.focused is not None)
        self._waiting.extendleft(rest)
        await self._app.route(first)

    async def _settled(self) -> None:
        quiet = 0
        for _ in range(ROUNDS_MAX):
            await self._heard()
            is_quiet = not any(pump.message_queue_size for pump in self._pumps())
            quiet = quiet + 1 if is_quiet else 0
            if quiet == QUIET_ROUNDS:
                break
        await self._main.page_shown()

    def _pumps(self) -> list[MessagePump]:
        """Returns all that may handle messages now."""
        return [self._app, *self._app.screen.walk_children(with_self=True)]

    async def _heard(self) -> None:
        """Waits until each pump has handled all messages that it has now."""
        loop = asyncio.get_running_loop()
        answers = []
        for pump in self._pumps():
            answer = loop.create_future()
            if pump.call_later(_answer, answer):
                answers.append(answer)
        if answers:
            await asyncio.wait(answers, timeout=ROUND_SECONDS)


def _answer(answer: asyncio.Future[None]) -> None:
    with suppress(asyncio.InvalidStateError):
        answer.set_result(None)


def apart(event: events.Key, *, in_text: bool) -> Iterator[events.Key]:
    """Yields the keys of an event: an escape and a key may have arrived together."""
    character = event.character if event.key.startswith(TOGETHER) else None
    if not in_text:
        character = character or DIGITS.get(event.character or "")
    if character:
        yield events.Key("escape", "\x1b")
        yield events.Key(character, character)
    else:
        yield event
