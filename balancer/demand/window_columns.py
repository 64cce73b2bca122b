"""Many windows as columns of numbers: what a look at 100 000 logs comes to, and what is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from balancer.demand.window import Window
from balancer.plan import TopicPartition

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class WindowColumns:
    """One window of each of these partitions; the columns are as long as `places`.

    Raises ValueError where no log can have done what they say.

    Args:
        places: each of them once. Who stores many of the same partitions shares one tuple: then
            they are looked up only once.
    """

    places: Sequence[TopicPartition]
    begins_ms: Numbers
    ends_ms: Numbers
    bytes: Numbers
    records: Numbers

    def __post_init__(self) -> None:
        columns = (self.begins_ms, self.ends_ms, self.bytes, self.records)
        if any(len(column) != len(self.places) for column in columns):
            raise ValueError(f"{len(self.places)} partitions, columns of {[*map(len, columns)]}")
        if (self.ends_ms <= self.begins_ms).any():
            raise ValueError("a window has no length")
        if (self.bytes < 0).any() or (self.records < 0).any():
            raise ValueError("a log took in less than nothing")

    @classmethod
    def of(cls, windows: Mapping[TopicPartition, Window]) -> Self:
        """The same windows, by topic and partition."""
        places = tuple(sorted(windows))
        rows = [windows[place] for place in places]
        return cls(
            places,
            np.array([row.begin_ms for row in rows], dtype=np.int64),
            np.array([row.end_ms for row in rows], dtype=np.int64),
            np.array([row.bytes for row in rows], dtype=np.int64),
            np.array([row.records for row in rows], dtype=np.int64),
        )

    def windows(self) -> dict[TopicPartition, Window]:
        """One by one: for few."""
        columns = (self.begins_ms, self.ends_ms, self.bytes, self.records)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return {place: Window(*row) for place, row in zip(self.places, rows, strict=True)}

    def ending(self, begin_ms: int, end_ms: int) -> WindowColumns:
        """Those that end after the one time, and not after the other."""
        kept = (self.ends_ms > begin_ms) & (self.ends_ms <= end_ms)
        if kept.all():
            return self
        return WindowColumns(
            tuple(place for place, keep in zip(self.places, kept.tolist(), strict=True) if keep),
            self.begins_ms[kept],
            self.ends_ms[kept],
            self.bytes[kept],
            self.records[kept],
        )

    def __len__(self) -> int:
        return len(self.places)


def summed(parts: Iterable[WindowColumns]) -> WindowColumns:
    """One window of each partition: all that its windows took in, and as long as they are together.

    It ends where the last of them does; so it begins later than the first of them, if there was
    time that nobody looked at: its rate is that of the time that somebody did.
    """
    row_of: dict[TopicPartition, int] = {}
    tables = []
    for part in parts:
        rows = np.array([row_of.setdefault(p, len(row_of)) for p in part.places], dtype=np.int64)
        tables.append((rows, part))
    lengths, ends, taken, records = np.zeros((4, len(row_of)), dtype=np.int64)
    for rows, part in tables:
        lengths[rows] += part.ends_ms - part.begins_ms
        ends[rows] = np.maximum(ends[rows], part.ends_ms)
        taken[rows] += part.bytes
        records[rows] += part.records
    return WindowColumns(tuple(row_of), ends - lengths, ends, taken, records)
