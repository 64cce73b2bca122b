"""Object draft: the records that form an object which no intent names yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from aggregator.objects.rotation import NO_TIME, Ending

Ints = npt.NDArray[np.int64]


class Slice(Protocol):
    """Records of one encoded partition, in offset order."""

    @property
    def offset(self) -> Ints:
        """Offsets of the records, ascending."""

    @property
    def timestamp_ms(self) -> Ints:
        """Timestamps of the records; NO_TIME for those without one."""

    @property
    def record_bytes(self) -> Ints:
        """Bytes of key, value and headers of each record."""

    @property
    def size_bytes(self) -> int:
        """Memory that the records take."""

    def between(self, begin: int, end: int) -> Self:
        """Returns the records with offsets from begin up to, not including, end."""

    def at(self, which: slice) -> Self:
        """Returns the records at indexes; they share their data with the others."""


class Versions(Protocol):
    """Versions of schemas whose records share objects."""

    def first_change(self, of_object: int | None, records: Any) -> tuple[int | None, int | None]:
        """Returns the version of an object with these records, and the index of the first one that
        it does not take."""


S = TypeVar("S", bound=Slice)


@dataclass(slots=True)
class Buffered:
    """Memory of the records of a partition that nobody has taken yet."""

    size_bytes: int = 0


@dataclass(slots=True)
class ObjectDraft(Generic[S]):
    """Records of an object.

    Args:
        begin, end: offsets of the first record, and behind the last one.
        since: Unix time at which the first record was read.
        first_ms: timestamp of the first record that has one.
        input_bytes: of keys, values and headers.
        ending: limit that ended the object; None: it takes further records.
    """

    begin: int
    since: float
    end: int = field(init=False)
    records: int = 0
    input_bytes: int = 0
    first_ms: int = NO_TIME
    ending: Ending | None = None
    schema: int | None = None
    """Version of its records, where those of several share objects; None: not known yet."""
    _unwritten: list[S] = field(default_factory=list)
    size_bytes: int = 0
    """Memory of the records that nobody has taken yet."""
    buffered: Buffered = field(default_factory=Buffered)
    """The same of all drafts of the partition."""
    _taken_end: int = field(init=False)

    def __post_init__(self) -> None:
        self.end = self._taken_end = self.begin

    def append(self, part: S) -> None:
        """Takes further records in."""
        self.end = int(part.offset[-1]) + 1
        self.records += len(part.offset)
        self.input_bytes += int(part.record_bytes.sum())
        self.size_bytes += part.size_bytes
        self.buffered.size_bytes += part.size_bytes
        if self.first_ms == NO_TIME:
            with_time = part.timestamp_ms[part.timestamp_ms != NO_TIME]
            self.first_ms = int(with_time[0]) if len(with_time) else NO_TIME
        self._unwritten.append(part)

    def take(self, bytes_max: int | None = None) -> list[S]:
        """Returns, once each, the records for the object's file.

        Args:
            bytes_max: memory of the records, unless the first one takes more; None: all of them.
        """
        if bytes_max is not None:
            self._split_first(bytes_max)
        count = len(self._unwritten)
        if bytes_max is not None:
            behind = accumulate(each.size_bytes for each in self._unwritten)
            count = max(1, sum(size <= bytes_max for size in behind))
        taken, self._unwritten = self._unwritten[:count], self._unwritten[count:]
        size = sum(each.size_bytes for each in taken)
        self.size_bytes -= size
        self.buffered.size_bytes -= size
        if taken:
            self._taken_end = int(taken[-1].offset[-1]) + 1
        return taken

    def _split_first(self, bytes_max: int) -> None:
        """Splits the first slice until it takes no more, or has one record: a batch that was
        compressed well opens to many megabytes."""
        while self._unwritten:
            first = self._unwritten[0]
            if first.size_bytes <= bytes_max or len(first.offset) == 1:
                return
            middle = len(first.offset) // 2
            halves = [first.at(slice(0, middle)), first.at(slice(middle, None))]
            added = sum(each.size_bytes for each in halves) - first.size_bytes
            self._unwritten[:1] = halves
            self.size_bytes += added
            self.buffered.size_bytes += added

    def cut(self) -> list[S]:
        """Ends behind the records that were taken; returns the others."""
        end = self._taken_end
        rest = self.take()
        self.records -= sum(len(each.offset) for each in rest)
        self.input_bytes -= sum(int(each.record_bytes.sum()) for each in rest)
        self.end = self._taken_end = end
        return rest

    @property
    def is_taken(self) -> bool:
        """True when all records were taken, and no more are going to come."""
        return self.ending is not None and not self._unwritten
