"""Restore plan: which objects hold the records of a range, for each partition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import NamedTuple

from aggregator.objects.forgotten import Forgotten, ForgottenRange
from aggregator.objects.told_object import ToldObject
from aggregator.restore.restore_range import RestoreRange

EXTENSION = ".parquet"
NAMED_MAX = 5
"""Objects that an error names."""


class CannotRestore(Exception):
    """A check refuses the restore; the text says why, and what to do."""


class Doubt(NamedTuple):
    """Offsets begin..end-1, of which nobody knows whether all records are in known objects.

    Args:
        gaps: begins and ends of the offsets in no known object.
    """

    begin: int
    end: int
    gaps: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        text = f"it is not known whether objects hold all of the offsets {self._shown(*self[:2])}"
        if not self.gaps:
            return f"{text}: those of some folders may be missing"
        return f"{text}: none holds {named([self._shown(*gap) for gap in self.gaps])}"

    @staticmethod
    def _shown(begin: int, end: int) -> str:
        return str(begin) if end == begin + 1 else f"{begin} to {end - 1}"


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """Objects from which one partition is restored.

    Args:
        begin, end: offsets between which records are restored.
        objects: that may hold some of them, by their first offset.
        doubt: None where it is known that no record is missing, but for what is forgotten.
        forgotten: ranges of which records are missing, since the bucket has dropped their objects.
    """

    partition: int
    begin: int
    end: int
    objects: tuple[ToldObject, ...]
    doubt: Doubt | None = None
    forgotten: tuple[ForgottenRange, ...] = ()

    def left(self, position: int) -> tuple[ToldObject, ...]:
        """Returns the objects with records at or behind a position."""
        return tuple(each for each in self.objects if each.end > position)

    @property
    def records(self) -> int:
        """Records of the objects; some of them may be outside of the range."""
        return sum(each.records - each.left_out for each in self.objects)

    @property
    def size_bytes(self) -> int:
        return sum(each.size_bytes for each in self.objects)


def plan_partitions(
    objects: Iterable[ToldObject],
    wanted: RestoreRange,
    passed: Mapping[int, int],
    partitions: int,
    begun: Mapping[int, int] | None = None,
    forgotten: Sequence[Forgotten] = (),
) -> tuple[PartitionPlan, ...]:
    """Returns the plan of each partition of the range.

    Objects of one partition may overlap, as those of other folders do, and are told in any order.
    So it is known only below the feed's committed offset that all of them are told.

    Args:
        objects: of the topic, read after the committed offsets.
        passed: committed offset of the feed, by partition; without one all that is told counts, and
            may have gaps.
        partitions: of the topic.
        begun: ends of the partitions of a job that has begun; they stay.
        forgotten: objects that the bucket has dropped; their ranges are named in the plans.

    Raises:
        CannotRestore: a range reaches beyond what the feed has written, or an object cannot be
            restored.
    """
    unknown = sorted(each for each in wanted.offsets if each >= partitions)
    if unknown:
        raise CannotRestore(f"there is no partition {unknown[0]}: the topic has {partitions}")
    by_partition: dict[int, list[ToldObject]] = {}
    for each in objects:
        by_partition.setdefault(each.partition, []).append(each)
    plans = []
    for partition in range(partitions):
        offsets = wanted.of(partition)
        if offsets is None:
            continue
        told = sorted(by_partition.get(partition, ()), key=lambda each: (each.begin, each.key))
        _refuse_logs(partition, told)
        dropped = [each for each in forgotten if each.log.partition == partition]
        ends = [*(each.end for each in told), *(each.end for each in dropped)]
        known = max(ends, default=0)
        known = (begun or {}).get(partition, passed.get(partition, known))
        if offsets.end is not None and offsets.end > known:
            raise CannotRestore(
                f"partition {partition}: offsets are in objects up to {known}, not up to "
                f"{offsets.end}; wait for a feed that still writes, or name a lower end"
            )
        end = max(offsets.begin, known if offsets.end is None else offsets.end)
        chosen = tuple(
            each
            for each in told
            if not each.is_empty
            and each.begin < end
            and each.end > offsets.begin
            and wanted.may_hold(each)
        )
        doubt = None if partition in passed else doubt_of(told, offsets.begin, end)
        ranges = tuple(
            found
            for each in dropped
            for found in each.within(offsets.begin, end)
            if found.records and wanted.may_be_within(found.first_ms, found.last_ms)
        )
        plans.append(PartitionPlan(partition, offsets.begin, end, chosen, doubt, ranges))
    _refuse_others([each for plan in plans for each in plan.objects])
    for plan in plans:
        _refuse_overlaps(plan.objects)
    return tuple(plans)


def doubt_of(told: Sequence[ToldObject], begin: int, end: int) -> Doubt | None:
    """Returns which records may be missing where the feed's committed offset is not known.

    Objects of one folder are told in the order of their offsets. With several folders, the last
    objects of some may not be told, at offsets that lie within an object of another one.

    Args:
        told: objects of the partition, by their first offset.
        begin, end: of the offsets that are restored.
    """
    gaps: list[tuple[int, int]] = []
    reached = begin
    for each in told:
        if reached < (first := min(each.begin, end)):
            gaps.append((reached, first))
        reached = max(reached, each.end)
    if reached < end:
        gaps.append((reached, end))
    if not gaps and len({_folder(each) for each in told}) < 2:
        return None
    return Doubt(begin, end, tuple(gaps))


def named(keys: Sequence[str]) -> str:
    """Returns keys as text, the first ones of many."""
    more = f" and {len(keys) - NAMED_MAX} more" if len(keys) > NAMED_MAX else ""
    return ", ".join(keys[:NAMED_MAX]) + more


def _refuse_logs(partition: int, told: Iterable[ToldObject]) -> None:
    """Raises CannotRestore for objects of several logs: their offsets are not of one order."""
    ends: dict[int, int] = {}
    for each in told:
        ends[each.incarnation] = max(each.end, ends.get(each.incarnation, 0))
    if len(ends) > 1:
        logs = ", ".join(f"{number} (up to offset {end})" for number, end in sorted(ends.items()))
        raise CannotRestore(
            f"partition {partition} has had several logs, as its topic was created again: "
            f"{logs}; choose one by --incarnation"
        )


def _refuse_others(objects: Sequence[ToldObject]) -> None:
    others = [each.key for each in objects if not each.key.endswith(EXTENSION) or each.schema]
    if others:
        raise CannotRestore(
            f"{named(others)}: only Parquet with key, value and headers as bytes can be restored; "
            "name a range without these objects"
        )


def _refuse_overlaps(objects: Sequence[ToldObject]) -> None:
    """Raises CannotRestore for objects of one folder with the same offsets."""
    by_folder = sorted(objects, key=lambda each: (_folder(each), each.begin, each.end))
    for _, some in groupby(by_folder, _folder):
        for each, following in pairwise(some):
            if following.begin < each.end:
                raise CannotRestore(
                    f"{each.key} and {following.key} hold the same offsets: the topic was created "
                    "again, or cut; choose one of them by --since and --until, or by --offsets"
                )


def _folder(told: ToldObject) -> str:
    return told.key.rpartition("/")[0]
