"""Even chunks: records of an object, cut at places that do not depend on how they came in.

A file whose row groups or blocks are such chunks has the same bytes whenever it is written again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from aggregator.formats.record_slice import RecordSlice


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
    """Memory of the records that are in no chunk yet."""

    def add(self, slices: Sequence[RecordSlice]) -> Iterator[list[RecordSlice]]:
        """Takes records in, and yields each chunk that is complete."""
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
                yield self._cut()

    def rest(self) -> list[RecordSlice]:
        """Returns the records that are in no chunk, as the last one; empty if there are none."""
        return self._cut()

    def _cut(self) -> list[RecordSlice]:
        parts, self._parts, self._bytes, self.size_bytes = self._parts, [], 0, 0
        return parts
