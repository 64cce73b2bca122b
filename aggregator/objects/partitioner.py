"""Partitioners: the encoded partition of each record, by the record alone.

A record read again must be found in the same one, or it would be stored twice, or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from aggregator.formats.record_slice import RecordSlice
from aggregator.formats.time_texts import times
from aggregator.objects.folders import Folders, Ints
from aggregator.objects.hive_path import encoded
from aggregator.objects.json_fields import Path, Texts, field_texts, path_of
from aggregator.objects.rotation import NO_TIME
from aggregator.objects.time_folders import BEGIN_MS, END_MS, NEVER, time_folders, without_time
from aggregator.tables.column_type import column_type

FieldTexts = Callable[[RecordSlice, Sequence[Path]], list[Texts]]
"""Returns the texts of fields in the values of records."""
FOLDER_BYTES_MAX = 255
"""Longest folder: stores that keep objects as files, and file systems, take no longer one."""
PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000}
"""Units of numbers."""
_NUMBER = r"^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$"
_MILLISECONDS = column_type("DateTime64(3)")


class Partitioner(Protocol):
    """Partitioner of one feed."""

    def folders(self, partition: int, records: RecordSlice) -> Folders:
        """Returns the encoded partition of each record of a Kafka partition."""

    def nowhere(self, partition: int) -> str:
        """Returns the encoded partition of records that have no value for any folder."""


@dataclass(frozen=True, slots=True)
class ByPartition:
    """Folders `partition=<number of the Kafka partition>`."""

    def folders(self, partition: int, records: RecordSlice) -> Folders:
        return Folders([self.nowhere(partition)], np.zeros(len(records), np.int64))

    def nowhere(self, partition: int) -> str:
        return encoded([("partition", str(partition))])


@dataclass(frozen=True, slots=True)
class ByField:
    """Folders `name=value` for each of these fields of a value, such as `from.city`.

    Args:
        texts: returns those of fields; the values are JSON documents by default.
    """

    fields: Sequence[str]
    texts: FieldTexts = field_texts

    def folders(self, partition: int, records: RecordSlice) -> Folders:
        number = np.zeros(len(records), np.int64)
        values: list[list[str | None]] = [[]]
        for found in self.texts(records, [path_of(name) for name in self.fields]):
            both, number = np.unique(number * len(found.texts) + found.number, return_inverse=True)
            before, own = np.divmod(both, max(len(found.texts), 1))
            values = [
                [*values[left], found.texts[right]]
                for left, right in zip(before.tolist(), own.tolist(), strict=True)
            ]
        names = [encoded(zip(self.fields, row, strict=True)) for row in values]
        return Folders.of(names, number)

    def nowhere(self, partition: int) -> str:
        return encoded((name, None) for name in self.fields)


@dataclass(frozen=True, slots=True)
class ByTime:
    """Folders of a time.

    Args:
        pattern: of the folders.
        field: of a value, that holds the time; None: the record's timestamp counts.
        unit: of a field that is a number.
        texts: returns those of fields; the values are JSON documents by default.
    """

    pattern: str
    zone: ZoneInfo
    field: str | None = None
    unit: str = "ms"
    texts: FieldTexts = field_texts

    def folders(self, partition: int, records: RecordSlice) -> Folders:
        if self.field is None:
            times = np.where(records.timestamp_ms == NO_TIME, NEVER, records.timestamp_ms)
        else:
            [found] = self.texts(records, [path_of(self.field)])
            times = field_times(found.texts, self.unit, self.zone)[found.number]
        return time_folders(self.pattern, self.zone, times)

    def nowhere(self, partition: int) -> str:
        return without_time(self.pattern)


@dataclass(frozen=True, slots=True)
class WithinLimit:
    """Partitioner that puts a record nowhere if its folders would be too long.

    Args:
        bytes_max: of all folders together.
    """

    partitioner: Partitioner
    bytes_max: int

    def folders(self, partition: int, records: RecordSlice) -> Folders:
        found = self.partitioner.folders(partition, records)
        if not any(self._is_too_long(name) for name in found.names):
            return found
        nowhere = self.nowhere(partition)
        names = [nowhere if self._is_too_long(name) else name for name in found.names]
        return Folders.of(names, found.number)

    def nowhere(self, partition: int) -> str:
        return self.partitioner.nowhere(partition)

    def too_long(self, partition: int, records: RecordSlice) -> dict[int, str]:
        """Returns why records have no place, by index."""
        found = self.partitioner.folders(partition, records)
        is_too_long = np.array([self._is_too_long(name) for name in found.names], np.bool_)
        reason = f"a folder of its values has more than {FOLDER_BYTES_MAX} bytes, or all of them "
        reason += f"more than {self.bytes_max}"
        return dict.fromkeys(np.flatnonzero(is_too_long[found.number]).tolist(), reason)

    def _is_too_long(self, name: str) -> bool:
        sizes = [len(folder.encode()) for folder in name.split("/")]
        return max(sizes) > FOLDER_BYTES_MAX or sum(sizes) + len(sizes) - 1 > self.bytes_max


def field_times(texts: Sequence[str | None], unit: str, zone: ZoneInfo) -> Ints:
    """Returns the Unix time of each text in milliseconds; NEVER for none.

    Args:
        unit: one of PER_SECOND.
    """
    series = pl.Series(texts, dtype=pl.String)
    is_number = series.str.contains(_NUMBER).fill_null(False)
    nothing = pl.Series([None], dtype=pl.String).new_from_index(0, len(series))
    found = _of_numbers(series.zip_with(is_number, nothing), PER_SECOND[unit])
    # The year 0 stands for no date.
    is_text = ~is_number & ~series.str.starts_with("0000").fill_null(True)
    moments = series.zip_with(is_text, nothing).to_arrow(compat_level=pl.CompatLevel.oldest())
    column, bad = times(_MILLISECONDS, moments, zone.key)
    is_moment = np.asarray(column.is_valid()) & ~bad
    found[is_moment] = np.asarray(column.fill_null(0))[is_moment]
    return found


def _of_numbers(numbers: pl.Series, per_second: int) -> Ints:
    fraction = numbers.cast(pl.Float64, strict=False).fill_null(np.inf).to_numpy() / per_second
    is_near = (fraction > BEGIN_MS / 1000) & (fraction < END_MS / 1000)
    # A double does not keep all digits of microseconds.
    whole = numbers.cast(pl.Int64, strict=False)
    is_whole = is_near & whole.is_not_null().to_numpy()
    exact = np.where(is_whole, whole.fill_null(0).to_numpy(), 0)
    exact = exact * 1000 if per_second == 1 else exact // (per_second // 1000)
    rough = np.floor(np.where(is_near, fraction, 0) * 1000).astype(np.int64)
    found: Ints = np.where(is_whole, exact, np.where(is_near, rough, NEVER))
    return found
