"""Progress of a group as source offsets, and its resume position in another aggregate.

A committed offset is the next record to read. In an aggregate it stands for one source offset per
source region: the first one whose record the group has not read. This vector is the group's
progress. It means the same in every aggregate, in whatever order records arrived there. Where
something is not known, no answer is higher than the truth: a group may read again, and skips
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from replicator.groups.progress.numbering import PLAIN, Numbering
from replicator.mirror.offset_map.offset_map import Basis, MappedOffset, OffsetMap
from replicator.mirror.offset_map.spans import Spans

Vector = Mapping[str, int]
"""Source region -> the first source offset that was not read."""
NOTHING: Vector = MappingProxyType({})


class Passed(NamedTuple):
    """Offsets of a ledger entry, which split the records of a source region.

    Everything before source_offset is in the aggregate before target_offset. Everything that
    follows stands at or behind target_offset.
    """

    source_offset: int
    target_offset: int


@dataclass(frozen=True, slots=True)
class Known:
    """Knowledge of one source region's records in a partition of an aggregate.

    Args:
        passed: None where the ledger has no entry, or could not be read.
        losses: how many losses an operator accepted. After a loss, source offsets may stand for
            other records than before, and no vector counts.
    """

    runs: OffsetMap
    passed: Passed | None = None
    losses: int = 0
    numbering: Numbering = PLAIN

    @property
    def reached(self) -> int | None:
        """Source offset before which everything is in the aggregate; None: not known."""
        if self.passed is None and not self.runs.source_end:
            return None
        return max(self.runs.source_end, self.passed.source_offset if self.passed else 0)

    @property
    def is_untouched(self) -> bool:
        """True when nothing of this region has ever landed below the ledger's position."""
        return (
            not len(self.runs)
            and self.runs.trimmed is None
            and self.passed is not None
            and self.runs.knows(0, self.passed.source_offset)
        )


@dataclass(frozen=True, slots=True)
class PartitionInRegion:
    """Partition of a region's aggregate: by source region, the knowledge of its records.

    log_end was asked for before runs and ledger were read; None when it could not be. Runs added
    after the first call may be ignored: make another PartitionInRegion.
    """

    known: Mapping[str, Known]
    log_end: int | None = None
    _tails: dict[str, Spans] = field(default_factory=dict, init=False, repr=False, compare=False)

    def unread(self, region: str, committed: int) -> MappedOffset | None:
        """Returns the first source offset of a region that a group at `committed` has not read.

        None when nothing is known of the group's reading.
        """
        runs, passed = self.known[region].runs, self.known[region].passed
        found = runs.source_floor(committed)
        if found and found.basis == "exact":
            return found
        if found is None and self.known[region].is_untouched:
            found = MappedOffset(0, "floor")
        unclaimed = runs.target_end
        if passed and passed.target_offset <= committed:
            unclaimed = max(unclaimed, passed.target_offset)
            if found is None or found.offset < passed.source_offset:
                found = MappedOffset(passed.source_offset, "floor")
        if found is None or committed < runs.target_end:
            return found
        is_published = passed and (
            passed.target_offset >= committed and runs.knows(found.offset, passed.source_offset)
        )
        if is_published or self._first_unclaimed(region, unclaimed) >= committed:
            return MappedOffset(found.offset, "exact")
        return found

    def first_unread(
        self, region: str, committed: int, read_before: int | None
    ) -> MappedOffset | None:
        """Returns the first unread source offset of a group that has read all before read_before.

        The group may have read these anywhere. It reads each region's records in their order, here
        and elsewhere, so it has read everything before the larger of the two offsets.
        """
        found = self.unread(region, committed)
        if read_before is None or (found and found.basis == "exact" and found.offset > read_before):
            return found
        beyond = self.target_offset(region, read_before)
        if (found and found.basis == "exact") or (beyond and beyond.offset >= committed):
            # The group has read nothing here beyond read_before.
            return MappedOffset(read_before, "exact")
        return MappedOffset(max(read_before, found.offset if found else 0), "floor")

    def target_offset(self, region: str, source_offset: int) -> MappedOffset | None:
        """Returns the offset to read from to meet all records of a region from source_offset on.

        None when nothing is known.
        """
        found = self._by_runs(region, source_offset)
        older = self.known[region].numbering.begin(source_offset)
        if found is None or older is None or found.offset <= older:
            return found
        # Records that the source no longer has stand before those that have their offsets now.
        return MappedOffset(older, "floor")

    def resume(self, vector: Vector) -> MappedOffset | None:
        """Returns the offset from which a group with this progress skips nothing.

        None when too little is known.
        """
        answers = [self.target_offset(region, unread) for region, unread in vector.items()]
        if not answers or None in answers:
            return None
        # The lowest decides: where it is exact, higher answers and floors change nothing.
        return min(filter(None, answers), key=lambda each: (each.offset, each.basis == "floor"))

    def _by_runs(self, region: str, source_offset: int) -> MappedOffset | None:
        runs, passed = self.known[region].runs, self.known[region].passed
        found = runs.target_floor(source_offset)
        if found and found.basis == "exact":
            return found
        is_behind_runs = found is None or found.offset >= runs.target_end
        if is_behind_runs and runs.knows(source_offset, runs.source_end):
            # The source's log may end in markers: no record has these offsets.
            source_offset = max(source_offset, runs.source_end)
        floors = [found.offset] if found else []
        is_beyond = source_offset >= runs.source_end
        if passed and (
            passed.source_offset <= source_offset
            or (is_beyond and runs.knows(source_offset, passed.source_offset))
        ):
            floors.append(passed.target_offset)
        if not floors:
            return None
        offset = max(floors)
        if is_beyond:
            # Not mirrored yet, by the published runs: the record can only stand where no other
            # region's does.
            offset = self._first_unclaimed(region, offset)
        is_end = is_beyond and self.log_end is not None and offset >= self.log_end
        return MappedOffset(offset, "exact" if is_end else "floor")

    def _first_unclaimed(self, region: str, at: int) -> int:
        """Returns the first offset from `at` on where no other region's record is known to stand.

        `at` is not before the end of the region's own runs.
        """
        if region not in self._tails:
            self._tails[region] = self._tail(region)
        return self._tails[region].first_outside(at)

    def _tail(self, region: str) -> Spans:
        """Returns the offsets of other regions' records behind a region's own runs.

        The longer the region is idle, the more these are.
        """
        tail = Spans()
        for name, known in self.known.items():
            if name != region:
                piece = known.runs.piece()
                ends = piece.targets + piece.counts
                behind = ends > self.known[region].runs.target_end
                tail.add_all(piece.targets[behind], ends[behind])
        return tail


def vector_of(answers: Mapping[str, MappedOffset]) -> dict[str, int]:
    """Returns the offsets of the answers, by source region."""
    return {region: answer.offset for region, answer in answers.items()}


def basis_of(answers: Mapping[str, MappedOffset]) -> Basis:
    """Returns "exact" only when every answer is exact."""
    return "exact" if all(answer.basis == "exact" for answer in answers.values()) else "floor"
