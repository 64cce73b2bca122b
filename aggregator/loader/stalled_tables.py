"""Stalled tables: tables of a partition that stand still while others are loaded. No I/O.

A table's records wait in its buffer while its block is under way. If that takes long, as of a table
that is gone, they would fill the partition's memory, and records of other tables would be read no
more. So they are dropped, and read again once the table takes blocks. Where all tables stand still,
nothing is dropped: what would be read then, would be read for nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from balancer.plan import TopicPartition

STALLED_SECONDS = 8.0
"""Time after which a block that is under way stands still. To read records again costs more than a
slow insert."""


@dataclass(slots=True)
class _Work:
    """Work on a table's block.

    Args:
        since: time by any clock, the same in all calls.
        loads: number of the partition's blocks that were stored before.
        is_missing: its table is not there.
    """

    since: float
    loads: int
    is_missing: bool = False


@dataclass(slots=True)
class StalledTables:
    """Work on the blocks of a loader, by partition and table."""

    _work: dict[tuple[TopicPartition, str], _Work] = field(default_factory=dict)

    def begin(self, place: TopicPartition, table: str, loads: int, now: float) -> None:
        """Notes that the work on a table's next block begins.

        Args:
            loads: number of the partition's blocks that were stored.
        """
        self._work[place, table] = _Work(now, loads)

    def end(self, place: TopicPartition, table: str) -> None:
        """Notes that no block of a table is under way."""
        self._work.pop((place, table), None)

    def missing(self, place: TopicPartition, table: str) -> None:
        """Notes that the table of a block under way is not there."""
        if (work := self._work.get((place, table))) is not None:
            work.is_missing = True

    def is_moving(self, place: TopicPartition, now: float) -> bool:
        """Returns True while a block of a partition is under way that does not stand still."""
        return any(
            now - work.since <= STALLED_SECONDS
            for (each, _), work in self._work.items()
            if each == place
        )

    def stalled(
        self, place: TopicPartition, tables: Collection[str], loads: int, now: float
    ) -> set[str]:
        """Returns the tables of a partition that stand still while others are loaded.

        Args:
            tables: all of the partition.
            loads: number of its blocks that were stored by now.
        """
        found = {
            table
            for (each, table), work in self._work.items()
            if each == place
            and now - work.since > STALLED_SECONDS
            and (work.is_missing or loads > work.loads)
        }
        return found if found < set(tables) else set()
