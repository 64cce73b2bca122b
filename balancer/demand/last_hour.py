"""Last hour: every window of it, by partition, and the rates that it lets expect."""

from __future__ import annotations

import numpy as np

from balancer.demand.window import HOUR_MS, Rate
from balancer.demand.window_columns import Flags, Numbers, Rates, lengthened

PERCENT = 95
"""Percentage of the hour that has no higher rate than the expected one. The maximum would be one
burst, which a lag of seconds absorbs; the mean would be too little for half of the time. Of a few
windows this percentile is only their maximum. That is noise, and placing by noise moves partitions.
So the less of the hour the windows cover, the more their mean counts instead."""
SLOTS_STEP = 8
NEVER = -(1 << 62)
"""Time where nothing was seen."""


class LastHour:
    """Every window of the last hour, in as many slots per partition as are needed."""

    def __init__(self) -> None:
        self.newest_ms = np.zeros(0, np.int64)
        self._ends_ms = np.zeros((0, SLOTS_STEP), np.int64)  # NEVER marks a free slot
        self._lengths_ms = np.zeros((0, SLOTS_STEP), np.int32)
        self._rates = [np.zeros((0, SLOTS_STEP)) for _ in Rate._fields]

    def put(
        self, rows: Numbers, begins_ms: Numbers, ends_ms: Numbers, taken: Numbers, records: Numbers
    ) -> None:
        """Adds windows, one per row, each in a free slot or the slot of an older window."""
        slots = self._ends_ms[rows].argmin(axis=1)
        if (self._ends_ms[rows, slots] > ends_ms - HOUR_MS).any():
            self._widen()
            slots = self._ends_ms[rows].argmin(axis=1)
        lengths_ms = ends_ms - begins_ms
        self.newest_ms[rows] = ends_ms
        self._ends_ms[rows, slots] = ends_ms
        self._lengths_ms[rows, slots] = np.minimum(lengths_ms, np.iinfo(np.int32).max)
        for rates, counts in zip(self._rates, (taken, records), strict=True):
            rates[rows, slots] = counts / (lengths_ms / 1000)

    def sustained(self, rows: Numbers, now_ms: int) -> tuple[Rates, Flags]:
        """Returns the rates by kind and row, and a flag for the rows that have a rate."""
        ends_ms = self._ends_ms[rows] - (now_ms - HOUR_MS)
        passed_ms = np.minimum(self._lengths_ms[rows], ends_ms).clip(0)
        whole_ms = passed_ms.sum(axis=1)
        covered = (whole_ms / HOUR_MS).clip(max=1)
        pair = np.array([_expected(rates[rows], passed_ms, covered) for rates in self._rates])
        return pair, whole_ms > 0

    def clear(self, rows: Numbers) -> None:
        """Forgets what is known of the rows."""
        self.newest_ms[rows] = NEVER
        self._ends_ms[rows] = NEVER

    def make_room(self, rows: int) -> None:
        """Lengthens the table to so many rows."""
        self.newest_ms = lengthened(self.newest_ms, rows, NEVER)
        self._ends_ms = lengthened(self._ends_ms, rows, NEVER)
        self._lengths_ms = lengthened(self._lengths_ms, rows)
        for kind in range(len(self._rates)):
            self._rates[kind] = lengthened(self._rates[kind], rows)

    def _widen(self) -> None:
        more = ((0, 0), (0, SLOTS_STEP))
        self._ends_ms = np.pad(self._ends_ms, more, constant_values=NEVER)
        self._lengths_ms = np.pad(self._lengths_ms, more)
        for kind in range(len(self._rates)):
            self._rates[kind] = np.pad(self._rates[kind], more)


def _expected(rates: Rates, passed_ms: Numbers, covered: Rates) -> Rates:
    """Returns the rates to expect of each row.

    Args:
        rates: rate in each slot of the row.
        passed_ms: time of each slot that lies within the hour.
        covered: part of the hour that the slots cover.
    """
    whole_ms = passed_ms.sum(axis=1)
    means = (rates * passed_ms).sum(axis=1) / np.maximum(whole_ms, 1)
    found: Rates = means + covered * (_quantiles(rates, passed_ms, whole_ms) - means)
    return found


def _quantiles(rates: Rates, passed_ms: Numbers, whole_ms: Numbers) -> Rates:
    """Returns the PERCENT quantile of each row's rates, weighted by time.

    A slot without time is never chosen: the time up to it is that of the slot before.
    """
    order = rates.argsort(axis=1)
    passed = np.take_along_axis(passed_ms, order, axis=1).cumsum(axis=1)
    at = (100 * passed >= PERCENT * whole_ms[:, None]).argmax(axis=1)
    each = np.arange(len(rates))
    found: Rates = rates[each, order[each, at]]
    return found
