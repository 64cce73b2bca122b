"""Mutations of the groups' rules: each takes a rule out, and the history has to find it missing."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from replicator.groups.copies import commit_store, runs_copies
from replicator.groups.planning import crossing
from replicator.groups.progress import skipping
from replicator.groups.progress.skipping import RecordState
from replicator.groups.resume import partition_records
from replicator.mirror.offset_map.offset_map import MappedOffset, OffsetMap


@dataclass(frozen=True, slots=True)
class GroupMutation:
    """A rule taken out of this process for good.

    Args:
        rule: number in ARCHITECTURE.md.
        take_out: replaces the part that keeps the rule.
    """

    rule: int
    name: str
    take_out: Callable[[], None]


def _missing_run_raises() -> None:
    """Answers an offset without a run by the run that follows."""
    kept = OffsetMap.target_floor

    def raised(self: OffsetMap, source_offset: int) -> MappedOffset | None:
        found = kept(self, source_offset)
        after = bisect_right(self._sources, source_offset)
        if found and found.basis == "floor" and after < len(self._sources):
            return MappedOffset(self._targets[after], "floor")
        return found

    OffsetMap.target_floor = raised  # type: ignore[method-assign]


def _gap_is_read() -> None:
    """Takes what was read up to a missing run for read up to the next one."""
    kept = OffsetMap.source_floor

    def raised(self: OffsetMap, target_offset: int) -> MappedOffset | None:
        found = kept(self, target_offset)
        after = bisect_right(self._targets, target_offset - 1)
        if found and found.basis == "floor" and after < len(self._sources):
            return MappedOffset(self._sources[after], "floor")
        return found

    OffsetMap.source_floor = raised  # type: ignore[method-assign]


def _unknown_is_read() -> None:
    """Skips a record whose run is not published, as long as something may be skipped."""
    kept = partition_records.record_state

    def skipped(aggregate: Any, offset: int, vector: Any) -> RecordState:
        found = kept(aggregate, offset, vector)
        return RecordState.READ if found is RecordState.UNKNOWN and any(vector.values()) else found

    partition_records.record_state = skipped


def _vector_included() -> None:
    """Skips the record at the vector as well."""

    def state(aggregate: Any, offset: int, vector: Any) -> RecordState:
        found = skipping.origins(aggregate, offset)
        if not found:
            return RecordState.UNKNOWN
        ((region, source),) = found[:1]
        return RecordState.READ if source <= vector.get(region, -1) else RecordState.UNREAD

    partition_records.record_state = state


def _floor_is_exact() -> None:
    """Takes the highest of the regions' offsets, not the lowest."""

    def resume(self: Any, vector: Any) -> MappedOffset | None:
        answers = [self.target_offset(region, unread) for region, unread in vector.items()]
        if not answers or None in answers:
            return None
        return max(filter(None, answers), key=lambda each: each.offset)

    crossing.Aggregate.resume = resume  # type: ignore[method-assign]


def _copies_take_everything() -> None:
    """Lets a copy take portions that do not continue from what is there."""
    for module in (commit_store, runs_copies):
        condition = "if not goes_on(stored, position(portion.begin), says_more) then"
        assert condition in module.PUT
        module.PUT = module.PUT.replace(condition, "if false then")


MUTATIONS = (
    GroupMutation(17, "a missing run raises an offset", _missing_run_raises),
    GroupMutation(17, "a missing run counts as read", _gap_is_read),
    GroupMutation(17, "the highest offset decides", _floor_is_exact),
    GroupMutation(24, "a copy takes what does not continue it", _copies_take_everything),
    GroupMutation(25, "a record without a run is skipped", _unknown_is_read),
    GroupMutation(25, "the record at the vector is skipped", _vector_included),
)
