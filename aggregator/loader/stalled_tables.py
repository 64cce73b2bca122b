"""Stalled tables: tables of a partition that stand still while others are loaded. No I/O.

A table's records wait in its buffer while its block is under way. If that takes long, as of a table
that is gone, they would fill the memory of the partition or of the loader, and records of other
tables would be read no more. So they are dropped, and if that is not enough, the records of the
block are as well (`leave`). All are read again once the table takes blocks. Where all tables of a
partition stand still, nothing is dropped, unless other partitions of the loader need the memory:
what would be read then, would be read for nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from balancer.topic_partition import TopicPartition

STALLED_SECONDS = 8.0
"""Time after which a block that is under way stands still. To read records again costs more than a
slow insert."""
SILENT_SECONDS = 60.0
"""Time after which a block may leave the memory whose server has refused nothing: it may be slow
only."""
PAUSE_SECONDS_MAX = 30.0
"""Longest pause before records of a table are read again that took no block after the last time."""


@dataclass(slots=True)
class _Work:
    """Work on a table's block.

    Args:
        since: time by any clock, the same in all calls.
        stored, stored_in_place: numbers of blocks that the loader, and the partition, had stored
            before.
        is_refused: its table is not there, or the server takes no insert into it.
        must_stay: nobody could recognize the block after it has left the memory.
        is_left: its records are in memory no more.
    """

    since: float
    stored: int = 0
    stored_in_place: int = 0
    is_refused: bool = False
    must_stay: bool = False
    is_left: bool = False


@dataclass(slots=True)
class _Reading:
    """Time in which what was dropped of a partition is read again, from `began` to `ended`."""

    began: float
    ended: float = math.inf


@dataclass(slots=True)
class StalledTables:
    """Work on the blocks of a loader, by partition and table."""

    _work: dict[TopicPartition, dict[str, _Work]] = field(default_factory=dict)
    _stored: Counter[TopicPartition] = field(default_factory=Counter)
    _failures: Counter[tuple[TopicPartition, str]] = field(default_factory=Counter)
    """How often the block of a table was left since one was stored."""
    _until: dict[tuple[TopicPartition, str], float] = field(default_factory=dict)
    """Times until which records of a table are not read again."""
    _readings: dict[TopicPartition, _Reading] = field(default_factory=dict)

    # -- work

    def begin(self, place: TopicPartition, table: str, now: float) -> None:
        """Notes that the work on a table's next block begins."""
        work = _Work(now, self._stored.total(), self._stored[place])
        self._work.setdefault(place, {})[table] = work

    def end(self, place: TopicPartition, table: str) -> None:
        """Notes that no block of a table is under way."""
        self._work.get(place, {}).pop(table, None)

    def refused(self, place: TopicPartition, table: str) -> None:
        """Notes that the table of a block under way is not there, or takes no inserts."""
        if (work := self._work.get(place, {}).get(table)) is not None:
            work.is_refused = True

    def must_stay(self, place: TopicPartition, table: str) -> None:
        """Notes that the block under way is not to leave the memory."""
        if (work := self._work.get(place, {}).get(table)) is not None:
            work.must_stay = True

    def stored(self, place: TopicPartition, table: str) -> None:
        """Notes that a block of a table is stored."""
        self._stored[place] += 1
        self._failures.pop((place, table), None)
        self._until.pop((place, table), None)

    def left(self, place: TopicPartition, table: str, now: float, *, has_failed: bool) -> None:
        """Notes that the records of a table's block are in memory no more.

        Args:
            has_failed: it was tried.
        """
        work = _Work(-math.inf, is_refused=True, is_left=True)
        self._work.setdefault(place, {})[table] = work
        if has_failed:
            self._failures[place, table] += 1
            rounds = min(self._failures[place, table] - 2, 32)
            seconds = min(STALLED_SECONDS * 2.0**rounds, PAUSE_SECONDS_MAX) if rounds >= 0 else 0.0
            self._until[place, table] = now + seconds

    def pause_seconds(self, place: TopicPartition, table: str, now: float) -> float:
        """Returns the time for which records of a table that was left are not read again, even if
        it seems to take blocks: it took none after the last time."""
        return max(0.0, self._until.get((place, table), now) - now)

    # -- state

    def standing(self, place: TopicPartition, now: float) -> set[str]:
        """Returns the tables of a partition whose blocks under way stand still, for any reason."""
        return {name for name, work in self._work.get(place, {}).items() if _stands(work, now)}

    def stalled(self, place: TopicPartition, now: float, *, others_wait: bool = False) -> set[str]:
        """Returns the tables of a partition that stand still while others are loaded.

        Args:
            others_wait: tables of other partitions count as well, which need the memory.
        """
        return {
            name
            for name, work in self._work.get(place, {}).items()
            if _stands(work, now)
            and (
                work.is_refused
                or self._stored[place] > work.stored_in_place
                or (others_wait and self._stored.total() > work.stored)
            )
        }

    def may_leave(self, place: TopicPartition, tables: Collection[str], now: float) -> set[str]:
        """Returns those of some tables whose blocks may leave the memory, and have not."""
        work = self._work.get(place, {})
        return {
            it
            for it in tables
            if not (work[it].must_stay or work[it].is_left)
            and (work[it].is_refused or now - work[it].since > SILENT_SECONDS)
        }

    # -- reading again

    def begin_reading(self, place: TopicPartition, now: float) -> None:
        """Notes that a partition begins anew, so that what was dropped is read again."""
        self._readings[place] = _Reading(now)

    def has_caught_up(self, place: TopicPartition, now: float) -> None:
        """Notes that all that a partition had sealed before has been read again."""
        if (reading := self._readings.get(place)) is not None and reading.ended > now:
            reading.ended = now

    def may_read_again(self, place: TopicPartition, now: float) -> bool:
        """Returns True if a partition may begin anew once more.

        What is read again takes the partition half of its time at most: other tables wait
        meanwhile.
        """
        reading = self._readings.get(place)
        return reading is None or now - reading.ended >= reading.ended - reading.began

    def readings(self, places: Collection[TopicPartition]) -> int:
        """Returns how many of some partitions have not caught up yet."""
        return sum(
            place in self._readings and self._readings[place].ended == math.inf for place in places
        )


def _stands(work: _Work, now: float) -> bool:
    return now - work.since > STALLED_SECONDS
