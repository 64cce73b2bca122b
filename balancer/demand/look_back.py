"""Look-back: the traffic of the last hour and day, by partition, and the rate to expect of each.

Of the last hour every window is kept. Of the day, only the rates of the busiest ten minutes of each
hour are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from balancer.demand.window import Rate, Window
from balancer.demand.window_columns import Numbers, WindowColumns
from balancer.plan import TopicPartition

HOUR_MS = 3_600_000
"""Time for which every window is kept."""
STRETCH_MS = 600_000
"""Length of the periods that are compared for the day; a divisor of an hour."""
DAY_HOURS = 25
"""Age up to which the busiest period counts; the end of its hour decides."""
PERCENT = 95
"""Percentage of the hour that has no higher rate than the expected one. The maximum would be one
burst, which a lag of seconds absorbs; the mean would be too little for half of the time. Of a few
windows this percentile is only their maximum. That is noise, and placing by noise moves partitions.
So the less of the hour the windows cover, the more their mean counts instead."""
ROWS_AT_ONCE = 4096
"""Partitions that are computed together: more would need more memory, fewer more time."""
SLOTS_STEP = 8
NOTHING = -1.0
"""Rate where nothing was seen."""
NEVER = -(1 << 62)
"""Time where nothing was seen."""

Rates = NDArray[np.float64]
Flags = NDArray[np.bool_]


class LookBack:
    """Windows by partition, without a clock of its own.

    It takes 2.1 KB of memory per partition with one window a minute. The memory of forgotten
    partitions is used again.
    """

    def __init__(self) -> None:
        self._hour = _Hour()
        self._day = _Day()
        self._row_of: dict[TopicPartition, int] = {}
        self._free: list[int] = []
        self._room = 0
        self._looked_up: tuple[Sequence[TopicPartition], Numbers] = ((), np.zeros(0, np.int64))

    def __len__(self) -> int:
        """Returns the number of partitions of which anything is known."""
        return len(self._row_of)

    def add(self, windows: Mapping[TopicPartition, Window] | WindowColumns) -> None:
        """Adds the windows of one look at the source logs, for the hour and for the day.

        The windows of a partition come in the order of their times. A window that begins before the
        newest one ended is left out: history may be read twice.
        """
        told = windows if isinstance(windows, WindowColumns) else WindowColumns.of(windows)
        rows = self._rows(told.places)
        goes_on = told.begins_ms >= self._hour.newest_ms[rows]
        for part in _parts(np.flatnonzero(goes_on)):
            columns = told.begins_ms[part], told.ends_ms[part], told.bytes[part], told.records[part]
            self._hour.put(rows[part], *columns)
            self._day.grow(rows[part], *columns)

    def add_coarse(self, windows: Mapping[TopicPartition, Window] | WindowColumns) -> None:
        """Adds sums of past periods, for the day alone; in any order and any number of times."""
        told = windows if isinstance(windows, WindowColumns) else WindowColumns.of(windows)
        lengths_ms = told.ends_ms - told.begins_ms
        stretches = self._day.stretch(told.ends_ms)
        self._day.compare(self._rows(told.places), stretches, lengths_ms, told.bytes, told.records)

    def rates(self, now_ms: int) -> dict[TopicPartition, Rate]:
        """Returns the rate to expect of each partition.

        It is the rate that was not exceeded for PERCENT of the last hour. Where the windows cover
        only part of that hour, it lies between that rate and their mean: the smaller the part, the
        nearer to the mean. Bytes and records are computed separately, since they need not be high
        at the same time. A window that began before the hour counts with the part within the hour.

        A partition without a window in the hour has the highest rate of the day's periods. A
        partition without either is left out.

        Args:
            now_ms: milliseconds since 1970; not before the end of any window that was added.
        """
        found: dict[TopicPartition, Rate] = {}
        rows = np.fromiter(self._row_of.values(), np.int64, len(self._row_of))
        places = list(self._row_of)
        for part in _parts(np.arange(len(rows))):
            pair, is_known = self._hour.sustained(rows[part], now_ms)
            if not is_known.all():
                older = self._day.highest(rows[part], now_ms)
                pair = np.where(is_known, pair, older)
                is_known |= older[0] != NOTHING
            each = zip(part.tolist(), is_known.tolist(), *pair.tolist(), strict=True)
            found.update((places[at], Rate(*rate)) for at, known, *rate in each if known)
        return found

    def fresh(self, now_ms: int, within_ms: int) -> set[TopicPartition]:
        """Returns the partitions whose last window ended no longer than `within_ms` ago.

        A window that ends further in the future than that is not fresh: a clock was wrong.
        """
        is_fresh = (abs(now_ms - self._hour.newest_ms) <= within_ms).tolist()
        return {place for place, row in self._row_of.items() if is_fresh[row]}

    def keep(self, partitions: Collection[TopicPartition], now_ms: int) -> None:
        """Forgets all other partitions, and those with a window that ends over an hour from now.

        A wrong clock made such a window, and it would keep out all correct windows after it.
        """
        kept = partitions if isinstance(partitions, set | frozenset) else set(partitions)
        is_ahead = (self._hour.newest_ms > now_ms + HOUR_MS).tolist()
        gone = [p for p, row in self._row_of.items() if p not in kept or is_ahead[row]]
        rows = np.array([self._row_of.pop(place) for place in gone], dtype=np.int64)
        self._hour.clear(rows)
        self._day.clear(rows)
        self._day.forget_after(now_ms)
        self._free += rows.tolist()
        if gone:
            self._looked_up = ((), np.zeros(0, np.int64))

    def _rows(self, places: Sequence[TopicPartition]) -> Numbers:
        if places is self._looked_up[0]:
            return self._looked_up[1]
        rows = np.array([self._row(place) for place in places], dtype=np.int64)
        missing = max(self._room, len(self._row_of) + len(self._free)) - self._room
        if missing:
            self._room += max(missing, self._room // 8)
            self._hour.make_room(self._room)
            self._day.make_room(self._room)
            self._free += range(len(self._row_of) + len(self._free), self._room)
        self._looked_up = (places, rows)
        return rows

    def _row(self, place: TopicPartition) -> int:
        row = self._row_of.get(place)
        if row is None:
            row = self._row_of[place] = self._free.pop() if self._free else len(self._row_of)
        return row


def _parts(rows: Numbers) -> Iterator[Numbers]:
    return (rows[at : at + ROWS_AT_ONCE] for at in range(0, len(rows), ROWS_AT_ONCE))


class _Hour:
    """Every window of the last hour, in as many slots per partition as are needed."""

    def __init__(self) -> None:
        self.newest_ms = np.zeros(0, np.int64)
        self._ends_ms = np.zeros((0, SLOTS_STEP), np.int64)  # NEVER marks a free slot
        self._lengths_ms = np.zeros((0, SLOTS_STEP), np.int32)
        self._rates = [np.zeros((0, SLOTS_STEP)) for _ in Rate._fields]

    def put(
        self, rows: Numbers, begins_ms: Numbers, ends_ms: Numbers, taken: Numbers, records: Numbers
    ) -> None:
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
        told_of = (whole_ms / HOUR_MS).clip(max=1)
        pair = np.array([_expected(rates[rows], passed_ms, told_of) for rates in self._rates])
        return pair, whole_ms > 0

    def clear(self, rows: Numbers) -> None:
        self.newest_ms[rows] = NEVER
        self._ends_ms[rows] = NEVER

    def make_room(self, rows: int) -> None:
        self.newest_ms = _longer(self.newest_ms, rows, NEVER)
        self._ends_ms = _longer(self._ends_ms, rows, NEVER)
        self._lengths_ms = _longer(self._lengths_ms, rows)
        for kind in range(len(self._rates)):
            self._rates[kind] = _longer(self._rates[kind], rows)

    def _widen(self) -> None:
        more = ((0, 0), (0, SLOTS_STEP))
        self._ends_ms = np.pad(self._ends_ms, more, constant_values=NEVER)
        self._lengths_ms = np.pad(self._lengths_ms, more)
        for kind in range(len(self._rates)):
            self._rates[kind] = np.pad(self._rates[kind], more)


def _expected(rates: Rates, passed_ms: Numbers, told_of: Rates) -> Rates:
    """Returns the rates to expect of each row.

    Args:
        rates: rate in each slot of the row.
        passed_ms: time of each slot that lies within the hour.
        told_of: part of the hour that the slots cover.
    """
    whole_ms = passed_ms.sum(axis=1)
    means = (rates * passed_ms).sum(axis=1) / np.maximum(whole_ms, 1)
    found: Rates = means + told_of * (_quantiles(rates, passed_ms, whole_ms) - means)
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


class _Day:
    """Busiest period of each hour, in a ring of hours; and the period that still grows."""

    def __init__(self) -> None:
        self._hours = np.full(DAY_HOURS + 2, -1, np.int64)
        self._highest = np.full((0, len(Rate._fields), DAY_HOURS + 2), NOTHING, np.float32)
        self._growing = np.zeros(0, np.int64)
        self._sums = np.zeros((0, 3), np.int64)  # milliseconds, bytes, records

    def stretch(self, ends_ms: Numbers) -> Numbers:
        """Returns the period of each window: the one in which the window ends."""
        return (ends_ms - 1) // STRETCH_MS

    def grow(
        self, rows: Numbers, begins_ms: Numbers, ends_ms: Numbers, taken: Numbers, records: Numbers
    ) -> None:
        stretches = self.stretch(ends_ms)
        over = rows[self._growing[rows] != stretches]
        self.compare(over, self._growing[over], *self._sums[over].T)
        self._sums[over] = 0
        self._growing[rows] = stretches
        self._sums[rows] += np.stack([ends_ms - begins_ms, taken, records], axis=1)

    def compare(
        self,
        rows: Numbers,
        stretches: Numbers,
        lengths_ms: Numbers,
        taken: Numbers,
        records: Numbers,
    ) -> None:
        """Updates the highest rates of the hours, for bytes and records separately.

        A period without a length does not count.
        """
        hours = stretches * STRETCH_MS // HOUR_MS
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
        hours = self._growing[rows] * STRETCH_MS // HOUR_MS
        growing[~self._counts(hours, now_ms)] = NOTHING
        highest: Rates = np.maximum(past, growing).T
        return highest

    def clear(self, rows: Numbers) -> None:
        self._highest[rows] = NOTHING
        self._sums[rows] = 0

    def forget_after(self, now_ms: int) -> None:
        ahead = self._hours > now_ms // HOUR_MS + 1
        self._highest[:, :, ahead] = NOTHING
        self._hours[ahead] = -1

    def make_room(self, rows: int) -> None:
        self._highest = _longer(self._highest, rows, NOTHING)
        self._growing = _longer(self._growing, rows)
        self._sums = _longer(self._sums, rows)

    def _counts(self, hours: Numbers, now_ms: int) -> Flags:
        still: Flags = (hours + 1) * HOUR_MS > now_ms - DAY_HOURS * HOUR_MS
        return still


def _per_second(lengths_ms: Numbers, taken: Numbers, records: Numbers) -> Rates:
    """Returns the rates by row and kind; NOTHING for a period without a length."""
    seconds = np.where(lengths_ms > 0, lengths_ms, 1) / 1000
    rates: Rates = np.stack([taken, records], axis=1) / seconds[:, None]
    rates[lengths_ms <= 0] = NOTHING
    return rates


def _longer(numbers: NDArray[Any], rows: int, filling: float = 0) -> NDArray[Any]:
    longer = np.full((rows, *numbers.shape[1:]), filling, numbers.dtype)
    longer[: len(numbers)] = numbers
    return longer
