"""Translation of a position from one aggregate's partition to another's, and the cost of the move.

One Crossing serves every group that has committed on its partition. Counts that do not depend on
the group are computed once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

from replicator.groups.planning.failover_plan import Count
from replicator.groups.progress.partition_in_region import (
    NOTHING,
    PartitionInRegion,
    Vector,
    basis_of,
    vector_of,
)
from replicator.mirror.offset_map.offset_map import MappedOffset, OffsetMap

UnreadOffsets = Mapping[str, MappedOffset | None]
"""Source region -> the first source offset not read; None: not known."""


class Crossing:
    """Translation for one partition, from the aggregate `here` to the aggregate `there`."""

    def __init__(self, here: PartitionInRegion, there: PartitionInRegion) -> None:
        self._here = here
        self._there = there
        self._kept_counts: dict[tuple[bool, str], _Counts] = {}

    def progress(self, committed: int, vector: Vector = NOTHING) -> UnreadOffsets:
        """Returns what a group at `committed` has read, region by region.

        Args:
            vector: what the group had read before, wherever that was.
        """
        # The group has read no records here of a region without a route to here.
        unread: dict[str, MappedOffset | None] = dict.fromkeys(
            self._there.known, MappedOffset(0, "exact")
        )
        kept = {region: offset for region, offset in vector.items() if self._is_one_log(region)}
        unread |= {region: MappedOffset(offset, "exact") for region, offset in kept.items()}
        return unread | {
            region: self._as_there(
                region, self._here.first_unread(region, committed, kept.get(region)), committed
            )
            for region in self._here.known
        }

    def resume(self, unread: UnreadOffsets) -> MappedOffset | None:
        """Returns where a group with this progress continues; None: too little is known.

        No unread record is skipped. The offset is exact only if the progress is. It is then the
        offset of the first unread record, or of the next one to arrive.
        """
        read = known_offsets({region: unread[region] for region in self._there.known})
        if len(read) < len(self._there.known):
            return None
        found = self._there.resume(vector_of(read))
        if found is None or basis_of(read) == "exact":
            return found
        return MappedOffset(found.offset, "floor")

    def vector(self, unread: UnreadOffsets) -> dict[str, int]:
        """Returns the vector to commit, without regions whose offsets may mean other records."""
        read = vector_of(known_offsets(unread))
        return {region: offset for region, offset in read.items() if self._is_one_log(region)}

    def unknown_regions(self, unread: UnreadOffsets) -> list[str]:
        """Returns the regions for which the progress is not known, or the target offset is not."""
        return [
            region
            for region in self._there.known
            if (read := unread[region]) is None
            or self._there.target_offset(region, read.offset) is None
        ]

    def read_again(self, unread: UnreadOffsets, committed: int, resume: int) -> Count | None:
        """Returns how many records the group has read and meets again from `resume` on.

        Records that have not arrived yet are counted, because they may still come. None: no bound
        is known.
        """
        records, exact = self._read_beyond(unread, committed), True
        if records is None or None in unread.values():
            return None
        for region, end in known_offsets(unread).items():
            exact = exact and end.basis == "exact"
            if region not in self._there.known:
                continue
            first = self._there.unread(region, resume) or MappedOffset(0, "floor")
            again, is_exact = self._records(region, first.offset, end.offset)
            records += again
            exact = exact and is_exact and (first.basis == "exact" or not again)
        return Count(records, "exact" if exact else "at most")

    def not_replicated(self, region: str, source_end: int | None) -> Count | None:
        """Returns how many of a region's records are not in `there`; None: not known.

        Args:
            source_end: the end of the region's own log. Without it, records known to be in `here`
                are counted.
        """
        known = self._there.known.get(region)
        reached = known.reached if known else None
        if reached is None:
            return None
        if source_end is not None:
            # Offsets are counted; at some of them a log holds no record for consumers.
            missing = max(0, source_end - reached)
            return Count(missing, "at most" if missing else "exact")
        if region not in self._here.known:
            return None
        return Count(self._counts_of(self._here, region).from_on(reached), "at least")

    def retention_took(self, vector: Vector) -> int:
        """Returns at most how many source offsets, from the vector on, are gone from `there`."""
        edges = {region: known.runs.trimmed for region, known in self._there.known.items()}
        return sum(
            max(0, edge.source_offset - vector[region])
            for region, edge in edges.items()
            if edge and region in vector
        )

    def _is_one_log(self, region: str) -> bool:
        """Returns True if, as far as known, a region's offsets always meant the same records."""
        sides = (self._here.known.get(region), self._there.known.get(region))
        return not any(known and known.losses for known in sides) and self._limit(region) is None

    def _limit(self, region: str) -> int | None:
        """Returns the source offset below which both sides mean the same records; None:
        no limit.
        """
        here, there = self._here.known.get(region), self._there.known.get(region)
        if here is None or there is None:
            return None
        return here.numbering.agrees_below(there.numbering)

    def _as_there(
        self, region: str, read: MappedOffset | None, committed: int
    ) -> MappedOffset | None:
        """Converts a source offset from the numbering of `here` to the numbering of `there`."""
        if read is None:
            return None
        limit = self._limit(region)
        if limit is not None and read.offset >= limit:
            return MappedOffset(limit, "floor")
        older = self._here.known[region].numbering.begin(read.offset)
        # The group may have read some of the records that the source no longer has.
        return read if older is None or committed <= older else MappedOffset(read.offset, "floor")

    def _read_beyond(self, unread: UnreadOffsets, committed: int) -> int | None:
        """Returns at most how many records were read at or beyond `unread`; None: unknown."""
        floors = {
            region: each.offset
            for region, each in known_offsets(unread).items()
            if each.basis == "floor" and region in self._here.known
        }
        if not floors:
            return 0
        begin = self._here.resume(floors)
        return None if begin is None else max(0, committed - begin.offset)

    def _records(self, region: str, begin: int, end: int) -> tuple[int, bool]:
        """Counts a region's records of source offsets begin..end-1; True if the count is exact.

        Where runs do not tell, every offset counts as a record.
        """
        landed = max(begin, min(end, self._there.known[region].reached or 0))
        known = self._there.known[region].runs
        if known.knows(begin, landed):
            counts = self._counts_of(self._there, region)
            records, is_exact = counts.from_on(begin) - counts.from_on(landed), True
        else:
            records, is_exact = landed - begin, False
        if end <= landed:
            return records, is_exact
        coming = end - landed
        here = self._here.known.get(region)
        if here and here.runs.knows(landed, end):
            counts = self._counts_of(self._here, region)
            coming = counts.from_on(landed) - counts.from_on(end)
        # Records that have not arrived may never arrive: their region may be lost, their log
        # compacted.
        return records + coming, is_exact and not coming

    def _counts_of(self, side: PartitionInRegion, region: str) -> _Counts:
        key = side is self._here, region
        if key not in self._kept_counts:
            self._kept_counts[key] = _Counts(side.known[region].runs)
        return self._kept_counts[key]


def known_offsets(unread: UnreadOffsets) -> dict[str, MappedOffset]:
    """Returns the regions of which something is known."""
    return {region: offset for region, offset in unread.items() if offset is not None}


class _Counts:
    """Records of an offset map. The count from any source offset on takes one bisection."""

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
