"""Which partitions of a log that is followed have brought nothing for too long: told once each.

A partition that is read brings news several times a second, if only that its end is reached.
"""

from __future__ import annotations

from collections.abc import Iterable

STILL_SECONDS = 30.0


class Standstill:
    """Of one log. `now` is of a monotonic clock, in seconds."""

    def __init__(self, partitions: Iterable[int], now: float) -> None:
        self._heard_at = dict.fromkeys(partitions, now)
        self._still: set[int] = set()

    def hear(self, partitions: Iterable[int], now: float) -> list[int]:
        """They brought news: those of them that had been told."""
        heard = list(partitions)
        self._heard_at |= dict.fromkeys(heard, now)
        moved = self._still.intersection(heard)
        self._still -= moved
        return sorted(moved)

    def begun(self, now: float) -> list[int]:
        """Those that have to be told now."""
        late = {it for it, at in self._heard_at.items() if now - at >= STILL_SECONDS}
        new = late - self._still
        self._still |= new
        return sorted(new)
