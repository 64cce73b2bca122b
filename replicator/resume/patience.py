"""For how long a partition has waited for one record's run, and what is due because of that."""

from __future__ import annotations

from enum import Enum

SAID_AFTER_SECONDS = 5.0
"""Runs are told within about a second; what takes longer is worth a line."""


class Due(Enum):
    """What a wait calls for."""

    NOTHING = "nothing"
    SAYING = "saying"
    """It has become long: once for each wait."""
    ENDING = "ending"
    """Patience is over. It begins anew."""


class Patience:
    """Of one partition. Times are a monotonic clock's, in seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._since: float | None = None
        self._offset: int | None = None
        self._is_said = False

    def wait(self, offset: int | None, now: float) -> Due:
        """It waits for the run of the record at an offset; None: for any runs at all."""
        if self._since is None or offset != self._offset:
            self._since, self._offset = now, offset
        waited = now - self._since
        if waited >= self._seconds:
            self._since = now
            return Due.ENDING
        if waited >= SAID_AFTER_SECONDS and not self._is_said:
            self._is_said = True
            return Due.SAYING
        return Due.NOTHING

    def end(self) -> bool:
        """It waits for nothing; whether there is an end of a long wait to be told."""
        was_said, self._is_said, self._since = self._is_said, False, None
        return was_said
