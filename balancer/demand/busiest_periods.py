"""Busiest ten minutes of each hour of the last day, by partition."""

from __future__ import annotations

import numpy as np

from balancer.demand.window import HOUR_MS, Rate
from balancer.demand.window_columns import Flags, Numbers, Rates, lengthened

PERIOD_MS = 600_000
"""Length of the periods that are compared; a divisor of an hour."""
DAY_HOURS = 25
"""Age up to which the busiest period counts; the end of its hour decides."""
NOTHING = -1.0
"""Rate where nothing was seen."""


class BusiestPeriods:
    """Busiest period of each hour, in a ring of hours; and the period that still grows."""

    def __init__(self) -> None:
        self._hours = np.full(DAY_HOURS + 2, -1, np.int64)
        self._highest = np.full((0, len(Rate._fields), DAY_HOURS + 2), NOTHING, np.float32)
        self._growing = np.zeros(0, np.int64)
        self._sums = np.zeros((0, 3), np.int64)  # milliseconds, bytes, records

    def grow(
        self, rows: Numbers, begins_ms: Numbers, ends_ms: Numbers, taken: Numbers, records: Numbers
    ) -> None:
        """Adds windows, one per row, to the periods that still grow."""
        periods = period_of(ends_ms)
        over = rows[self._growing[rows] != periods]
        self.compare(over, self._growing[over], *self._sums[over].T)
        self._sums[over] = 0
        self._growing[rows] = periods
        self._sums[rows] += np.stack([ends_ms - begins_ms, taken, records], axis=1)

    def compare(
        self,
        rows: Numbers,
        periods: Numbers,
        lengths_ms: Numbers,
        taken: Numbers,
        records: Numbers,
    ) -> None:
        """Updates the highest rates of the hours, for bytes and records separately.

        A period without a length does not count.
        """
        hours = periods * PERIOD_MS // HOUR_MS
        rates = _per_second(lengths_ms, taken, records)
        for hour in np.unique(hours[lengths_ms > 0]).tolist():
            column = hour % len(self._hours)
            if self._hours[column] < hour:
                self._highest[:, :, column] = NOTHING
                self._hours[column] = hour
            if self._hours[column] == hour:
                mine = hours == hour
                before = self._highest[rows[mine], :, column]
                self._highest[rows[mine], :, column] = np.maximum(before, rates[mine])

    def highest(self, rows: Numbers, now_ms: int) -> Rates:
        """Returns the highest rates, by kind and row."""
        counts = self._counts(self._hours, now_ms) & (self._hours >= 0)
        past = self._highest[rows][:, :, counts].max(axis=2, initial=NOTHING)
        growing = _per_second(*self._sums[rows].T)
        hours = self._growing[rows] * PERIOD_MS // HOUR_MS
        growing[~self._counts(hours, now_ms)] = NOTHING
        highest: Rates = np.maximum(past, growing).T
        return highest

    def clear(self, rows: Numbers) -> None:
        """Forgets what is known of the rows."""
        self._highest[rows] = NOTHING
        self._sums[rows] = 0

    def forget_after(self, now_ms: int) -> None:
        """Forgets hours after the next one: a wrong clock made their windows."""
        ahead = self._hours > now_ms // HOUR_MS + 1
        self._highest[:, :, ahead] = NOTHING
        self._hours[ahead] = -1

    def make_room(self, rows: int) -> None:
        """Lengthens the table to so many rows."""
        self._highest = lengthened(self._highest, rows, NOTHING)
        self._growing = lengthened(self._growing, rows)
        self._sums = lengthened(self._sums, rows)

    def _counts(self, hours: Numbers, now_ms: int) -> Flags:
        still: Flags = (hours + 1) * HOUR_MS > now_ms - DAY_HOURS * HOUR_MS
        return still


def period_of(ends_ms: Numbers) -> Numbers:
    """Returns the period of each window: the one in which the window ends."""
    return (ends_ms - 1) // PERIOD_MS


def _per_second(lengths_ms: Numbers, taken: Numbers, records: Numbers) -> Rates:
    """Returns the rates by row and kind; NOTHING for a period without a length."""
    seconds = np.where(lengths_ms > 0, lengths_ms, 1) / 1000
    rates: Rates = np.stack([taken, records], axis=1) / seconds[:, None]
    rates[lengths_ms <= 0] = NOTHING
    return rates
