"""Progress of a long command on stderr: a bar, lines for people, JSON lines, or nothing.

JSON lines are an interface: the console reads them, and docs/failover.md describes them.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Generator
from typing import Protocol, TextIO, TypeVar

import click

from replicator.runtime.plain_text import one_line
from tui.commands.output import say

Step = TypeVar("Step")
Returned = TypeVar("Returned")

FORMATS = ("text", "json", "none")
progress_option = click.option(
    "--progress",
    type=click.Choice(FORMATS),
    help="Format of the steps on stderr; json: a line for each step. Default: text on a terminal, "
    "else only waits, as text.",
)
LINE_SECONDS = 5.0
JSON_SECONDS = 1.0
"""Time between two JSON lines of a command that does thousands of things in a second."""
BAR_CHARACTERS = 30


class Display(Protocol):
    """Display of a command's progress."""

    def show(self, stage: str, left: int | None, text: str, now_seconds: float) -> None:
        """Shows the progress of a stage.

        Args:
            left: amount that is still missing; None where it cannot be counted.
            text: the same in words.
            now_seconds: time on a monotonic clock.
        """

    def end(self) -> None:
        """Ends the display."""


def wait_display(format_name: str | None, *, json_seconds: float = 0.0) -> Display:
    """Returns the display of a command that may wait long; by default a bar or lines.

    Args:
        json_seconds: time between two JSON lines, at least.
    """
    return _display(format_name or "text", Progress(sys.stderr), json_seconds)


def steps_display(format_name: str | None) -> Display:
    """Returns the display of a command that takes steps; by default lines, on a terminal only."""
    return _display(format_name or ("text" if sys.stderr.isatty() else "none"), SaidSteps())


def _display(format_name: str, text_display: Display, json_seconds: float = 0.0) -> Display:
    match format_name:
        case "json":
            return JsonLines(sys.stderr, json_seconds)
        case "none":
            return NoDisplay()
        case _:
            return text_display


class JsonLines:
    """JSON lines on one text stream, a line for each call: at_ms, stage, left, text.

    Args:
        seconds: time between two lines, at least; the line on which nothing is left comes anyway.
    """

    def __init__(self, stream: TextIO, seconds: float = 0.0) -> None:
        self._stream = stream
        self._seconds = seconds
        self._written_at = -math.inf

    def show(self, stage: str, left: int | None, text: str, now_seconds: float) -> None:
        if left != 0 and now_seconds - self._written_at < self._seconds:
            return
        self._written_at = now_seconds
        at_ms = time.time_ns() // 1_000_000
        values = {"at_ms": at_ms, "stage": stage, "left": left, "text": text}
        self._stream.write(json.dumps(values) + "\n")
        self._stream.flush()

    def end(self) -> None:
        pass


class NoDisplay:
    """Display that shows nothing."""

    def show(self, stage: str, left: int | None, text: str, now_seconds: float) -> None:
        pass

    def end(self) -> None:
        pass


class SaidSteps:
    """Lines for people, one for each step, with the program's name before it."""

    def show(self, stage: str, left: int | None, text: str, now_seconds: float) -> None:
        say(text)

    def end(self) -> None:
        pass


class Progress:
    """Progress display on one text stream. The largest count of a stage is the whole of its bar.

    Each stage has a bar of its own; a new stage ends the one before.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_terminal = stream.isatty()
        self._stage: str | None = None
        self._whole = 0
        self._printed_at: float | None = None

    def show(self, stage: str, left: int | None, text: str, now_seconds: float) -> None:
        """Shows the progress of a stage; without a terminal at most once in LINE_SECONDS.

        Args:
            left: amount that is still missing; None shows an empty bar.
            text: the same in words.
            now_seconds: time on a monotonic clock.
        """
        if stage != self._stage:
            self.end()
            self._stage, self._whole, self._printed_at = stage, 0, None
        text = one_line(text)
        self._whole = max(self._whole, left or 0)
        if self._is_terminal:
            done = 0.0 if left is None else 1 - left / self._whole if self._whole else 1.0
            bar = ("#" * round(done * BAR_CHARACTERS)).ljust(BAR_CHARACTERS, ".")
            self._write(f"\r\x1b[K{stage} [{bar}] {done:4.0%}  {text}")
        elif self._printed_at is None or now_seconds - self._printed_at >= LINE_SECONDS:
            self._printed_at = now_seconds
            self._write(f"{stage}: {text}\n")

    def end(self) -> None:
        """Ends the line of the bar."""
        if self._is_terminal and self._stage is not None:
            self._write("\n")
        self._stage = None

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def run_to_end(
    steps: Generator[Step, None, Returned], progress: Callable[[Step], object]
) -> Returned:
    """Runs all steps and returns their result; calls `progress` with each step."""
    while True:
        try:
            progress(next(steps))
        except StopIteration as end:
            returned: Returned = end.value
            return returned
