"""Prompt: one line to type, such as a time to go to in a replay."""

from __future__ import annotations

from datetime import UTC, datetime

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input

from tui.console.line_widget import LineWidget
from tui.console.overlay import Overlay
from tui.console.plain_input import PlainInput
from tui.console.styled_text import styled_column

FORMATS = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%SZ")
TIMES = ("%H:%M:%S", "%H:%M")


class BadTime(Exception):
    """The text is no time. Show the message."""


class TimePrompt(Overlay[float | None]):
    """Prompt for a time. Its result is the time in Unix seconds; None for none.

    Args:
        near: time whose day a time of day belongs to.
    """

    CSS = """
    TimePrompt { align: center bottom; }
    #time-box { width: 100%; height: 4; background: $background; border-top: solid $panel; }
    #time-text, #time-said { height: 1; }
    """

    def __init__(self, near: float) -> None:
        super().__init__()
        self._near = near

    def compose(self) -> ComposeResult:
        """Yields text, input, message."""
        with Vertical(id="time-box"):
            yield LineWidget(id="time-text")
            yield PlainInput(id="time")
            yield LineWidget(id="time-said")

    def on_mount(self) -> None:
        """Begins in the input."""
        self.query_one("#time", PlainInput).focus()
        self.call_after_refresh(
            self._line, "time-text", "time in UTC: 14:02:31 or 2026-11-21 14:02:31", "heading"
        )

    def _line(self, name: str, text: str, tone: str) -> None:
        widget = self.query_one(f"#{name}", LineWidget)
        widget.show_lines([(styled_column(f" {text}", max(1, widget.size.width), tone),)])

    def on_key(self, event: events.Key) -> None:
        """Leaves."""
        if event.key == "escape":
            event.stop()
            self.dismiss(None)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Decides, or says what is wrong."""
        event.stop()
        if not event.value.strip():
            self.dismiss(None)
            return
        try:
            self.dismiss(time_of(event.value.strip(), self._near))
        except BadTime as error:
            self._line("time-said", str(error), "bad")


def time_of(text: str, near: float) -> float:
    """Returns the Unix seconds of a time in UTC; a time of day belongs to the day of `near`.

    Raises:
        BadTime: the text is no time.
    """
    for form in FORMATS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    for form in TIMES:
        try:
            found = datetime.strptime(text, form)
        except ValueError:
            continue
        day = datetime.fromtimestamp(near, UTC)
        return day.replace(
            hour=found.hour, minute=found.minute, second=found.second, microsecond=0
        ).timestamp()
    raise BadTime(f"no time: {text}; such as 14:02:31")
