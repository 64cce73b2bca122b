"""Runs that a carrier landed of one partition, gathered for about a second before publishing."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

# Runs in one message at most: 27 bytes each in the worst case, so a message is below 1 MiB.
RUNS_PER_SEGMENT_MAX = 30_000


class Run(NamedTuple):
    """Run of n records: source offsets s..s+n-1 landed, in order, at target offsets t..t+n-1."""

    source_offset: int
    target_offset: int
    records: int

    @property
    def source_end(self) -> int:
        """Source offset behind the last record."""
        return self.source_offset + self.records

    @property
    def target_end(self) -> int:
        """Target offset behind the last record."""
        return self.target_offset + self.records


@dataclass(frozen=True, slots=True)
class RunSegment:
    """Run segment: everything that landed of source offsets source_begin..source_end-1.

    Consecutive segments touch: each begins where the previous one ended. A lost segment therefore
    shows as a hole, even where the source itself leaves offsets out.
    """

    source_begin: int
    source_end: int
    runs: tuple[Run, ...]


class LandedOutOfOrder(Exception):
    """A record landed behind one of a later source offset. Stop the partition: order was lost."""


class RunBuffer:
    """Run buffer: the runs of one partition since the last take(). Adjacent runs become one.

    Start the buffer at the source offset of the ledger entry that this carrier continues from. For
    a virgin partition, which had no entry before, start it at 0, whatever the first carried offset
    is. Nothing below was ever carried, so the map is complete from the start.
    """

    __slots__ = ("_open", "_open_end", "_runs", "_source_begin", "_source_end", "_target_end")

    def __init__(self, source_begin: int) -> None:
        # Everything below the source end is published or buffered here.
        self._source_begin = self._source_end = source_begin
        self._target_end = 0
        self._runs: list[Run] = []
        # The run that the next batch may still lengthen: its begin, and its source end so far.
        self._open: tuple[int, int] | None = None
        self._open_end = -1

    def land(self, source_offset: int, target_offset: int, records: int) -> None:
        """Adds one acknowledged batch: its first record's offset on both sides, and its records.

        Raises LandedOutOfOrder.
        """
        if source_offset < self._source_end or target_offset < self._target_end:
            raise LandedOutOfOrder(
                f"source offset {source_offset} landed at {target_offset}, behind source offset "
                f"{self._source_end - 1}, which landed below {self._target_end}"
            )
        if source_offset != self._open_end or target_offset != self._target_end:
            self._close()
            self._open = source_offset, target_offset
        self._source_end = self._open_end = source_offset + records
        self._target_end = target_offset + records

    def land_all(self, target_offset: int, spans: Iterable[tuple[int, int]]) -> None:
        """Adds one acknowledged outgoing batch that was merged: its (source offset, records) spans.

        Raises LandedOutOfOrder.
        """
        for source_offset, records in spans:
            self.land(source_offset, target_offset, records)
            target_offset += records

    def pass_over(self, source_end: int) -> None:
        """Marks everything below source_end as done: what has not landed from there is left out."""
        self._source_end = max(self._source_end, source_end)

    def take(self, runs_max: int = RUNS_PER_SEGMENT_MAX) -> list[RunSegment]:
        """Returns the runs since the last call, in segments of at most runs_max runs."""
        if self._source_end == self._source_begin:
            return []
        self._close()
        runs, self._runs = self._runs, []
        begin, self._source_begin = self._source_begin, self._source_end
        segments = []
        while len(runs) > runs_max:
            first, runs = runs[:runs_max], runs[runs_max:]
            end = runs[0].source_offset
            segments.append(RunSegment(begin, end, tuple(first)))
            begin = end
        segments.append(RunSegment(begin, self._source_end, tuple(runs)))
        return segments

    def _close(self) -> None:
        if self._open is not None:
            source_offset, target_offset = self._open
            self._runs.append(Run(source_offset, target_offset, self._open_end - source_offset))
            self._open, self._open_end = None, -1
