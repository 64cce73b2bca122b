"""Counting: adds up the totals of loaders, so that counters grow while loaders come and go."""

from __future__ import annotations

from collections.abc import Mapping

from aggregator.loader.counters import LoaderCounter
from aggregator.loader.tally import Labels, LoaderTotals

FORGET_SECONDS = 3600.0
"""Totals expire long before: those of a loader that was not found for so long never come back."""


class Counting:
    """Sums over all loaders that were ever found.

    A loader's totals only grow, so their growth between two looks is added once. Counts made
    between looks are not lost when the loader ends: its totals outlive it by minutes.
    """

    def __init__(self) -> None:
        self._sums: dict[str, dict[Labels, float]] = {}
        self._found: dict[str, tuple[float, LoaderTotals]] = {}
        self._has_begun = False

    def add(self, found: Mapping[str, LoaderTotals], now: float) -> None:
        """Adds the growth of totals, given by the loaders' ids as of the time `now`.

        The first look only notes the totals: those loaders ran before the process counted.
        """
        for loader, totals in found.items():
            if self._has_begun:
                _, before = self._found.get(loader, (now, None))
                self._grow(before, totals)
            self._found[loader] = now, totals
        self._has_begun = True
        for loader, (at, _) in list(self._found.items()):
            if now - at > FORGET_SECONDS:
                del self._found[loader]

    def sums(self, counter: LoaderCounter) -> dict[Labels, float]:
        """Returns the sums of a counter by the labels feed, cluster, and the counter's own."""
        size = len(counter.labels) + 2
        sums = self._sums.get(counter.name, {})
        # A version with other labels may have written totals.
        return {labels: value for labels, value in sums.items() if len(labels) == size}

    def _grow(self, before: LoaderTotals | None, after: LoaderTotals) -> None:
        for name, values in after.counts.items():
            old = before.counts.get(name, {}) if before else {}
            sums = self._sums.setdefault(name, {})
            for own, value in values.items():
                labels = (after.feed, after.cluster, *own)
                sums[labels] = sums.get(labels, 0) + max(0, value - old.get(own, 0))
