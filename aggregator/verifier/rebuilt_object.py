"""Rebuilt object: the records of a topic in the ranges of told objects become their files again.
Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from crc32c import crc32c

from aggregator.files.admission import Admission
from aggregator.files.file_writer import FileWriter
from aggregator.formats.record_slice import RecordSlice
from aggregator.objects.record_digest import RecordDigest
from aggregator.objects.told_object import ToldObject
from aggregator.store.recognition import Identities

Ints = npt.NDArray[np.int64]


@dataclass(eq=False)
class RebuiltObject:
    """Object that is formed again of the topic's records.

    Args:
        new_writer: makes the writer of its file, by the settings of today.
    """

    told: ToldObject
    admission: Admission
    new_writer: Callable[[], FileWriter]
    digest: RecordDigest = field(default_factory=RecordDigest)
    size_bytes: int = 0
    crc32c: int = 0
    records: int = 0
    offsets: list[Ints] = field(default_factory=list)
    dead: list[int] = field(default_factory=list)
    """Offsets of the records that have to be dead letters."""
    _writer: FileWriter | None = None

    def add(self, part: RecordSlice) -> None:
        """Takes records of the object's range in."""
        admitted = self.admission(part)
        self.records += len(part)
        self.digest.add([admitted.records])
        self.offsets.append(admitted.records.offset)
        self.dead += [each.offset for each in admitted.dead]
        if self._writer is None:
            self._writer = self.new_writer()
        self._note(self._writer.write([admitted.records]))

    def finish(self) -> Identities:
        """Notes that no more records come; returns those that have to be in the object."""
        self._note((self._writer or self.new_writer()).finish())
        offsets = np.concatenate(self.offsets) if self.offsets else np.empty(0, np.int64)
        self._writer, self.offsets = None, []
        return Identities(offsets, np.zeros_like(offsets))

    @property
    def is_as_told(self) -> bool:
        """True if the records are those that the manifest names."""
        left_out = self.records - self.digest.records
        found = (self.records, left_out, self.digest.text)
        return found == (self.told.records, self.told.left_out, self.told.digest)

    def _note(self, data: bytes) -> None:
        self.size_bytes += len(data)
        self.crc32c = crc32c(data, self.crc32c)


@dataclass(eq=False)
class RebuiltObjects:
    """Objects of one encoded partition, by their begins."""

    rebuilt: list[RebuiltObject]
    begins: list[int] = field(init=False)
    ends: Ints = field(init=False)

    def __post_init__(self) -> None:
        self.rebuilt.sort(key=lambda each: (each.told.begin, each.told.end))
        self.begins = [each.told.begin for each in self.rebuilt]
        self.ends = np.array([each.told.end for each in self.rebuilt], np.int64)

    def overlaps(self) -> Iterator[tuple[ToldObject, ToldObject]]:
        """Yields objects that have offsets in common."""
        for before, after in zip(self.rebuilt, self.rebuilt[1:], strict=False):
            if after.told.begin < before.told.end:
                yield before.told, after.told

    def within(self, part: RecordSlice) -> Iterator[tuple[RebuiltObject, RecordSlice]]:
        """Yields the objects that have some of the records."""
        first, last = int(part.offset[0]), int(part.offset[-1])
        begin = max(0, bisect_right(self.begins, first) - 1)
        for each in self.rebuilt[begin : bisect_right(self.begins, last)]:
            some = part.between(each.told.begin, each.told.end)
            if len(some):
                yield each, some

    def uncovered(self, offsets: Ints) -> Ints:
        """Returns the offsets that are in no object."""
        if not self.begins:
            return offsets
        at = np.searchsorted(self.begins, offsets, "right") - 1
        found: Ints = offsets[(at < 0) | (offsets >= self.ends[at])]
        return found
