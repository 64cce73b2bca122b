"""Stalls of a tailed log: partitions that have brought nothing for too long, each reported once.

A partition that is read brings news several times a second, if only that its end is reached.
"""

from __future__ import annotations

from collections.abc import Iterable

STALL_SECONDS = 30.0
PAUSE_SECONDS = 5.0
"""Longest gap between two calls. After a longer one, earlier silence says nothing of the log."""


class StallWatch:
    """Stalls of one log's partitions. `now` is of a monotonic clock, in seconds.

    Args:
        seconds: silence after which a partition has stalled.
    """

    def __init__(self, seconds: float = STALL_SECONDS) -> None:
        self.seconds = seconds
        self._silent_since: dict[int, float] = {}
        self._stalled: set[int] = set()
        self._checked_at = float("-inf")

    def recovered(self, partitions: Iterable[int]) -> list[int]:
        """Notes that partitions brought news; returns those that had been reported as stalled."""
        recovered = self._stalled.intersection(partitions)
        self._stalled -= recovered
        for number in partitions:
            self._silent_since.pop(number, None)
        return sorted(recovered)

    def newly_stalled(self, partitions: Iterable[int], now: float) -> list[int]:
        """Returns the partitions to report now; called repeatedly, after `recovered`."""
        if now - self._checked_at > PAUSE_SECONDS:
            self._silent_since.clear()
        self._checked_at = now
        silent_seconds = {
            number: now - self._silent_since.setdefault(number, now) for number in partitions
        }
        stalled = {number for number, seconds in silent_seconds.items() if seconds >= self.seconds}
        stalled -= self._stalled
        self._stalled |= stalled
        return sorted(stalled)
