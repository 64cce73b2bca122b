"""Program in a pseudo-terminal, for tests: its output, its end, the terminal it leaves behind."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

SECONDS_MAX = 30.0


@dataclass
class InPty:
    """Process whose terminal is ours."""

    pid: int
    fileno: int
    output: bytes = b""
    exit_code: int | None = None

    def until(self, claim: Callable[[], bool], seconds: float = SECONDS_MAX) -> bool:
        """Reads until a claim holds or the process has ended; returns True if it holds."""
        deadline = time.monotonic() + seconds
        while not claim() and time.monotonic() < deadline:
            ready, _, _ = select.select([self.fileno], [], [], 0.05)
            if ready:
                try:
                    self.output += os.read(self.fileno, 65536)
                except OSError:
                    break
        return claim()

    def shows(self, text: bytes) -> bool:
        """Waits until a text was drawn."""
        return self.until(lambda: text in self.output)

    def ended(self, seconds: float) -> bool:
        """Waits for the end; returns False if it takes longer."""

        def is_ended() -> bool:
            if self.exit_code is None:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    self.exit_code = os.waitstatus_to_exitcode(status)
            return self.exit_code is not None

        deadline = time.monotonic() + seconds
        while not self.until(is_ended, deadline - time.monotonic()):
            if time.monotonic() >= deadline:
                return False
        return True

    def kill(self) -> None:
        """Ends the process, whatever it does."""
        if self.exit_code is None:
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(self.pid, 9)
                os.waitpid(self.pid, 0)
        with suppress(OSError):
            os.close(self.fileno)


def started(
    arguments: Sequence[str], size: tuple[int, int] = (80, 24), **environment: str
) -> InPty:
    """Starts Python with arguments in a pseudo-terminal."""
    pid, fileno = pty.fork()
    if pid == 0:
        new: Mapping[str, str] = {**os.environ, "TERM": "xterm-256color", **environment}
        os.execve(sys.executable, [sys.executable, *arguments], dict(new))
    fcntl.ioctl(fileno, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    return InPty(pid, fileno)
