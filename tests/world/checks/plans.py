"""Plans of failovers against the truth: what each group has read, and what stands where.

- Below the offset at which a plan lets a group go on stands nothing that it has not read.
- Below the vector that a plan writes stands nothing that it has not read.
- An exact offset is the first unread record's. With complete knowledge every offset is, unless a
  fence's marker stands there.
- The number of records that are read again is as told.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass

from balancer.topic_partition import TopicPartition
from replicator.groups.planning.failover_plan import Case, Count, Move
from replicator.groups.planning.knowledge import Progress
from replicator.groups.progress.vector_metadata import decode
from tests.world.checks.records_of_log import RecordsOfLog
from tests.world.checks.wrong import Wrong
from tests.world.groups.two_regions import REGIONS, TwoRegions


@dataclass(frozen=True, slots=True)
class Truth:
    """Records of all logs: of each region's regional cluster and of its aggregate."""

    regional: Mapping[str, Mapping[TopicPartition, RecordsOfLog]]
    aggregate: Mapping[str, Mapping[TopicPartition, RecordsOfLog]]

    @classmethod
    def of(cls, regions: TwoRegions) -> Truth:
        def records(cluster: object, *, is_stable: bool) -> dict[TopicPartition, RecordsOfLog]:
            return {
                place: RecordsOfLog(cluster.partition(*place), is_stable=is_stable)  # type: ignore[attr-defined]
                for place in regions.places
            }

        return cls(
            {name: records(regions.regional[name], is_stable=True) for name in REGIONS},
            {name: records(regions.aggregate[name], is_stable=False) for name in REGIONS},
        )

    def below(self, region: str, place: TopicPartition, offset: int) -> set[bytes]:
        """Returns the values of an aggregate's records below an offset."""
        log = self.aggregate[region][place]
        return set(log.values[: bisect_left(log.offsets, offset)])

    def covered(self, place: TopicPartition, vector: Mapping[str, int]) -> set[bytes]:
        """Returns the values of all regions' records below a vector."""
        found: set[bytes] = set()
        for region, offset in vector.items():
            log = self.regional[region][place]
            found.update(log.values[: bisect_left(log.offsets, offset)])
        return found

    def read(self, region: str, place: TopicPartition, progress: Progress) -> set[bytes]:
        """Returns the values that a group has read by its commit in a region."""
        return self.below(region, place, progress.offset) | self.covered(place, progress.vector)

    def claimed(self, region: str, place: TopicPartition, row: tuple[int, str]) -> set[bytes]:
        """Returns the values that a group has read, as a row claims that it commits in a region."""
        return self.read(region, place, Progress(row[0], decode(row[1])))

    def unread(
        self,
        region: str,
        place: TopicPartition,
        row: tuple[int, str],
        read: Mapping[TopicPartition, set[bytes]],
    ) -> list[bytes]:
        """Returns the first records that a row claims and that were not read."""
        return sorted(self.claimed(region, place, row) - read.get(place, set()))[:3]


def check_move(
    truth: Truth,
    move: Move,
    progress: Progress,
    source: str,
    target: str,
    log_end: int,
    *,
    is_of_one_moment: bool,
    is_complete: bool = False,
) -> None:
    """Raises Wrong for a move that skips a record, or reads again what it need not.

    Args:
        progress: the commit that the plan was made from.
        log_end: of the target's log as the planner knew it; later records do not count.
        is_of_one_moment: False if the copy of the ledger may be older than the commit: the group is
            then shown further back than it was, and what is told to be exact may not be.
        is_complete: True if everything was known: then the offset has to be the best one.
    """
    place = move.topic_partition
    about = f"{place.topic}-{place.partition} {source}>{target} {progress}: {move}"
    if move.case is not Case.MOVES:
        if is_complete:
            raise Wrong(f"everything is known, and the group does not move: {about}")
        return
    assert move.resume is not None
    read = truth.read(source, place, progress)
    log = truth.aggregate[target][place]
    skipped = [
        (offset, value)
        for offset, value in zip(log.offsets, log.values, strict=True)
        if offset < move.resume and value not in read
    ]
    if skipped:
        raise Wrong(f"unread records are skipped, {skipped[:3]}: {about}")
    unread = truth.covered(place, move.vector) - read
    if unread:
        raise Wrong(f"unread records are below the vector, {sorted(unread)[:3]}: {about}")
    if not is_of_one_moment:
        return
    begin, end = (bisect_left(log.offsets, at) for at in (move.resume, log_end))
    # At the offset of a fence's marker, as far as runs and entries tell, a record may stand.
    is_best = move.basis == "exact" or (
        is_complete and begin < end and log.offsets[begin] == move.resume
    )
    if is_best and begin < end and log.values[begin] in read:
        raise Wrong(f"a record is read again, {log.values[begin]!r}: {about}")
    _check_again(truth, move, read, target, about)


def _check_again(truth: Truth, move: Move, read: set[bytes], target: str, about: str) -> None:
    found: Count | None = move.read_again
    if found is None or move.resume is None:
        return
    place = move.topic_partition
    again = len(read - truth.below(target, place, move.resume))
    if found.bound == "exact" and again != found.records:
        raise Wrong(f"{again} records are read again, not {found}: {about}")
    if again > found.records:
        raise Wrong(f"{again} records are read again, not {found}: {about}")
