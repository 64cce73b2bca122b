"""Records of a log by offset, kept for ever: what stands, or stood, in a partition."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from tests.replicator.batches.source_batches import decoded
from tests.world.checks.log_reading import LogReading
from tests.world.kafka.log_batch import Batch
from tests.world.kafka.partition import Observer, Partition


class RecordsOfLog(Observer):
    """Observer that notes each record once it is committed.

    Args:
        is_stable: True leaves the records of aborted transactions out.
    """

    def __init__(self, partition: Partition, *, is_stable: bool) -> None:
        self._reading = LogReading(partition, is_stable=is_stable)
        self.offsets: list[int] = []
        self.values: list[bytes] = []
        self.by_offset: dict[int, bytes] = {}
        partition.observers.append(self)

    def advanced(self, partition: Partition) -> None:
        for offset, value in _records(self._reading.batches()):
            self.offsets.append(offset)
            self.values.append(value)
            self.by_offset[offset] = value

    @property
    def committed(self) -> int:
        """Offset up to which all records are noted."""
        return self._reading.position

    def up_to(self, end: int) -> tuple[list[int], list[bytes]]:
        """Returns offsets and values of the records below an offset, which are committed."""
        at = bisect_left(self.offsets, end)
        ahead = [it for it in _records(self._reading.ahead(end)) if it[0] < end]
        offsets = self.offsets[:at] + [offset for offset, _ in ahead]
        return offsets, self.values[:at] + [value for _, value in ahead]

    def value_at(self, offset: int) -> bytes | None:
        """Returns the value of a committed record; None if there is none."""
        if offset in self.by_offset:
            return self.by_offset[offset]
        # To the end of the log: the offset may lie within a batch.
        return dict(_records(self._reading.ahead(sys.maxsize))).get(offset)


def _records(batches: Iterable[Batch]) -> Iterator[tuple[int, bytes]]:
    for batch in batches:
        if not batch.is_marker:
            for record in decoded(batch.data):
                yield record.offset, record.value or b""
