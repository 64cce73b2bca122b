"""Counting: adds up the totals of loaders, so that counters grow while loaders come and go."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from aggregator.loader.counters import COUNTERS
from aggregator.loader.tally import Labels, LoaderTotals
from replicator.runtime.growing_sums import GrowingSums


class Counting:
    """Sums over all loaders of a region that were ever found."""

    def __init__(self) -> None:
        self._growing: GrowingSums[tuple[str, Labels]] = GrowingSums()
        self._has_begun = False

    def add(self, found: Mapping[str, LoaderTotals], now: float) -> None:
        """Adds the growth of totals, given by the loaders' ids as of the time `now`.

        The first look only notes the totals: those loaders ran before the process counted.
        """
        counts = {loader: _by_key(totals) for loader, totals in found.items()}
        (self._growing.add if self._has_begun else self._growing.note)(counts, now)
        self._has_begun = True

    def sums(self) -> Mapping[str, Mapping[Labels, float]]:
        """Returns the sums by the counter's name, and by the labels feed, cluster and its own."""
        sizes = {counter.name: len(counter.labels) + 2 for counter in COUNTERS}
        found: dict[str, dict[Labels, float]] = defaultdict(dict)
        for (name, labels), value in self._growing.sums.items():
            # A version with other labels may have written totals.
            if sizes.get(name) == len(labels):
                found[name][labels] = value
        return found


def _by_key(totals: LoaderTotals) -> dict[tuple[str, Labels], float]:
    return {
        (name, (totals.feed, totals.cluster, *labels)): value
        for name, values in totals.counts.items()
        for labels, value in values.items()
    }
