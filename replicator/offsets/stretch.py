"""What a carrier landed of one partition, gathered as runs for about a second, ready to be told."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

# At most this many runs in one message: 27 bytes each at the very worst, so below 1 MiB.
RUNS_PER_STRETCH_MAX = 30_000


class Run(NamedTuple):
    """Source offsets s..s+n-1 landed, in order, at target offsets t..t+n-1: n records."""

    source_offset: int
    target_offset: int
    records: int

    @property
    def source_end(self) -> int:
        """One past the last source offset."""
        return self.source_offset + self.records

    @property
    def target_end(self) -> int:
        """One past the last target offset."""
        return self.target_offset + self.records


@dataclass(frozen=True, slots=True)
class Stretch:
    """All that landed of source offsets source_begin..source_end-1: these runs and nothing else.

    Stretches told one after another touch: each begins where the one before ended. A lost one
    therefore shows as a hole, also where the source itself leaves offsets out.
    """

    source_begin: int
    source_end: int
    runs: tuple[Run, ...]


class LandedOutOfOrder(Exception):
    """A record landed behind one of a later source offset. Stop the partition: order was lost."""


class Gathering:
    """The runs of one partition since they were last taken. Adjacent ones are one run.

    Begin it at the source offset of the ledger entry that this carrier goes on from. Where there
    was no entry before (a virgin partition) begin it at 0, whatever the first offset carried is:
    nothing below was ever carried, and so the map is complete from the start.
    """

    __slots__ = ("_open", "_open_end", "_runs", "_source_begin", "_source_end", "_target_end")

    def __init__(self, source_begin: int) -> None:
        self._source_begin = self._source_end = source_begin
        self._target_end = 0
        self._runs: list[Run] = []
        # The run that the next batch may still lengthen: where it began, where it ends so far.
        self._open: tuple[int, int] | None = None
        self._open_end = -1

    @property
    def source_end(self) -> int:
        """Every source offset below this is told or gathered here."""
        return self._source_end

    def land(self, source_offset: int, target_offset: int, records: int) -> None:
        """One acknowledged batch: its first record's offset on both sides, and its records."""
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
        """One acknowledged parcel of merged batches: its (source offset, records) spans."""
        for source_offset, records in spans:
            self.land(source_offset, target_offset, records)
            target_offset += records

    def pass_over(self, source_end: int) -> None:
        """Nothing more will land from below this source offset: what was there is left out."""
        self._source_end = max(self._source_end, source_end)

    def take(self) -> list[Stretch]:
        """What was gathered since the last call, in stretches fit for one message each."""
        if self._source_end == self._source_begin:
            return []
        self._close()
        runs, self._runs = self._runs, []
        begin, self._source_begin = self._source_begin, self._source_end
        stretches = []
        while len(runs) > RUNS_PER_STRETCH_MAX:
            first, runs = runs[:RUNS_PER_STRETCH_MAX], runs[RUNS_PER_STRETCH_MAX:]
            end = runs[0].source_offset
            stretches.append(Stretch(begin, end, tuple(first)))
            begin = end
        stretches.append(Stretch(begin, self._source_end, tuple(runs)))
        return stretches

    def _close(self) -> None:
        if self._open is not None:
            source_offset, target_offset = self._open
            self._runs.append(Run(source_offset, target_offset, self._open_end - source_offset))
            self._open, self._open_end = None, -1
