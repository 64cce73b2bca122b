"""Private parts of Textual that the console calls or overrides, each with its reason.

The version of Textual is pinned: a newer one may change any of them. No other module uses any.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any

from rich.control import Control
from textual import events
from textual._compositor import ChopsUpdate
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from textual.screen import Screen

STDOUT = 1
STYLES = re.compile(r"(\x1b\[[0-9;]*m)")
MOVE = re.compile(r"(?:\x1b\[[0-9;]*H)+\Z")
RESET = "\x1b[0m"


class TightUpdate(ChopsUpdate):
    """Update of some spans of the screen, written in few bytes.

    `ChopsUpdate` draws a line from its widget's left edge on, and only it knows the changed spans.
    """

    @classmethod
    def of(cls, update: ChopsUpdate) -> TightUpdate:
        """Returns the same update, to be written in fewer bytes."""
        return cls(update.chops, update.spans, update.chop_ends)

    def render_segments(self, console: Console) -> str:
        """Returns what is written to the terminal."""
        found: list[str] = []
        for y, begin, end in self.spans:
            for x2, (x1, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
                if strip is None or x1 >= end or x2 <= begin:
                    continue
                left, right = max(x1, begin), min(x2, end)
                found.append(Control.move_to(left, y).segment.text)
                found.append(strip.crop(left - x1, right - x1).render(console))
        return tight("".join(found))


class ContainedApp(App[int], inherit_bindings=False):
    """App whose private parts are changed where it draws, and where it ends because of an error.

    `failure` is the error that ended it.
    """

    failure: BaseException | None = None

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        # All that is drawn passes here; there is no public place to write it in fewer bytes.
        if isinstance(renderable, ChopsUpdate):
            renderable = TightUpdate.of(renderable)
        super()._display(screen, renderable)

    def _handle_exception(self, error: Exception) -> None:
        # Textual prints a traceback with the values of all variables: settings, data of servers.
        self.failure = self.failure or error
        # Pilot waits for these two; they and the exit code are set as Textual's own method does.
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
        self._return_code = 1
        # The public `exit` would let messages be handled that wait behind the one that failed.
        self._close_messages_no_wait()

    async def route(self, event: events.Event) -> None:
        """Gives an event to the focused widget, or to the screen, as Textual does."""
        await App.on_event(self, event)

    def exit_from_thread(self, code: int) -> None:
        """Ends the app from any thread, without waiting for it."""
        # `call_from_thread` waits for an answer, which a hanging app never gives.
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self.exit, code)


class StdoutDriver(LinuxDriver):
    """Driver that draws to stdout: stderr may be a file, and belongs to messages."""

    def __init__(
        self,
        app: App[object],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        assert sys.__stdout__ is not None
        # No option of the driver names the stream that it draws to.
        self._file = sys.__stdout__

    def _get_terminal_size(self) -> tuple[int, int]:
        """Returns the size of the terminal, in columns and rows."""
        # Textual believes COLUMNS and LINES, which may be older than the terminal's size.
        try:
            size = os.get_terminal_size(STDOUT)
        except OSError:
            return super()._get_terminal_size()
        return size.columns or 80, size.lines or 24


def tight(text: str) -> str:
    """Returns what draws the same, without a style that is in force already."""
    found: list[str] = []
    active = wanted = RESET
    for token in STYLES.split(text):
        if STYLES.fullmatch(token):
            wanted = token
        elif token:
            # A move draws nothing, whatever the style is.
            if wanted != active and not MOVE.fullmatch(token):
                found.append(wanted if active == RESET or wanted == RESET else _instead(wanted))
                active = wanted
            found.append(token)
    return "".join(found) + ("" if active == RESET else RESET)


def _instead(style: str) -> str:
    """Returns the sequence of a style that takes the place of another."""
    return f"\x1b[0;{style.removeprefix(chr(27) + '[')}"
