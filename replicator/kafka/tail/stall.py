"""Partitions of a tailed log that have brought nothing for too long; each is reported once.

A partition that is read brings news several times a second, if only that its end is reached.
"""

from __future__ import annotations

from collections.abc import Iterable

STILL_SECONDS = 30.0
PAUSE_SECONDS = 5.0
"""Longest gap between two calls. After a longer one, earlier silence says nothing of the log."""


class StallWatch:
    """Stalls of one log's partitions. `now` is of a monotonic clock, in seconds."""

    def __init__(self) -> None:
        self._heard_at: dict[int, float] = {}
        self._still: set[int] = set()
        self._looked_at = float("-inf")

    def hear(self, partitions: Iterable[int]) -> list[int]:
        """Notes that partitions brought news; returns those that had been reported."""
        moved = self._still.intersection(partitions)
        self._still -= moved
        for number in partitions:
            self._heard_at.pop(number, None)
        return sorted(moved)

    def to_tell(self, partitions: Iterable[int], now: float) -> list[int]:
        """Returns the partitions that have to be reported now; called repeatedly, after `hear`."""
        if now - self._looked_at > PAUSE_SECONDS:
            self._heard_at.clear()
        self._looked_at = now
        new = {it for it in partitions if now - self._heard_at.setdefault(it, now) >= STILL_SECONDS}
        new -= self._still
        self._still |= new
        return sorted(new)
