"""Terminal of the console: refused where there is none, and put back however the program ends."""

from __future__ import annotations

import os
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

RESTORING = (
    "\x1b[?2048l\x1b[?2004l\x1b[<u\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l"
    "\x1b[?1004l\x1b[?1049l\x1b[?25h\x1b[0m"
)
"""Sequence that undoes all that Textual asks of a terminal."""


def why_no_terminal(stdin: TextIO | None, stdout: TextIO | None, kind: str) -> str | None:
    """Returns why the console cannot be shown; None when it can.

    Args:
        kind: of the terminal, as TERM names it.
    """
    for name, stream in (("stdin", stdin), ("stdout", stdout)):
        if stream is None or stream.closed or not stream.isatty():
            return f"{name} is no terminal; `sluice status` prints the same facts as text or JSON"
    if kind in ("", "dumb"):
        return "TERM names no terminal that can show a screen"
    return None


class TerminalState:
    """Settings of the terminal before the console, to put back at its end.

    Args:
        fileno, output: file descriptors of its input and output.
    """

    def __init__(self, fileno: int, output: int) -> None:
        self._fileno, self._output = fileno, output
        self._attributes: list[Any] = termios.tcgetattr(self._fileno)

    def restore(self) -> None:
        """Puts the settings back, and leaves the console's screen. A lost terminal is passed."""
        with suppress(OSError, termios.error):
            termios.tcsetattr(self._fileno, termios.TCSANOW, self._attributes)
        with suppress(OSError):
            # A terminal that takes no bytes must not hold the end up.
            os.set_blocking(self._output, False)
            os.write(self._output, RESTORING.encode())
        with suppress(OSError):
            os.set_blocking(self._output, True)


@contextmanager
def quiet_stderr() -> Iterator[None]:
    """Keeps stderr away from the screen: libraries write to it whenever they like."""
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - a device
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def drop_stdout() -> None:
    """Lets what is still written to stdout vanish: its terminal is gone."""
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - a device
        os.dup2(nowhere.fileno(), 1)
