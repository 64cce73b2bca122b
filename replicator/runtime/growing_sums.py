"""Growing sums: counts of owners that come and go, added up so that the sums never go back.

An owner's counts only grow, so their growth between two looks is added once. Counts made between
looks are not lost when the owner ends, as long as its counts outlive it until the next look. Counts
lower than those found before were read earlier, or come from a store that went back.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

FORGET_SECONDS = 3600.0
"""Counts expire long before: those of an owner that was not found for so long never come back."""

Key = TypeVar("Key", bound=Hashable)


class GrowingSums(Generic[Key]):
    """Sums over all owners that were ever found, by what is counted."""

    def __init__(self) -> None:
        self._sums: dict[Key, float] = {}
        self._highest: dict[str, dict[Key, float]] = {}
        self._found_at: dict[str, float] = {}

    @property
    def sums(self) -> Mapping[Key, float]:
        return self._sums

    def note(self, found: Mapping[str, Mapping[Key, float]], now: float) -> None:
        """Takes counts, by owner, as they are at the time `now`: only their growth counts later."""
        self._take(found, now, counts=False)

    def add(self, found: Mapping[str, Mapping[Key, float]], now: float) -> None:
        """Adds the growth of counts, by owner, since the last look; all counts of a new owner."""
        self._take(found, now, counts=True)

    def _take(self, found: Mapping[str, Mapping[Key, float]], now: float, *, counts: bool) -> None:
        for owner, values in found.items():
            self._found_at[owner] = now
            highest = self._highest.setdefault(owner, {})
            for key, value in values.items():
                before = highest.get(key, 0)
                highest[key] = max(before, value)
                if counts:
                    self._sums[key] = self._sums.get(key, 0) + highest[key] - before
        for owner, at in list(self._found_at.items()):
            if now - at > FORGET_SECONDS:
                del self._found_at[owner], self._highest[owner]
