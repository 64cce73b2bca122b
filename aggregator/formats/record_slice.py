"""Record slice: records of one table as columns that point into the fetched data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

RECORD_BYTES = 32
"""Memory that a record takes beside its value, roughly."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordSlice:
    """Records in offset order; `data[value_begin:value_end]` is a record's value.

    Args:
        value_begin, value_end: both -1 for a null value.
        key_begin, key_end: both -1 for a null key.
        headers_begin, headers_end: encoded headers, with their count in front.
    """

    data: bytes | memoryview
    offset: Ints
    timestamp_ms: Ints
    key_begin: Ints
    key_end: Ints
    value_begin: Ints
    value_end: Ints
    headers_begin: Ints
    headers_end: Ints
    size_bytes: int = field(init=False)

    def __post_init__(self) -> None:
        # Headers and offsets cost memory too, also of records with null values.
        values = int((self.value_end - self.value_begin).sum())
        object.__setattr__(self, "size_bytes", values + RECORD_BYTES * len(self.offset))

    def __len__(self) -> int:
        return len(self.offset)

    def between(self, begin: int, end: int) -> Self:
        """Returns the records with offsets from begin up to, not including, end."""
        first, last = np.searchsorted(self.offset, (begin, end))
        if first == 0 and last == len(self.offset):
            return self
        return self.at(slice(int(first), int(last)))

    def at(self, which: slice | Ints) -> Self:
        """Returns the records at indexes."""
        return replace(
            self,
            offset=self.offset[which],
            timestamp_ms=self.timestamp_ms[which],
            key_begin=self.key_begin[which],
            key_end=self.key_end[which],
            value_begin=self.value_begin[which],
            value_end=self.value_end[which],
            headers_begin=self.headers_begin[which],
            headers_end=self.headers_end[which],
        )
