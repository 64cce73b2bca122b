"""Tick: a range of each input partition of an upsert table, fixed before anything is done with it.

Ticks are numbered from 1. What a query sees at a tick depends on the records below its ends alone,
so the number of a tick is a version number of the table. A row is identified by its tick and by its
number within the tick, which follow from the tick and the record's coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from replicator.kafka.client.loss import Loss

ROW_BITS = 32
"""Bits of a row id for the number of a row within its tick."""
ROWS_MAX = 1 << ROW_BITS
"""Rows of a tick."""
TICK_MAX = (1 << 31) - 1
BLOCK_ROWS = 65_536
"""Rows of a block by default."""
OPEN = (1 << 32) - 1
"""Value of the column _until of a row that no newer row has ended."""


class Lane(NamedTuple):
    """Input partition. A table numbers its lanes from 0, and never gives a number again.

    Args:
        cluster: name of the cluster, such as "west aggregate".
        topic_id: tells apart topics that were created one after the other under one name.
    """

    cluster: str
    topic: str
    topic_id: UUID
    partition: int


class LaneRange(NamedTuple):
    """Offsets of a lane that a tick takes: from `begin` up to, and without, `end`."""

    begin: int
    end: int


class Stop(NamedTuple):
    """Lane that takes nothing, as records of it are lost.

    Args:
        lane: number of the lane.
        is_accepted: an operator accepted the loss, and the lane has nothing more, as its topic is
            gone. Where a log goes on behind an accepted loss, the lane is not stopped any more.
    """

    lane: int
    loss: Loss
    is_accepted: bool = False


@dataclass(frozen=True, slots=True)
class Tick:
    """Tick of an upsert table.

    Args:
        generation: number of the table's history; a rollback begins another one.
        number: of the tick, from 1.
        time_ms: Unix time of the tick, never less than that of the tick before.
        lanes: all that the table ever had, by number.
        ranges: of each lane; empty ones have begin = end, the first offset not taken yet.
        rows_per_record: row numbers that each offset has; 1 for formats of a row per record.
        block_rows: row numbers of each block that is inserted at once: block j has those from
            j * block_rows up to, and without, (j + 1) * block_rows.
        stops: of lanes, by number. Kept in the tick, as a log that was cut may have grown over the
            place when it is looked at again.
        gaps: losses within the ranges, found once the tick was cut. Accepted ones are read no more,
            whatever their log has by then: rows of theirs are those that the store has.
        epochs: of each lane, the leader epoch in which the log had all offsets before the end of
            the range (-1: not known); empty if none is known. A log that was cut below that end has
            records of newer epochs there.
    """

    generation: int
    number: int
    time_ms: int
    lanes: tuple[Lane, ...] = ()
    ranges: tuple[LaneRange, ...] = ()
    rows_per_record: int = 1
    block_rows: int = BLOCK_ROWS
    stops: tuple[Stop, ...] = ()
    gaps: tuple[Stop, ...] = ()
    epochs: tuple[int, ...] = ()

    @property
    def ends(self) -> tuple[int, ...]:
        """First offset of each lane that the table does not have yet: the mark's vector."""
        return tuple(each.end for each in self.ranges)

    @property
    def row_numbers(self) -> int:
        """Number of row numbers of the tick; some may have no row."""
        return self.offsets * self.rows_per_record

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return -(-self.row_numbers // self.block_rows)

    @property
    def offsets(self) -> int:
        """Number of offsets that the tick takes; some may hold no record."""
        return sum(each.end - each.begin for each in self.ranges)

    def epoch(self, lane: int) -> int:
        """Returns the leader epoch of a lane's end; -1 if it is not known."""
        return self.epochs[lane] if self.epochs else -1

    def first_row_id(self, lane: int) -> int:
        """Returns the id of the first row of a lane's range."""
        before = sum(each.end - each.begin for each in self.ranges[:lane])
        return (self.number << ROW_BITS) + before * self.rows_per_record

    def row_id(self, lane: int, offset: int, row: int = 0) -> int:
        """Returns the id of a row.

        Args:
            row: number of the row in its record, from 0.
        """
        within = (offset - self.ranges[lane].begin) * self.rows_per_record + row
        return self.first_row_id(lane) + within

    def block_row_ids(self, block: int) -> range:
        """Returns the row ids of a block."""
        first = self.number << ROW_BITS
        begin = block * self.block_rows
        return range(first + begin, first + min(begin + self.block_rows, self.row_numbers))


def tick_of(row_id: int) -> int:
    """Returns the number of the tick of a row."""
    return row_id >> ROW_BITS
