"""Console in a pseudo-terminal without servers: the bytes that a refresh writes."""

from __future__ import annotations

import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fcntl import ioctl
from pathlib import Path

import pytest

from tests.live.played_console import REFRESHES

CHECKOUT = Path(__file__).parents[2]
PATIENCE_SECONDS = 60.0
SILENT_SECONDS = 1.0
"""Time without a byte after which a refresh counts as drawn."""
BUSY_BYTES_MAX = 8 * 1024


class Line:
    """Terminal of a program, whose bytes are read and counted.

    Args:
        columns, rows: size of the terminal.
    """

    def __init__(self, *arguments: str, columns: int = 140, rows: int = 45) -> None:
        self.pid, self._file = pty.fork()
        if self.pid == 0:
            os.chdir(CHECKOUT)
            os.environ["TERM"] = "xterm-256color"
            words = [sys.executable, "-m", "tests.live.played_console", *arguments]
            os.execvp(words[0], words)
        ioctl(self._file, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def until(self, text: str) -> None:
        """Reads until a text came."""
        give_up_at, seen = time.monotonic() + PATIENCE_SECONDS, b""
        while text.encode() not in seen:
            assert time.monotonic() < give_up_at, f"never {text!r} in {seen[-2000:]!r}"
            seen += self._piece(0.1)

    def written(self) -> int:
        """Returns the number of bytes that come until there is silence."""
        count = 0
        while piece := self._piece(SILENT_SECONDS):
            count += len(piece)
        return count

    def refresh(self) -> None:
        """Gives the console its next snapshot."""
        os.kill(self.pid, signal.SIGUSR1)

    def press(self, keys: str) -> None:
        os.write(self._file, keys.encode())

    def close(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._file)

    def _piece(self, seconds: float) -> bytes:
        if not select.select([self._file], [], [], seconds)[0]:
            return b""
        try:
            return os.read(self._file, 65_536)
        except OSError:
            return b""


@contextmanager
def showing(what: str, *keys: str) -> Iterator[Line]:
    """Starts the console, presses the keys one after another, and waits until all is drawn."""
    line = Line(what)
    try:
        line.until("ALERTS")
        line.written()
        for key in keys:
            line.press(key)
            line.written()
        yield line
    finally:
        line.close()


@pytest.mark.parametrize("keys", [(), ("2",), ("2", "\r", "\r"), ("6",)], ids=str)
def test_a_refresh_that_shows_the_same_writes_nothing(keys: tuple[str, ...]) -> None:
    with showing("quiet", *keys) as line:
        for _ in range(3):
            line.refresh()
            assert line.written() == 0


@pytest.mark.parametrize("keys", [(), ("2",), ("2", "\r", "\r")], ids=str)
def test_a_refresh_in_which_everything_moves_writes_little(keys: tuple[str, ...]) -> None:
    with showing("busy", *keys) as line:
        counts = []
        for _ in range(REFRESHES):
            line.refresh()
            counts.append(line.written())
        assert 0 < max(counts) <= BUSY_BYTES_MAX, counts
