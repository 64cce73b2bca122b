"""Even chunks: records of an object, cut at places that do not depend on how they came in.

A file whose row groups or blocks are such chunks has the same bytes whenever it is written again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from aggregator.formats.record_slice import RecordSlice

FORMS = 3
"""Forms of a chunk's bytes beside the records: such as columns, and the file's bytes. Tests compare
it with what is allocated."""
FORM_RECORD_BYTES = 64
"""Memory that each record takes in these forms beside its bytes."""


@dataclass(slots=True)
class EvenChunks:
    """Cuts records into chunks.

    Args:
        bytes_min: bytes of keys, values and headers; the record that reaches them is the last one
            of its chunk.
    """

    bytes_min: int
    _parts: list[RecordSlice] = field(default_factory=list)
    _bytes: int = 0
    size_bytes: int = field(init=False, default=0)
    """Memory of the records whose chunk is not complete, or not done with."""

    def add(self, slices: Sequence[RecordSlice]) -> Iterator[list[RecordSlice]]:
        """Takes records in, and yields each chunk that is complete. Whoever has no more need of a
        chunk's records may remove them from it."""
        for part in slices:
            left = part
            while len(left):
                room = self.bytes_min - self._bytes
                behind = np.cumsum(left.record_bytes)
                taken = int(np.searchsorted(behind, room)) + 1
                if taken > len(left):
                    self._parts.append(left)
                    self._bytes += int(behind[-1])
                    self.size_bytes += left.memory_bytes
                    break
                self._parts.append(left.at(slice(0, taken)))
                left = left.at(slice(taken, None))
                yield self._parts
                self._cut()

    def rest(self) -> list[RecordSlice]:
        """Returns the records that are in no chunk, as the last one; empty if there are none."""
        return self._cut()

    def forming_bytes(self, slices: Sequence[RecordSlice] = ()) -> int:
        """Returns the memory of other forms of the records while these are added; without any,
        while the last chunk is made."""
        size, count = self._bytes + _size(slices), sum(map(len, self._parts))
        if slices and size < self.bytes_min:
            size, count = size - self._bytes, 0
        return FORMS * size + FORM_RECORD_BYTES * (count + sum(map(len, slices)))

    def _cut(self) -> list[RecordSlice]:
        parts, self._parts, self._bytes, self.size_bytes = self._parts, [], 0, 0
        return parts


def _size(slices: Sequence[RecordSlice]) -> int:
    return sum(int(each.record_bytes.sum()) for each in slices)
