"""Progress of a long command: a bar on a terminal, else a line every few seconds."""

from __future__ import annotations

from typing import TextIO

from replicator.runtime.plain_text import one_line

LINE_SECONDS = 5.0
BAR_CHARACTERS = 30


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

    def show(self, stage: str, left: int, text: str, now_seconds: float) -> None:
        """Shows the progress of a stage; without a terminal at most once in LINE_SECONDS.

        Args:
            left: amount that is still missing.
            text: the same in words.
            now_seconds: time on a monotonic clock.
        """
        if stage != self._stage:
            self.end()
            self._stage, self._whole, self._printed_at = stage, 0, None
        text = one_line(text)
        self._whole = max(self._whole, left)
        if self._is_terminal:
            done = 1 - left / self._whole if self._whole else 1.0
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
