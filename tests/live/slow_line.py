"""Slow line: a program in a terminal of its own, each byte of which arrives later, both ways.

Run as `python -m tests.live.slow_line SECONDS PROGRAM ARGUMENTS...`, in a terminal.
"""

from __future__ import annotations

import fcntl
import os
import pty
import selectors
import signal
import sys
import termios
import time
import tty
from collections import deque
from contextlib import suppress
from types import FrameType

PIECE_BYTES = 65_536


class Way:
    """Way of bytes from one file descriptor to another, with a delay."""

    def __init__(self, source: int, target: int, delay_seconds: float) -> None:
        self.source = source
        self._target = target
        self._delay_seconds = delay_seconds
        self._under_way: deque[tuple[float, bytes]] = deque()

    def take(self, now: float) -> bool:
        """Takes what the source has; returns False at its end."""
        try:
            piece = os.read(self.source, PIECE_BYTES)
        except OSError:
            piece = b""
        if piece:
            self._under_way.append((now + self._delay_seconds, piece))
        return bool(piece)

    def deliver(self, now: float) -> float | None:
        """Writes all that is due; returns the seconds until the next piece, None without one."""
        while self._under_way and self._under_way[0][0] <= now:
            piece = self._under_way.popleft()[1]
            while piece:
                piece = piece[os.write(self._target, piece) :]
        return max(0.0, self._under_way[0][0] - now) if self._under_way else None


def relay(there: Way, back: Way) -> None:
    """Carries bytes both ways until the program's terminal is closed, and all has arrived."""
    is_open = True
    with selectors.DefaultSelector() as selector:
        for way in (there, back):
            selector.register(way.source, selectors.EVENT_READ, way)
        while True:
            now = time.monotonic()
            waits = [each for way in (there, back) if (each := way.deliver(now)) is not None]
            if not is_open and not waits:
                return
            for key, _ in selector.select(min(waits, default=None)):
                ready: Way = key.data
                if not ready.take(time.monotonic()):
                    selector.unregister(ready.source)
                    is_open = is_open and ready is not back


def main() -> None:
    """Runs the program behind the line, and ends with its exit code."""
    delay_seconds, command = float(sys.argv[1]), sys.argv[2:]
    pid, line = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)

    def take_size(*_: int | FrameType | None) -> None:
        size = fcntl.ioctl(0, termios.TIOCGWINSZ, b"\0" * 8)
        fcntl.ioctl(line, termios.TIOCSWINSZ, size)

    take_size()
    signal.signal(signal.SIGWINCH, take_size)
    before = termios.tcgetattr(0)
    tty.setraw(0)
    try:
        relay(Way(0, line, delay_seconds), Way(line, 1, delay_seconds))
    finally:
        termios.tcsetattr(0, termios.TCSANOW, before)
    with suppress(ChildProcessError):
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


if __name__ == "__main__":
    main()
