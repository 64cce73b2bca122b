"""Record digest: shows whether two objects hold the same records, whatever their files are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from crc32c import crc32c

from aggregator.formats.byte_columns import taken
from aggregator.formats.record_slice import NO_TIME, Ints, RecordSlice
from aggregator.tables.value_limits import limits_of

_COLUMNS = 6


@dataclass(slots=True)
class RecordDigest:
    """Digest of records that come in one slice after the other, however they are sliced.

    It is the CRC-32C of each column: offsets, timestamps, lengths (-1 for null), keys, values,
    and encoded headers. It finds errors; it is no protection against forgers.
    """

    records: int = 0
    first_ms: int = NO_TIME
    last_ms: int = NO_TIME
    _sums: list[int] = field(default_factory=lambda: [0] * _COLUMNS)

    def add(self, slices: Sequence[RecordSlice]) -> None:
        """Takes further records in."""
        for part in slices:
            if not len(part):
                continue
            self.records += len(part)
            self._note_times(part.timestamp_ms)
            key = np.where(part.key_begin < 0, -1, part.key_end - part.key_begin)
            value = np.where(part.value_begin < 0, -1, part.value_end - part.value_begin)
            headers = part.headers_end - part.headers_begin
            columns: tuple[bytes | memoryview, ...] = (
                part.offset.astype("<i8").tobytes(),
                part.timestamp_ms.astype("<i8").tobytes(),
                np.column_stack((key, value, headers)).astype("<i8").tobytes(),
                _octets(part.key_column),
                _octets(part.value_column),
                _octets(taken(part.data, part.headers_begin, part.headers_end)),
            )
            self._sums = [
                crc32c(data, sum_) for data, sum_ in zip(columns, self._sums, strict=True)
            ]

    @property
    def text(self) -> str:
        """The digest as text."""
        return "".join(f"{each:08x}" for each in self._sums)

    def _note_times(self, timestamps: Ints) -> None:
        known = timestamps[timestamps != NO_TIME]
        if len(known):
            first, last = int(known.min()), int(known.max())
            is_first = self.first_ms == NO_TIME
            self.first_ms = first if is_first else min(self.first_ms, first)
            self.last_ms = last if is_first else max(self.last_ms, last)


def _octets(column: pa.BinaryArray) -> bytes | memoryview:
    """Returns the values of a column, one behind the other; nothing for null."""
    limits, data = limits_of(column), column.buffers()[2]
    return memoryview(data)[int(limits[0]) : int(limits[-1])] if data is not None else b""
