"""Retry policy: the pauses between attempts to store a block. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from aggregator.store.insert_errors import ErrorClass, InsertProblem

CONTENTION_CODES = frozenset([202, 203, 216, 286])
"""Codes of a server or a table that is taken for a moment: pauses hardly grow."""
CONTENTION_FACTOR_MAX = 4.0
JITTER_MIN = 0.5
"""Least part of a pause. Writers that met at a table shall not meet there again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Pauses between attempts. There is no last attempt: records have no other place to go.

    Args:
        pause_seconds: after the first failure; doubles with each further one of the same class.
        pause_seconds_max: no pause is longer.
        replicas: of the shard.
    """

    pause_seconds: float
    pause_seconds_max: float
    replicas: int = 1

    def pause(self, problem: InsertProblem, failures: int, random: float) -> float:
        """Returns the seconds to wait after a failure.

        Args:
            failures: failures of the same class in a row, this one included.
            random: from 0 to 1.
        """
        rounds = failures
        if problem.error_class is ErrorClass.OTHER_REPLICA:
            if failures % self.replicas:
                return 0.0
            rounds = failures // self.replicas
        return self._jittered(self._longest(problem, rounds), random)

    def look_pause(self, looks: int, random: float) -> float:
        """Returns the seconds to wait before the table is looked at once more."""
        return self._jittered(self._grown(looks), random)

    def _longest(self, problem: InsertProblem, rounds: int) -> float:
        if problem.error_class in (ErrorClass.STOP, ErrorClass.HOLD_TABLE):
            return self.pause_seconds_max
        longest = self._grown(rounds)
        if problem.code in CONTENTION_CODES:
            return min(longest, self.pause_seconds * CONTENTION_FACTOR_MAX)
        return longest

    def _grown(self, rounds: int) -> float:
        return min(self.pause_seconds * 2.0 ** min(rounds - 1, 32), self.pause_seconds_max)

    @staticmethod
    def _jittered(seconds: float, random: float) -> float:
        return seconds * (JITTER_MIN + (1 - JITTER_MIN) * random)
