"""Schedule of rounds: periodic, and at once when orders, partitions or task slots change."""

from __future__ import annotations


class RoundSchedule:
    """Schedule of the rounds of one region.

    Args:
        round_seconds: time between periodic rounds.
    """

    def __init__(self, round_seconds: float) -> None:
        self._round_seconds = round_seconds
        self._inputs: object = None
        self._next_at = 0.0

    def is_due(self, inputs: object, now: float, *, is_urgent: bool) -> bool:
        """Returns True if a round is to run now; the next periodic one is then counted from now.

        Args:
            inputs: a round runs at once if they are not equal to those of the round before.
            now: monotonic time in seconds.
            is_urgent: True if a round has to run in any case.
        """
        if inputs == self._inputs and now < self._next_at and not is_urgent:
            return False
        self._inputs = inputs
        self._next_at = now + self._round_seconds
        return True

    def repeat(self) -> None:
        """Makes a round due at the next call, because this one left a route out."""
        self._inputs = None
