"""Progress display of a waiting command: a bar on a terminal, else a line every few seconds."""

from __future__ import annotations

from typing import TextIO

from replicator.runtime.plain_text import one_line

LINE_SECONDS = 5.0
BAR_CHARACTERS = 30


class Waiting:
    """Progress display on one text stream; the largest count shown is the whole of the bar."""

    def __init__(self, what: str, stream: TextIO) -> None:
        self._what = what
        self._stream = stream
        self._is_terminal = stream.isatty()
        self._whole = 0
        self._said_at: float | None = None

    def show(self, left: int, text: str, now_seconds: float) -> None:
        """Shows the progress; without a terminal at most once in LINE_SECONDS.

        Args:
            left: amount that is still missing.
            text: the same in words.
            now_seconds: time on a monotonic clock.
        """
        text = one_line(text)
        self._whole = max(self._whole, left)
        if self._is_terminal:
            done = 1 - left / self._whole if self._whole else 1.0
            bar = ("#" * round(done * BAR_CHARACTERS)).ljust(BAR_CHARACTERS, ".")
            self._write(f"\r\x1b[K{self._what} [{bar}] {done:4.0%}  {text}")
        elif self._said_at is None or now_seconds - self._said_at >= LINE_SECONDS:
            self._said_at = now_seconds
            self._write(f"{self._what}: {text}\n")

    def end(self) -> None:
        """Ends the line of the bar."""
        if self._is_terminal:
            self._write("\n")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
