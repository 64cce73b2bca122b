"""Record slice: records of one table as columns that point into the fetched data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aggregator.formats.byte_columns import byte_column, taken
from aggregator.formats.record_headers import Headers, read_headers
from aggregator.tables.value_limits import limits_of

Ints = npt.NDArray[np.int64]

NO_TIME = -1
"""Timestamp of a record without one. Other numbers below 0 are times before 1970."""
COLUMNS = (
    "offset",
    "timestamp_ms",
    "key_begin",
    "key_end",
    "value_begin",
    "value_end",
    "headers_begin",
    "headers_end",
)
"""Columns of a slice."""
SLICE_RECORDS = 1000
FRAME_BYTES = 8
"""Bytes between two records, roughly: length, attributes, and deltas of time and offset."""
RECORD_BYTES = 8 * len(COLUMNS) + FRAME_BYTES
"""Memory that a record takes beside its key, value and headers."""
SLICE_BYTES = 2048
"""Memory that a slice takes beside its records: objects of Python and numpy."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordSlice:
    """Records in offset order; `data[value_begin:value_end]` is a record's value.

    Args:
        value_begin, value_end: both -1 for a null value.
        key_begin, key_end: both -1 for a null key.
        headers_begin, headers_end: encoded headers, with their count in front.
        size_bytes: memory of the records, if their data are their own (see `owned`).
        columns: columns of the records that were asked for, by name.
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
    columns: dict[str, pa.BinaryArray] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        fields = int((self.headers_end - self.begin).sum())
        size = SLICE_BYTES + RECORD_BYTES * len(self.offset) + fields
        object.__setattr__(self, "size_bytes", size)

    def __len__(self) -> int:
        return len(self.offset)

    @property
    def memory_bytes(self) -> int:
        """Memory of the records, and of their columns."""
        columns: int = sum(each.nbytes for each in self.columns.values())
        return self.size_bytes + columns

    @property
    def key_column(self) -> pa.BinaryArray:
        """Keys, copied once."""
        if "key" not in self.columns:
            self.columns["key"] = byte_column(self.data, self.key_begin, self.key_end)
        return self.columns["key"]

    @property
    def value_column(self) -> pa.BinaryArray:
        """Values, copied once."""
        if "value" not in self.columns:
            self.columns["value"] = byte_column(self.data, self.value_begin, self.value_end)
        return self.columns["value"]

    @property
    def record_bytes(self) -> Ints:
        """Bytes of key, value and headers of each record."""
        keys, values = self.key_end - self.key_begin, self.value_end - self.value_begin
        return keys + values + self.headers_end - self.headers_begin

    def between(self, begin: int, end: int) -> Self:
        """Returns the records with offsets from begin up to, not including, end; some of them have
        data of their own, so that the others can be freed."""
        first, last = np.searchsorted(self.offset, (begin, end))
        if first == 0 and last == len(self.offset):
            return self
        return self.at(slice(int(first), int(last))).owned()

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
            columns=self._columns_at(which),
        )

    def _columns_at(self, which: slice | Ints) -> dict[str, pa.BinaryArray]:
        """Returns the columns of consecutive records, not copied; none for others."""
        if not isinstance(which, slice):
            return {}
        begin, end, _ = which.indices(len(self))
        return {name: each.slice(begin, end - begin) for name, each in self.columns.items()}

    @property
    def begin(self) -> Ints:
        """Place of the first field of each record that is not null."""
        first = np.where(self.value_begin < 0, self.headers_begin, self.value_begin)
        return np.where(self.key_begin < 0, first, self.key_begin)

    def owned(self) -> Self:
        """Returns the records with data and columns of their own.

        A fetch is opened at once, and its data are freed with the last slice that points into them:
        one record of a table that waits would keep those of all others.
        """
        if not len(self):
            return self.copied()
        begin, end = int(self.begin[0]), int(self.headers_end[-1])
        if end - begin > self.size_bytes - SLICE_BYTES - (RECORD_BYTES - FRAME_BYTES) * len(self):
            return self.copied()
        return self._moved(bytes(self.data[begin:end]), np.full(len(self), -begin))

    def copied(self, order: Ints | None = None) -> Self:
        """Returns the records with data of their own, one behind the other.

        Args:
            order: indexes of the records in the order of the result; None: as they are.
        """
        begin = self.begin
        spans = taken(self.data, begin, self.headers_end, order)
        chosen = self if order is None else self.at(order)
        shift = limits_of(spans)[:-1] - (begin if order is None else begin[order])
        # Arrow's buffers are memory of signed octets.
        return chosen._moved(memoryview(spans.buffers()[2] or b"").cast("B"), shift)

    def _moved(self, data: bytes | memoryview, shift: Ints) -> Self:
        """Returns the records in other data.

        Args:
            shift: of the places of each record.
        """

        def moved(places: Ints) -> Ints:
            found = places + shift
            if (is_null := places < 0).any():
                found[is_null] = -1
            return found

        return replace(
            self,
            data=data,
            offset=self.offset.copy(),
            timestamp_ms=self.timestamp_ms.copy(),
            key_begin=moved(self.key_begin),
            key_end=moved(self.key_end),
            value_begin=moved(self.value_begin),
            value_end=moved(self.value_end),
            headers_begin=moved(self.headers_begin),
            headers_end=moved(self.headers_end),
            columns={},
        )

    def key_at(self, at: int) -> bytes | None:
        """Returns the key of one record."""
        return self._bytes(int(self.key_begin[at]), int(self.key_end[at]))

    def value_at(self, at: int) -> bytes | None:
        """Returns the value of one record."""
        return self._bytes(int(self.value_begin[at]), int(self.value_end[at]))

    def headers_at(self, at: int) -> Headers:
        """Returns the headers of one record. Raises BrokenVarints if they do not fill it."""
        begin, end = int(self.headers_begin[at]), int(self.headers_end[at])
        return read_headers(bytes(self.data[begin:end]))

    def _bytes(self, begin: int, end: int) -> bytes | None:
        return None if begin < 0 else bytes(self.data[begin:end])


def gathered(slices: Sequence[RecordSlice]) -> Sequence[RecordSlice]:
    """Returns the records of some slices in fewer ones, where they are small: a call of numpy or
    Arrow for a slice costs as much as a thousand records."""
    if len(slices) > 1 and sum(map(len, slices)) < SLICE_RECORDS * len(slices):
        return [joined(slices)]
    return slices


def joined(slices: Sequence[RecordSlice]) -> RecordSlice:
    """Returns the records of some slices in one, with data of its own."""
    spans = [(int(part.begin[0]), int(part.headers_end[-1])) for part in slices]
    sizes = np.array([end - begin for begin, end in spans])
    shifts = np.cumsum(sizes) - sizes - np.array([begin for begin, _ in spans])

    def column(name: str) -> Ints:
        found: Ints = np.concatenate([getattr(part, name) for part in slices])
        return found

    together = RecordSlice(b"", **{name: column(name) for name in COLUMNS})  # type: ignore[arg-type]
    # A slice of bytes would be a copy, and all of them would be there beside the joined ones.
    pieces = (
        memoryview(part.data)[begin:end] for part, (begin, end) in zip(slices, spans, strict=True)
    )
    return together._moved(b"".join(pieces), np.repeat(shifts, list(map(len, slices))))
