"""Console in a pseudo-terminal without servers: the bytes that a refresh writes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.live.played_console import REFRESHES
from tests.tui.console.in_pty import InPty, started

CHECKOUT = Path(__file__).parents[2]
PATIENCE_SECONDS = 60.0
SILENT_SECONDS = 1.0
"""Time without a byte after which a refresh counts as drawn."""
BUSY_BYTES_MAX = 8 * 1024
# With 24 bits for a colour most bytes are written.
ENVIRONMENT = {"PYTHONPATH": str(CHECKOUT), "COLORTERM": "truecolor"}


def comes(line: InPty, seconds: float) -> bool:
    """Returns True once more bytes have come."""
    before = len(line.output)
    return line.until(lambda: len(line.output) > before, seconds)


def written(line: InPty, patience_seconds: float = PATIENCE_SECONDS) -> int:
    """Returns the number of bytes that come until there is silence.

    Args:
        patience_seconds: time in which the first byte has to come.
    """
    before, seconds = len(line.output), patience_seconds
    while comes(line, seconds):
        seconds = SILENT_SECONDS
    return len(line.output) - before


def refresh(line: InPty) -> None:
    """Gives the console its next snapshot."""
    os.kill(line.pid, signal.SIGUSR1)


@contextmanager
def showing(what: str, *keys: str) -> Iterator[InPty]:
    """Starts the console, presses the keys one after another, and waits until all is drawn."""
    words = ("-m", "tests.live.played_console", what)
    line = started(words, (140, 45), **ENVIRONMENT)
    try:
        assert line.until(lambda: b"ALERTS" in line.output, PATIENCE_SECONDS), line.output
        written(line, SILENT_SECONDS)
        for key in keys:
            os.write(line.fileno, key.encode())
            assert written(line)
        yield line
    finally:
        line.kill()


@pytest.mark.parametrize("keys", [(), ("2",), ("2", "\r", "\r"), ("6",)], ids=str)
def test_a_refresh_that_shows_the_same_writes_nothing(keys: tuple[str, ...]) -> None:
    with showing("quiet", *keys) as line:
        for _ in range(REFRESHES):
            refresh(line)
            assert written(line, SILENT_SECONDS) == 0
        refresh(line)
        assert written(line), "the console takes no snapshot"


@pytest.mark.parametrize("keys", [(), ("2",), ("2", "\r", "\r")], ids=str)
def test_a_refresh_in_which_everything_moves_writes_little(keys: tuple[str, ...]) -> None:
    with showing("busy", *keys) as line:
        counts = []
        for _ in range(REFRESHES):
            refresh(line)
            counts.append(written(line))
        assert 0 < min(counts) <= max(counts) <= BUSY_BYTES_MAX, counts
