"""From a position in one aggregate's partition to one in another's, and what the move costs.

Made for one partition and asked for every group that has committed on it: what does not depend on
the group is computed once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

from replicator.offsets.offset_map import OffsetMap, Place
from replicator.planning.plan import Count
from replicator.progress.aggregate import NOTHING, Aggregate, Vector, basis_of, vector_of

Places = Mapping[str, Place | None]
"""Source region -> the first source offset not read; None: not known."""


class Crossing:
    """One partition, from the aggregate `here` into the aggregate `there`."""

    def __init__(self, here: Aggregate, there: Aggregate) -> None:
        self._here = here
        self._there = there
        self._tallies: dict[tuple[bool, str], _Tally] = {}

    def progress(self, committed: int, vector: Vector = NOTHING) -> Places:
        """What a group at `committed` has read, region by region.

        Args:
            vector: what it had read before, wherever that was.
        """
        # A region without a route to here: the group has read none of its records here.
        places: dict[str, Place | None] = dict.fromkeys(self._there.known, Place(0, "exact"))
        said = {region: offset for region, offset in vector.items() if self._is_one_log(region)}
        places |= {region: Place(offset, "exact") for region, offset in said.items()}
        return places | {
            region: self._as_there(
                region, self._here.first_unread(region, committed, said.get(region)), committed
            )
            for region in self._here.known
        }

    def resume(self, places: Places) -> Place | None:
        """Where a group with this progress goes on, skipping nothing; None: too little is known.

        Exact only where the progress is: then it is the first unread record, or where the next
        one will stand.
        """
        read = told({region: places[region] for region in self._there.known})
        if len(read) < len(self._there.known):
            return None
        found = self._there.resume(vector_of(read))
        return found if found is None or basis_of(read) == "exact" else Place(found.offset, "floor")

    def vector(self, places: Places) -> dict[str, int]:
        """What may be written beside the offset: not where offsets may mean other records."""
        read = vector_of(told(places))
        return {region: offset for region, offset in read.items() if self._is_one_log(region)}

    def untold(self, places: Places) -> list[str]:
        """The regions for which nothing is known: of what was read of them, or of where it is."""
        return [
            region
            for region in self._there.known
            if (read := places[region]) is None or self._there.place(region, read.offset) is None
        ]

    def read_again(self, places: Places, committed: int, resume: int) -> Count | None:
        """How many records the group has read and meets again from `resume` on.

        Those that have not arrived yet are among them: they may still come. None: no bound is
        known.
        """
        records, exact = self._read_beyond(places, committed), True
        if records is None or None in places.values():
            return None
        for region, unread in told(places).items():
            exact = exact and unread.basis == "exact"
            if region not in self._there.known:
                continue
            first = self._there.unread(region, resume) or Place(0, "floor")
            again, is_exact = self._records(region, first.offset, unread.offset)
            records += again
            exact = exact and is_exact and (first.basis == "exact" or not again)
        return Count(records, "exact" if exact else "at most")

    def not_replicated(self, region: str, source_end: int | None) -> Count | None:
        """How many of a region's records are not there; None: not known.

        Without the end of its own log, those that are known to be here are counted.
        """
        known = self._there.known.get(region)
        reached = known.reached if known else None
        if reached is None:
            return None
        if source_end is not None:
            # Offsets: of some a log holds no record for consumers.
            missing = max(0, source_end - reached)
            return Count(missing, "at most" if missing else "exact")
        if region not in self._here.known:
            return None
        return Count(self._tally(self._here, region).from_on(reached), "at least")

    def retention_took(self, vector: Vector) -> int:
        """At most so many source offsets from the vector on are gone from there."""
        edges = {region: known.runs.trimmed for region, known in self._there.known.items()}
        return sum(
            max(0, edge.source_offset - vector[region])
            for region, edge in edges.items()
            if edge and region in vector
        )

    def _is_one_log(self, region: str) -> bool:
        """Whether a region's offsets have always meant the same records, as far as is known."""
        sides = (self._here.known.get(region), self._there.known.get(region))
        return not any(known and known.losses for known in sides) and self._limit(region) is None

    def _limit(self, region: str) -> int | None:
        """Up to which source offset both sides mean the same records; None: there is no end."""
        here, there = self._here.known.get(region), self._there.known.get(region)
        if here is None or there is None:
            return None
        return here.numbering.agrees_below(there.numbering)

    def _as_there(self, region: str, read: Place | None, committed: int) -> Place | None:
        """What was read by the numbers of here, by those of there."""
        if read is None:
            return None
        limit = self._limit(region)
        if limit is not None and read.offset >= limit:
            return Place(limit, "floor")
        older = self._here.known[region].numbering.begin(read.offset)
        # Of records that the source has no more it may have read some.
        return read if older is None or committed <= older else Place(read.offset, "floor")

    def _read_beyond(self, places: Places, committed: int) -> int | None:
        """At most so many records were read that lie at or beyond what the places say."""
        floors = {
            region: place.offset
            for region, place in told(places).items()
            if place.basis == "floor" and region in self._here.known
        }
        if not floors:
            return 0
        begin = self._here.resume(floors)
        return None if begin is None else max(0, committed - begin.offset)

    def _records(self, region: str, begin: int, end: int) -> tuple[int, bool]:
        """How many records a region has from begin to end, and whether that is exact.

        Where runs do not tell, every offset may be one.
        """
        landed = max(begin, min(end, self._there.known[region].reached or 0))
        known = self._there.known[region].runs
        if known.knows(begin, landed):
            tally = self._tally(self._there, region)
            records, is_exact = tally.from_on(begin) - tally.from_on(landed), True
        else:
            records, is_exact = landed - begin, False
        if end <= landed:
            return records, is_exact
        coming = end - landed
        here = self._here.known.get(region)
        if here and here.runs.knows(landed, end):
            tally = self._tally(self._here, region)
            coming = tally.from_on(landed) - tally.from_on(end)
        # What has not arrived may never do: its region may be lost, its log compacted.
        return records + coming, is_exact and not coming

    def _tally(self, side: Aggregate, region: str) -> _Tally:
        key = side is self._here, region
        if key not in self._tallies:
            self._tallies[key] = _Tally(side.known[region].runs)
        return self._tallies[key]


def told(places: Places) -> dict[str, Place]:
    """The regions of which something is known."""
    return {region: place for region, place in places.items() if place is not None}


class _Tally:
    """A map's records, counted from any source offset on in the time of a bisection."""

    def __init__(self, runs: OffsetMap) -> None:
        piece = runs.piece()
        self._sources, self._counts = piece.sources, piece.counts
        self._ends = piece.counts.cumsum()

    def from_on(self, source_offset: int) -> int:
        if not len(self._ends):
            return 0
        after = bisect_right(self._sources, source_offset)
        if not after:
            return int(self._ends[-1])
        into = min(int(self._counts[after - 1]), source_offset - int(self._sources[after - 1]))
        begun = int(self._ends[after - 1]) - int(self._counts[after - 1])
        return int(self._ends[-1]) - begun - into
