"""Partitioners: the encoded partition of each record, by the record alone.

A record read again must be found in the same one, or it would be stored twice, or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol
from zoneinfo import ZoneInfo

import numpy as np

from aggregator.formats.record_slice import RecordSlice
from aggregator.objects.field_times import field_times
from aggregator.objects.folders import Folders
from aggregator.objects.hive_path import encoded
from aggregator.objects.json_fields import Path, Texts, field_texts, path_of
from aggregator.objects.rotation import NO_TIME
from aggregator.objects.time_folders import NEVER, time_folders, without_time

FieldTexts = Callable[[RecordSlice, Sequence[Path]], list[Texts]]
"""Returns the texts of fields in the values of records."""
FOLDER_BYTES_MAX = 255
"""Longest folder: stores that keep objects as files, and file systems, take no longer one."""


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
