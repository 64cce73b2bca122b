"""Look-back: the traffic of the last hour and day, by partition, and the rate to expect of each.

Of the last hour every window is kept. Of the day, only the rates of the busiest ten minutes of each
hour are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from balancer.demand.busiest_periods import NOTHING, BusiestPeriods, period_of
from balancer.demand.last_hour import LastHour
from balancer.demand.window import HOUR_MS, Rate, Window
from balancer.demand.window_columns import Numbers, WindowColumns
from balancer.topic_partition import TopicPartition

ROWS_AT_ONCE = 4096
"""Partitions that are computed together: more would need more memory, fewer more time."""


class LookBack:
    """Windows by partition, without a clock of its own.

    It takes 2.1 KB of memory per partition with one window a minute. The memory of forgotten
    partitions is used again; `room` is the number of partitions that there is memory for.
    """

    def __init__(self) -> None:
        self._hour = LastHour()
        self._day = BusiestPeriods()
        self._row_of: dict[TopicPartition, int] = {}
        self._free: list[int] = []
        self.room = 0
        self._looked_up: tuple[Sequence[TopicPartition], Numbers] = ((), np.zeros(0, np.int64))

    def __len__(self) -> int:
        """Returns the number of partitions of which anything is known."""
        return len(self._row_of)

    def add(self, windows: Mapping[TopicPartition, Window] | WindowColumns) -> None:
        """Adds the windows of one look at the source logs, for the hour and for the day.

        The windows of a partition come in the order of their times. A window that begins before the
        newest one ended is left out: history may be read twice.
        """
        table = WindowColumns.of(windows)
        rows = self._rows(table.partitions)
        is_newer = table.begins_ms >= self._hour.newest_ms[rows]
        for part in _parts(np.flatnonzero(is_newer)):
            columns = [
                it[part] for it in (table.begins_ms, table.ends_ms, table.bytes, table.records)
            ]
            self._hour.put(rows[part], *columns)
            self._day.grow(rows[part], *columns)

    def add_coarse(self, windows: Mapping[TopicPartition, Window] | WindowColumns) -> None:
        """Adds sums of past periods, for the day alone; in any order and any number of times."""
        table = WindowColumns.of(windows)
        rows = self._rows(table.partitions)
        lengths_ms = table.ends_ms - table.begins_ms
        self._day.compare(rows, period_of(table.ends_ms), lengths_ms, table.bytes, table.records)

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
        partitions = list(self._row_of)
        for part in _parts(np.arange(len(rows))):
            pair, is_known = self._hour.sustained(rows[part], now_ms)
            if not is_known.all():
                older = self._day.highest(rows[part], now_ms)
                pair = np.where(is_known, pair, older)
                is_known |= older[0] != NOTHING
            each = zip(part.tolist(), is_known.tolist(), *pair.tolist(), strict=True)
            found.update((partitions[at], Rate(*rate)) for at, known, *rate in each if known)
        return found

    def fresh(self, now_ms: int, within_ms: int) -> set[TopicPartition]:
        """Returns the partitions whose last window ended no longer than `within_ms` ago.

        A window that ends further in the future than that is not fresh: a clock was wrong.
        """
        is_fresh = (abs(now_ms - self._hour.newest_ms) <= within_ms).tolist()
        return {each for each, row in self._row_of.items() if is_fresh[row]}

    def keep(self, partitions: Collection[TopicPartition], now_ms: int) -> None:
        """Forgets all other partitions, and those with a window that ends over an hour from now.

        A wrong clock made such a window, and it would keep out all correct windows after it.
        """
        kept = partitions if isinstance(partitions, set | frozenset) else set(partitions)
        is_ahead = (self._hour.newest_ms > now_ms + HOUR_MS).tolist()
        gone = [it for it, row in self._row_of.items() if it not in kept or is_ahead[row]]
        rows = np.array([self._row_of.pop(each) for each in gone], dtype=np.int64)
        self._hour.clear(rows)
        self._day.clear(rows)
        self._day.forget_after(now_ms)
        self._free += rows.tolist()
        if gone:
            self._looked_up = ((), np.zeros(0, np.int64))

    def _rows(self, partitions: Sequence[TopicPartition]) -> Numbers:
        """Returns the row of each partition; new partitions get rows."""
        if partitions is self._looked_up[0]:
            return self._looked_up[1]
        rows = np.array([self._row(each) for each in partitions], dtype=np.int64)
        missing = max(self.room, len(self._row_of) + len(self._free)) - self.room
        if missing:
            self.room += max(missing, self.room // 8)
            self._hour.make_room(self.room)
            self._day.make_room(self.room)
            self._free += range(len(self._row_of) + len(self._free), self.room)
        self._looked_up = (partitions, rows)
        return rows

    def _row(self, partition: TopicPartition) -> int:
        row = self._row_of.get(partition)
        if row is None:
            row = self._row_of[partition] = self._free.pop() if self._free else len(self._row_of)
        return row


def _parts(rows: Numbers) -> Iterator[Numbers]:
    return (rows[at : at + ROWS_AT_ONCE] for at in range(0, len(rows), ROWS_AT_ONCE))
