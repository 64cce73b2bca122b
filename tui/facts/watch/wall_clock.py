"""Wall clock of a watch, under which ages stay right when the clock of the machine is set."""

from __future__ import annotations

import time
from collections.abc import Callable

STEP_SECONDS = 1.0
"""Difference from which the clock was set, and does not only run a little slow or fast."""


class WallClock:
    """Wall clock that tells moments of the monotonic clock as Unix seconds.

    Args:
        wall, steady: clocks of the machine; for tests.
    """

    def __init__(
        self,
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wall, self.moment = wall, steady
        self._offset = wall() - steady()

    def follow(self) -> None:
        """Tells all moments by the new time from now on, if the clock of the machine was set."""
        offset = self._wall() - self.moment()
        if abs(offset - self._offset) >= STEP_SECONDS:
            self._offset = offset

    def unix(self, moment: float | None) -> float | None:
        """Returns a moment in Unix seconds; None of None."""
        return None if moment is None else moment + self._offset
