"""Forming room: memory for the forms that a block, or a part of a file, takes beside its records.

A block is decoded, encoded and sent, and each of these forms is in memory until it is stored. While
a store does not answer, the blocks of many tables would wait like that. So a block is drafted once
there is room for its forms; until then its records stay in their buffer, where the reader counts
them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from aggregator.formats.record_slice import RecordSlice
from aggregator.loader.seal_rule import FORMS
from aggregator.tables.decoded import Decoded, letters_memory
from replicator.runtime.clock import monotonic

STANDS_SECONDS = 5.0
"""Time after which a block stands still: its table may take none."""
LOOK_SECONDS = 1.0
"""Interval at which a block that waits looks whether others stand still."""


def forms_bytes(decoded: Decoded, slices: Sequence[RecordSlice]) -> int:
    """Returns the memory that the forms of a block take.

    Args:
        slices: its records. A dead letter has the bytes of one, and is encoded as well.
    """
    dead, records = len(decoded.dead), sum(map(len, slices))
    letters = sum(each.size_bytes for each in slices) * dead // max(records, 1)
    columns: int = sum(each.nbytes for part in slices for each in part.columns.values())
    return FORMS * decoded.size_bytes + letters_memory(dead, letters) + columns


@dataclass(eq=False)
class Taken:
    """Room that one block has.

    Args:
        since: time by the clock of `monotonic` since when.
    """

    size_bytes: int
    since: float


@dataclass(eq=False)
class FormingRoom:
    """Room of a loader.

    Args:
        bytes_max: a single block may take more, so that each is loaded at last.
    """

    bytes_max: int = 1 << 62
    _taken: set[Taken] = field(init=False, default_factory=set)
    _waiting: dict[object, float] = field(init=False, default_factory=dict)
    """Blocks that wait for room, with the times since when, in their order."""
    _may_exceed: bool = field(init=False, default=True)
    _freed: asyncio.Event = field(init=False, default_factory=asyncio.Event)

    @property
    def size_bytes(self) -> int:
        """Memory of the forms of all blocks under way."""
        return sum(each.size_bytes for each in self._taken)

    def has(self, size_bytes: int, now: float) -> bool:
        """Returns True if a block whose forms take so much may be drafted.

        Where blocks that stand still have filled the room, others go on beyond it, one at a time.
        None does once that one stands still as well: then the whole store does.
        """
        taken = self.size_bytes
        if not taken or taken + size_bytes <= self.bytes_max:
            return True
        return self._may_exceed and all(now - it.since > STANDS_SECONDS for it in self._taken)

    @asynccontextmanager
    async def taken(self, size_bytes: int) -> AsyncIterator[Taken]:
        """Waits for room, and has it until the block ends.

        Args:
            size_bytes: as expected. Tell the true size once it is known, and 0 while the block
                waits without its forms.
        """
        await self._wait(size_bytes)
        taken = Taken(size_bytes, monotonic())
        self._taken.add(taken)
        try:
            yield taken
        finally:
            self._taken.discard(taken)
            self._may_exceed = True
            self._freed.set()

    async def taken_again(self, taken: Taken, size_bytes: int) -> None:
        """Waits for room for a block that has waited without its forms.

        Args:
            size_bytes: as expected.
        """
        await self._wait(size_bytes)
        taken.size_bytes, taken.since = size_bytes, monotonic()

    async def _wait(self, size_bytes: int) -> None:
        """Waits for room."""
        waiting = object()
        self._waiting[waiting] = monotonic()
        try:
            while self._is_behind(waiting) or not self.has(size_bytes, monotonic()):
                self._freed.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_SECONDS):
                        await self._freed.wait()
        finally:
            del self._waiting[waiting]
            self._freed.set()
        self._may_exceed = self.size_bytes + size_bytes <= self.bytes_max

    def _is_behind(self, waiting: object) -> bool:
        """Returns True if an earlier block has waited so long that it goes first.

        Otherwise small blocks, of which there are always some, would take the room of a large one
        for ever.
        """
        first, since = next(iter(self._waiting.items()))
        return first is not waiting and monotonic() - since > STANDS_SECONDS

    def is_jammed(self, now: float) -> bool:
        """Returns True if blocks wait for others that stand still."""
        stands = all(now - it.since > STANDS_SECONDS for it in self._taken)
        return bool(self._waiting) and not self._may_exceed and stands

    def tell(self, taken: Taken, size_bytes: int) -> None:
        """Notes what the forms of a block take now."""
        taken.size_bytes = size_bytes
        self._freed.set()
