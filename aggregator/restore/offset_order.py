"""Offset order: records of several objects of one partition, in the order of the topic.

Objects of different folders have offsets between those of each other. Each of them is opened once
its first record is due, and read chunk by chunk.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aggregator.restore.restore_plan import CannotRestore
from replicator.batches.records import Ints

Opened = Callable[[], Iterator[pa.Table]]
"""Opens an object, and returns its chunks in offset order; none of them is empty."""


@dataclass(eq=False)
class SortedChunks:
    """Object whose chunks are read in the order of other objects' chunks.

    Args:
        key: of the object.
        begin: no record has a lower offset.
    """

    key: str
    begin: int
    open: Opened
    _chunks: Iterator[pa.Table] = field(init=False)
    _chunk: pa.Table | None = field(init=False, default=None)
    _offsets: Ints = field(init=False)

    def start(self) -> bool:
        """Opens the object; returns False if it holds nothing."""
        self._chunks = self.open()
        return self._next()

    @property
    def last(self) -> int:
        """Offset of the last record that is in memory."""
        return int(self._offsets[-1])

    def take(self, last: int) -> tuple[pa.Table, Ints]:
        """Returns the records in memory up to an offset, with their offsets."""
        assert self._chunk is not None
        count = int(np.searchsorted(self._offsets, last, side="right"))
        taken = self._chunk.slice(0, count), self._offsets[:count]
        self._chunk, self._offsets = self._chunk.slice(count), self._offsets[count:]
        return taken

    def refill(self) -> bool:
        """Reads on if nothing is left in memory; returns False at the object's end."""
        return bool(len(self._offsets)) or self._next()

    def _next(self) -> bool:
        self._chunk = next(self._chunks, None)
        if self._chunk is None:
            return False
        self._offsets = self._chunk["offset"].to_numpy()
        return True


def in_offset_order(objects: Iterable[SortedChunks]) -> Iterator[pa.Table]:
    """Yields the records of all objects in offset order.

    Raises:
        CannotRestore: two objects hold a record of the same offset.
    """
    waiting = deque(sorted(objects, key=lambda each: each.begin))
    reading: list[SortedChunks] = []
    while waiting or reading:
        while waiting and (not reading or waiting[0].begin <= min(it.last for it in reading)):
            opened = waiting.popleft()
            if opened.start():
                reading.append(opened)
        if not reading:
            continue
        last = min(each.last for each in reading)
        parts = [(each.key, *each.take(last)) for each in reading]
        yield _sorted([part for part in parts if len(part[2])])
        reading = [each for each in reading if each.refill()]


def _sorted(parts: list[tuple[str, pa.Table, Ints]]) -> pa.Table:
    if len(parts) == 1:
        return parts[0][1]
    offsets = np.concatenate([each for _, _, each in parts])
    order = np.argsort(offsets, kind="stable")
    ascending = offsets[order]
    doubled = np.flatnonzero(ascending[1:] == ascending[:-1])
    if len(doubled):
        offset = int(ascending[doubled[0]])
        keys = [key for key, _, some in parts if (some == offset).any()]
        raise CannotRestore(
            f"offset {offset} is in {' and in '.join(keys)}: the topic was created again, or cut; "
            "choose one of them by --since and --until, or by --offsets"
        )
    return pc.take(pa.concat_tables([table for _, table, _ in parts]), pa.array(order))
