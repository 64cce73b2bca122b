"""Which partitions of a log that is followed have brought nothing for too long: told once each.

A partition that is read brings news several times a second, if only that its end is reached.
"""

from __future__ import annotations

from collections.abc import Iterable

STILL_SECONDS = 30.0
PAUSE_SECONDS = 5.0
"""Nobody looked for so long: what was not heard of meanwhile says nothing of the log."""


class Standstill:
    """Of one log. `now` is of a monotonic clock, in seconds."""

    def __init__(self) -> None:
        self._heard_at: dict[int, float] = {}
        self._still: set[int] = set()
        self._looked_at = float("-inf")

    def hear(self, partitions: Iterable[int]) -> list[int]:
        """They brought news: those of them that had been told."""
        moved = self._still.intersection(partitions)
        self._still -= moved
        for number in partitions:
            self._heard_at.pop(number, None)
        return sorted(moved)

    def to_tell(self, partitions: Iterable[int], now: float) -> list[int]:
        """Of the log's partitions those that have to be told now; called again and again, after
        `hear`."""
        if now - self._looked_at > PAUSE_SECONDS:
            self._heard_at.clear()
        self._looked_at = now
        new = {it for it in partitions if now - self._heard_at.setdefault(it, now) >= STILL_SECONDS}
        new -= self._still
        self._still |= new
        return sorted(new)
