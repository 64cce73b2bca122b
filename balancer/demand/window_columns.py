"""Windows as columns of numbers: the result of a look at 100 000 logs, and the stored form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from balancer.demand.window import Window
from balancer.topic_partition import TopicPartition

Numbers = NDArray[np.int64]
Rates = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class WindowColumns:
    """Windows of many partitions, one of each; the columns are as long as `partitions`.

    Args:
        partitions: each of them once. Callers that add windows of the same partitions again share
            one tuple: then the partitions are looked up only once.

    Raises ValueError when a column has another length, a window has no length, or a log has shrunk.
    """

    partitions: Sequence[TopicPartition]
    begins_ms: Numbers
    ends_ms: Numbers
    bytes: Numbers
    records: Numbers

    def __post_init__(self) -> None:
        columns = (self.begins_ms, self.ends_ms, self.bytes, self.records)
        if any(len(column) != len(self.partitions) for column in columns):
            lengths = [*map(len, columns)]
            raise ValueError(f"{len(self.partitions)} partitions, columns of {lengths}")
        if (self.ends_ms <= self.begins_ms).any():
            raise ValueError("a window has no length")
        if (self.bytes < 0).any() or (self.records < 0).any():
            raise ValueError("a log took in less than nothing")

    @classmethod
    def of(cls, windows: Mapping[TopicPartition, Window] | WindowColumns) -> WindowColumns:
        """Returns the same windows as columns; those of a mapping by topic and partition."""
        if isinstance(windows, WindowColumns):
            return windows
        partitions = tuple(sorted(windows))
        rows = [windows[each] for each in partitions]
        return cls(
            partitions,
            np.array([row.begin_ms for row in rows], dtype=np.int64),
            np.array([row.end_ms for row in rows], dtype=np.int64),
            np.array([row.bytes for row in rows], dtype=np.int64),
            np.array([row.records for row in rows], dtype=np.int64),
        )

    def ending(self, begin_ms: int, end_ms: int) -> WindowColumns:
        """Returns the windows that end after `begin_ms` and not after `end_ms`."""
        kept = (self.ends_ms > begin_ms) & (self.ends_ms <= end_ms)
        if kept.all():
            return self
        return WindowColumns(
            tuple(compress(self.partitions, kept.tolist())),
            self.begins_ms[kept],
            self.ends_ms[kept],
            self.bytes[kept],
            self.records[kept],
        )

    def __len__(self) -> int:
        return len(self.partitions)


def summed(parts: Iterable[WindowColumns]) -> WindowColumns:
    """Returns one window per partition, with the sums of its windows' growth and of their lengths.

    It ends when the last of these windows ends. If there are gaps between them, it begins later
    than the first of them: its rate is the rate of the observed time.
    """
    row_of: dict[TopicPartition, int] = {}
    tables = []
    for part in parts:
        numbers = [row_of.setdefault(each, len(row_of)) for each in part.partitions]
        tables.append((np.array(numbers, dtype=np.int64), part))
    lengths, ends, taken, records = np.zeros((4, len(row_of)), dtype=np.int64)
    for rows, part in tables:
        lengths[rows] += part.ends_ms - part.begins_ms
        ends[rows] = np.maximum(ends[rows], part.ends_ms)
        taken[rows] += part.bytes
        records[rows] += part.records
    return WindowColumns(tuple(row_of), ends - lengths, ends, taken, records)


def lengthened(column: NDArray[Any], rows: int, filling: float = 0) -> NDArray[Any]:
    """Returns a longer copy of a column or table; the new rows have the filling."""
    longer = np.full((rows, *column.shape[1:]), filling, column.dtype)
    longer[: len(column)] = column
    return longer
