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
from aggregator.files.file_writer import FileWriter, unwritable
from aggregator.formats.record_slice import RecordSlice
from aggregator.objects.record_digest import RecordDigest
from aggregator.objects.told_object import ToldObject
from aggregator.store.recognition import Identities
from aggregator.verifier.dead_letter_check import LetterFields, record_fields

Ints = npt.NDArray[np.int64]


@dataclass(eq=False)
class RebuiltObject:
    """Object that is formed again of the topic's records.

    Args:
        name: its encoded partition, with the version of its records where these are kept apart.
        admission: by the writer's decoder, where it has one.
        writer: of a new file, by the settings of today.
        is_careful: records that the writer refuses are found, and have to be dead letters.
    """

    told: ToldObject
    name: str
    admission: Admission
    writer: FileWriter
    is_careful: bool = False
    error: str = ""
    """Error of the writer, after which nothing more is written."""
    digest: RecordDigest = field(default_factory=RecordDigest)
    schema: str = ""
    """Id of the schema of its file; empty for none."""
    size_bytes: int = 0
    crc32c: int = 0
    records: int = 0
    offsets: list[Ints] = field(default_factory=list)
    dead: list[int] = field(default_factory=list)
    """Offsets of the records that have to be dead letters."""
    letters: dict[int, LetterFields] = field(default_factory=dict)
    """Fields of the same records."""

    def add(self, part: RecordSlice) -> None:
        """Takes records of the object's range in."""
        self._write(lambda: self.written(part))

    def written(self, part: RecordSlice) -> bytes:
        """Takes records of the object's range in; returns the bytes of its file that are
        complete."""
        admitted = self.admission(part)
        if self.is_careful:
            admitted = admitted.without(unwritable(self.writer, admitted.records))
        self.records += len(part)
        self.digest.add([admitted.records])
        self.offsets.append(admitted.records.offset)
        self.dead += [each.offset for each in admitted.dead]
        for some in admitted.letters:
            for at, offset in enumerate(some.offset.tolist()):
                self.letters[offset] = record_fields(some, at)
        return self.writer.write([admitted.records])

    def finish(self) -> Identities:
        """Notes that no more records come; returns those that have to be in the object."""
        self._write(self.writer.finish)
        self.schema = self.writer.schema
        offsets = np.concatenate(self.offsets) if self.offsets else np.empty(0, np.int64)
        del self.writer, self.admission  # the decoded records of many objects
        self.offsets = []
        return Identities(offsets, np.zeros_like(offsets))

    @property
    def left_out(self) -> int:
        """Records that are in no file."""
        return self.records - self.digest.records

    @property
    def is_as_told(self) -> bool:
        """True if the records are those that the manifest names."""
        found = (self.records, self.left_out, self.digest.text)
        return found == (self.told.records, self.told.left_out, self.told.digest)

    def _write(self, write: Callable[[], bytes]) -> None:
        if self.error:
            return
        try:
            data = write()
        except MemoryError:
            raise
        except Exception as error:
            self.error = f"{type(error).__name__}: {error}"
            return
        self.size_bytes += len(data)
        self.crc32c = crc32c(data, self.crc32c)


@dataclass(eq=False)
class RebuiltObjects:
    """Objects of one encoded partition, by their begins."""

    rebuilt: list[RebuiltObject] = field(default_factory=list)
    begins: list[int] = field(default_factory=list)

    def add(self, each: RebuiltObject) -> None:
        """Takes in an object that begins behind all others, or where the last one does."""
        self.rebuilt.append(each)
        self.begins.append(each.told.begin)

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
        ends = np.array([each.told.end for each in self.rebuilt], np.int64)
        found: Ints = offsets[(at < 0) | (offsets >= ends[at])]
        return found
