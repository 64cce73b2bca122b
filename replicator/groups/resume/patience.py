"""Wait of a partition for the run of one record: how long it lasts, and when to log or end it."""

from __future__ import annotations

from enum import Enum

LOG_AFTER_SECONDS = 5.0
"""Runs are published within about a second; a longer wait is logged."""


class Due(Enum):
    """Action that a wait calls for."""

    NOTHING = "nothing"
    LOG = "log"
    """Log the wait, which has become long; once for each wait."""
    END = "end"
    """End the wait: patience is over, and begins anew."""


class Patience:
    """Wait of one partition. Times are seconds of a monotonic clock."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._since: float | None = None
        self._offset: int | None = None
        self._is_logged = False

    def wait(self, offset: int | None, now: float) -> Due:
        """Notes a wait for the run of the record at an offset (None: for any runs at all)."""
        if self._since is None or offset != self._offset:
            self._since, self._offset = now, offset
        waited = now - self._since
        if waited >= self._seconds:
            self._since = now
            return Due.END
        if waited >= LOG_AFTER_SECONDS and not self._is_logged:
            self._is_logged = True
            return Due.LOG
        return Due.NOTHING

    def end(self) -> bool:
        """Ends the wait; returns True if it had been logged, so that its end is logged too."""
        was_logged, self._is_logged, self._since = self._is_logged, False, None
        return was_logged
