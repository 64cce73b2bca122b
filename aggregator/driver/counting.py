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
    between looks are not lost when the loader ends: its totals outlive it by minutes. Totals that
    are lower than those found before were read earlier, or come from a Redis that went back.
    """

    def __init__(self) -> None:
        self._sums: dict[str, dict[Labels, float]] = {}
        self._highest: dict[str, dict[tuple[str, Labels], float]] = {}
        """Highest counts that were found of each loader, by the counter's name and labels."""
        self._found_at: dict[str, float] = {}
        self._has_begun = False

    def add(self, found: Mapping[str, LoaderTotals], now: float) -> None:
        """Adds the growth of totals, given by the loaders' ids as of the time `now`.

        The first look only notes the totals: those loaders ran before the process counted.
        """
        for loader, totals in found.items():
            self._add(self._highest.setdefault(loader, {}), totals)
            self._found_at[loader] = now
        self._has_begun = True
        for loader, at in list(self._found_at.items()):
            if now - at > FORGET_SECONDS:
                del self._found_at[loader], self._highest[loader]

    def sums(self, counter: LoaderCounter) -> dict[Labels, float]:
        """Returns the sums of a counter by the labels feed, cluster, and the counter's own."""
        size = len(counter.labels) + 2
        sums = self._sums.get(counter.name, {})
        # A version with other labels may have written totals.
        return {labels: value for labels, value in sums.items() if len(labels) == size}

    def _add(self, highest: dict[tuple[str, Labels], float], totals: LoaderTotals) -> None:
        for name, values in totals.counts.items():
            for own, value in values.items():
                before = highest.get((name, own), 0)
                highest[name, own] = max(before, value)
                if self._has_begun:
                    sums = self._sums.setdefault(name, {})
                    labels = (totals.feed, totals.cluster, *own)
                    sums[labels] = sums.get(labels, 0) + max(0, value - before)
