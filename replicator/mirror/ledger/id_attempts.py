"""Attempts to take over transactional ids: their order, time limits and pauses. No I/O."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable

ID_SECONDS = 15.0
"""Time limit for the partitions of one transactional id at the first attempt. Partitions that are
already acquired wait for so long."""
ID_DOUBLINGS_MAX = 4
"""Limit to the doublings of ID_SECONDS, which let a long tail be read in the end."""

# Longer than the transaction of the carrier that was faster (5 ms quiet, 140 ms busy).
BACKOFF_SECONDS = 0.2
BACKOFF_DOUBLINGS_MAX = 4
"""All virgin entries name one id, and opening it fences the carrier that has it. Growing pauses
keep many carriers that begin at once out of each other's way."""


class IdAttempts:
    """Failed attempts by transactional id.

    Args:
        seconds: time limit of the first attempt; each attempt that reaches it doubles the next one.
        doublings_max: limit to these doublings.
        shuffle: reorders a list in place.
        jitter: returns the factor of a pause.
    """

    def __init__(
        self,
        seconds: float = ID_SECONDS,
        doublings_max: int = ID_DOUBLINGS_MAX,
        *,
        shuffle: Callable[[list[str]], None] = random.shuffle,
        jitter: Callable[[], float] = lambda: random.uniform(0.1, 1.5),
    ):
        self.seconds = seconds
        self._doublings_max = doublings_max
        self._shuffle = shuffle
        self._jitter = jitter
        self._overdue: Counter[str] = Counter()
        self._beaten: Counter[str] = Counter()

    def ordered(self, transactional_ids: Iterable[str]) -> list[str]:
        """Returns the ids in the order in which to try them.

        They are shuffled, so that competing carriers do not collide at each id in turn. Ids that
        gave no answer before come last, so that they do not hold up the others.
        """
        ids = list(transactional_ids)
        self._shuffle(ids)
        return sorted(ids, key=lambda each: self._overdue[each])

    def is_overdue(self, transactional_id: str) -> bool:
        """Returns True if the last attempt with an id reached its time limit."""
        return self._overdue[transactional_id] > 0

    def limit_seconds(self, transactional_id: str) -> float:
        """Returns the time limit of the next attempt with an id."""
        return self.seconds * 2.0 ** min(self._overdue[transactional_id], self._doublings_max)

    def expired(self, transactional_id: str) -> None:
        """Notes that an attempt reached its time limit."""
        self._overdue[transactional_id] += 1

    def backoff_seconds(self, transactional_id: str) -> float:
        """Notes that another carrier opened the id first; returns the pause before the next try."""
        doublings = min(self._beaten[transactional_id], BACKOFF_DOUBLINGS_MAX)
        self._beaten[transactional_id] += 1
        return BACKOFF_SECONDS * 2.0**doublings * self._jitter()

    def answered(self, transactional_id: str) -> None:
        """Notes that an attempt ended within its time limit, whatever its result."""
        del self._overdue[transactional_id]

    def succeeded(self, transactional_id: str) -> None:
        """Notes that no other carrier opened the id during an attempt."""
        del self._beaten[transactional_id]
