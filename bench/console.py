"""Console of 10 000 partitions, 4 routes and 500 groups of 64, all moving, on a terminal of 140x45.

    .venv/bin/python -m bench.console [--seconds 30]

First frame: from the start of the process. Key to frame: from the byte of a key to the bytes that
show the cursor on its new row. Results go into bench/results/console.json.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import sys
import tempfile
import termios
import time
from contextlib import suppress
from pathlib import Path

from bench.machine import described, load_average

CHECKOUT = Path(__file__).parents[1]
FILE = CHECKOUT / "bench" / "results" / "console.json"
COLUMNS, ROWS = 140, 45
FIRST_FRAME = b"1 overview"
PATIENCE_SECONDS = 60.0
KEYS_PER_SECOND = 5.0
STEPS = ((b"2", b"4 routes"), (b"\r", b"25 topics"), (b"\r", b"100 part"), (b"s", b"sort PART"))
"""Keys to the partitions of a topic, and texts that they lead to; sorted by partition, rows stay
where they are."""


class Terminal:
    """Pseudo-terminal with the console in it."""

    def __init__(self, path: Path) -> None:
        self.began = time.perf_counter()
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            os.chdir(CHECKOUT)
            os.environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
            os.execv(sys.executable, [sys.executable, "-m", "bench.console_process", str(path)])
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.written = 0

    def until(self, pattern: bytes, seconds: float = PATIENCE_SECONDS) -> float:
        """Returns the seconds until a pattern was drawn. Raises TimeoutError."""
        began, seen = time.perf_counter(), b""
        while re.search(pattern, seen) is None:
            left = began + seconds - time.perf_counter()
            if left <= 0:
                raise TimeoutError(f"{pattern!r} is not in {seen[-2000:]!r}")
            seen += self.read(left)
        return time.perf_counter() - began

    def read(self, seconds: float) -> bytes:
        """Returns what comes next, or nothing after some seconds."""
        if not select.select([self.file], [], [], seconds)[0]:
            return b""
        found = os.read(self.file, 65_536)
        self.written += len(found)
        return found

    def drain(self, seconds: float) -> None:
        """Reads for some seconds."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self.read(left)

    def press(self, keys: bytes) -> None:
        os.write(self.file, keys)


def keys_to_frames(terminal: Terminal, seconds: float) -> list[float]:
    """Returns the time of each key until the cursor is drawn on its new row."""
    times: list[float] = []
    row, step, count = 1, 1, 100
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        step = 1 if row == 1 else -1 if row == count else step
        row += step
        terminal.press(b"j" if step > 0 else b"k")
        times.append(terminal.until(rb"\D%d of %d " % (row, count)))
        terminal.drain(1.0 / KEYS_PER_SECOND)
    return times


def measured(seconds: float) -> dict[str, object]:
    """Runs the console, and returns its figures."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "figures.json"
        terminal = Terminal(path)
        terminal.until(FIRST_FRAME)
        first_frame = time.perf_counter() - terminal.began
        terminal.until(b"BEHIND|OK ")
        for keys, shown in STEPS:
            terminal.press(keys)
            terminal.until(shown)
        terminal.press(b"\x1b[H")
        terminal.drain(5.0)
        os.kill(terminal.pid, signal.SIGUSR1)
        terminal.written = 0
        terminal.drain(seconds)
        written = terminal.written
        os.kill(terminal.pid, signal.SIGUSR2)
        times = sorted(keys_to_frames(terminal, seconds))
        terminal.press(b"q")
        with suppress(OSError):
            terminal.drain(5.0)
        os.waitpid(terminal.pid, 0)
        own = json.loads(path.read_text())
    refreshes = max(1, own["refreshes"])
    return {
        "partitions": 10_000,
        "groups": 500,
        "first frame seconds": round(first_frame, 3),
        "key to frame ms": {
            "p50": round(times[len(times) // 2] * 1000, 1),
            "p99": round(times[int(len(times) * 0.99)] * 1000, 1),
            "keys": len(times),
        },
        "longest holds of the screen's thread ms": own["held_ms"],
        "cpu ms a refresh": round(own["cpu_seconds"] * 1000 / refreshes, 1),
        "cpu part of a core": round(own["cpu_seconds"] / own["seconds"], 3),
        "refreshes": refreshes,
        "seconds": round(own["seconds"], 1),
        "rss mib": round(own["rss_mib"]),
        "bytes a second": round(written / own["seconds"]),
        "load average at the start": load_average(),
    }


def main() -> None:
    """Measures once, and keeps the figures."""
    seconds = float(sys.argv[2]) if sys.argv[1:2] == ["--seconds"] else 30.0
    found = measured(seconds)
    FILE.write_text(json.dumps({"machine": described(), "results": found}, indent=2) + "\n")
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
