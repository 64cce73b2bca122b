"""Backoff: the pause before the next attempt, longer after each failure."""

from __future__ import annotations

import random
from collections.abc import Callable


class Backoff:
    """Pause that grows up to a limit.

    Args:
        shortest_seconds: the first pause, and the first one after a reset.
        longest_seconds: no pause is longer.
        factor: growth from one pause to the next.
        uniform: returns a random number between two others.
    """

    def __init__(
        self,
        shortest_seconds: float,
        longest_seconds: float,
        *,
        factor: float = 2.0,
        uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self.seconds = shortest_seconds
        self._shortest = shortest_seconds
        self._longest = longest_seconds
        self._factor = factor
        self._uniform = uniform

    def grow(self) -> None:
        self.seconds = min(self.seconds * self._factor, self._longest)

    def reset(self) -> None:
        self.seconds = self._shortest

    def jittered(self, low: float, high: float) -> float:
        """Returns the pause multiplied by a random number between low and high."""
        return self.seconds * self._uniform(low, high)
