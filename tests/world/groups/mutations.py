"""Mutations of the groups' rules: each takes a rule out, and the history has to find it missing."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from replicator.config.names import vectors_group
from replicator.groups.copies import commit_store, runs_copies
from replicator.groups.failover import outcome, plan_writer
from replicator.groups.failover.attempt import Attempt
from replicator.groups.failover.outcome import GroupOutcome, MoveState
from replicator.groups.failover.plan_writer import PlanWriter
from replicator.groups.membership.primary_store import PrimaryCopies, PrimaryStore
from replicator.groups.offset_sync import region_sync
from replicator.groups.planning import crossing, knowledge
from replicator.groups.planning import offset_planner as planner
from replicator.groups.planning.failover_plan import Check, Level, Plan
from replicator.groups.planning.recheck import Recheck
from replicator.groups.progress import skipping
from replicator.groups.progress.skipping import RecordState
from replicator.groups.progress.vector_metadata import encode
from replicator.groups.resume import partition_records
from replicator.mirror.offset_map.offset_map import MappedOffset, OffsetMap
from tests.world.groups import moving
from tests.world.groups.group_offsets import WorldGroups


@dataclass(frozen=True, slots=True)
class GroupMutation:
    """A rule taken out of this process for good.

    Args:
        rule: number in docs/invariants.md.
        take_out: replaces the part that keeps the rule.
        family: of the histories that find it.
    """

    rule: int
    name: str
    take_out: Callable[[], None]
    family: str = "groups"


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

    crossing.PartitionInRegion.resume = resume  # type: ignore[method-assign]


def _copies_take_everything() -> None:
    """Lets a copy take portions that do not continue from what is there."""
    for module in (commit_store, runs_copies):
        condition = "if not goes_on(stored, position(portion.begin), says_more) then"
        assert condition in module.PUT
        module.PUT = module.PUT.replace(condition, "if false then")


def _unknown_age_passes() -> None:
    """Lets plans be applied that were made without knowledge."""
    kept = planner.checks

    def passing(*args: Any) -> tuple[Check, ...]:
        named = ("age", "basis")
        return tuple(
            replace(it, level=Level.PASS) if it.name in named else it for it in kept(*args)
        )

    planner.checks = passing


def _nothing_is_compared() -> None:
    """Applies a plan whatever a fresh one says."""
    plan_writer.recheck = lambda *_: Recheck()


class FreshWritten(PlanWriter):
    """Writes the offsets of the fresh plan, not those that were confirmed."""

    def _against(self, planner: Any, names: set[str], now_ms: int) -> Any:
        kept = plan_writer.recheck

        def compared(plan: Plan, fresh: Plan, logs: Any) -> Any:
            self._groups |= {each.group: each for each in fresh.groups}
            return kept(plan, fresh, logs)

        plan_writer.recheck = compared
        try:
            return super()._against(planner, names, now_ms)
        finally:
            plan_writer.recheck = kept


class Unlogged(PlanWriter):
    """Records the decision in Redis alone."""

    class Silent:
        def write(self, _: object) -> None:
            pass

    def _record(self, *args: Any, **options: Any) -> Any:
        self._target = replace(self._target, log=self.Silent())  # type: ignore[arg-type]
        return super()._record(*args, **options)


class JudgesAnew(PlanWriter):
    """Takes no plan for begun before this attempt has recorded its decisions."""

    has_recorded = False

    def _record(self, *args: Any, **options: Any) -> Any:
        self.has_recorded = True
        return super()._record(*args, **options)

    def _is_ours(self, name: str) -> bool:
        return self.has_recorded and super()._is_ours(name)


def _writing_by(writer: type[PlanWriter]) -> Callable[[], None]:
    def take_out() -> None:
        moving.PlanWriter = writer  # type: ignore[misc]

    return take_out


def _generation_is_not_compared() -> None:
    kept = plan_writer.recheck

    def compared(plan: Plan, fresh: Plan, logs: Any) -> Any:
        known = {each.group: each.generation for each in plan.groups}
        groups = tuple(replace(each, generation=known[each.group]) for each in fresh.groups)
        return kept(plan, replace(fresh, groups=groups), logs)

    plan_writer.recheck = compared


def _decision_is_not_read_again() -> None:
    """Lets a plan writer know of no decision but its own before it writes offsets."""
    kept = PrimaryStore.get

    def get(self: PrimaryStore, group: str) -> Any:
        return kept(self, group) if isinstance(self, PrimaryCopies) else None

    PrimaryStore.get = get  # type: ignore[method-assign]


def _progress_of_members_counts() -> None:
    """Takes what members commit who kept a plan from being written for their arrival."""
    kept = Attempt.judged

    def judged(self: Attempt, found: GroupOutcome, read_error: str) -> GroupOutcome:
        return found if found.state is MoveState.MOVED_ON else kept(self, found, read_error)

    Attempt.judged = judged  # type: ignore[method-assign]


def _old_decisions_count() -> None:
    PrimaryCopies.age = lambda *_: 0  # type: ignore[method-assign]


def _first_decision_counts() -> None:
    """Lets an offset sync go by the decisions that it read when its pass began."""
    kept = PrimaryCopies.all

    def noted(self: Any) -> Any:
        self.first = kept(self)
        return self.first

    PrimaryCopies.all = noted  # type: ignore[method-assign]
    PrimaryCopies.get = lambda self, group: self.first.get(group)  # type: ignore[method-assign]


def _kafka_does_not_overrule() -> None:
    region_sync.contradicted = lambda *_: {}


def _no_zero_byte() -> None:
    """Writes vectors as librdkafka's consumers do not read them."""
    for module in (outcome, region_sync):
        module.committed_text = encode  # type: ignore[attr-defined]


def _metadata_is_replaced() -> None:
    """Takes metadata of an application for nothing, so that the vector takes their place."""
    knowledge.is_foreign = lambda _: False


def _vectors_follow() -> None:
    """Writes vectors after the commits beside which they stand."""
    kept = WorldGroups.write
    late: dict[str, Any] = {}

    def write(self: WorldGroups, group: str, offsets: Any) -> Any:
        if group.startswith(vectors_group("")):
            late[group] = offsets
            return {}
        refused = kept(self, group, offsets)
        if vectors := late.pop(vectors_group(group), None):
            kept(self, vectors_group(group), vectors)
        return refused

    WorldGroups.write = write  # type: ignore[method-assign]


MUTATIONS = (
    GroupMutation(17, "a missing run raises an offset", _missing_run_raises),
    GroupMutation(17, "a missing run counts as read", _gap_is_read),
    GroupMutation(17, "the highest offset decides", _floor_is_exact),
    GroupMutation(18, "plans without knowledge can be applied", _unknown_age_passes),
    GroupMutation(19, "the plan is not compared with a fresh one", _nothing_is_compared),
    GroupMutation(19, "the fresh plan is written", _writing_by(FreshWritten)),
    GroupMutation(20, "the decision is not logged", _writing_by(Unlogged)),
    GroupMutation(20, "a begun plan is judged anew", _writing_by(JudgesAnew)),
    GroupMutation(21, "the generation is not compared", _generation_is_not_compared, "contested"),
    GroupMutation(21, "the decision is not read again", _decision_is_not_read_again, "contested"),
    GroupMutation(
        22, "progress of members counts as written", _progress_of_members_counts, "contested"
    ),
    GroupMutation(23, "decisions may be old", _old_decisions_count, "decisions"),
    GroupMutation(
        23, "the decision of the pass's beginning counts", _first_decision_counts, "contested"
    ),
    GroupMutation(23, "Kafka does not overrule Redis", _kafka_does_not_overrule),
    GroupMutation(24, "a copy takes what does not continue it", _copies_take_everything),
    GroupMutation(25, "a record without a run is skipped", _unknown_is_read),
    GroupMutation(25, "the record at the vector is skipped", _vector_included),
    GroupMutation(62, "a vector ends without a zero byte", _no_zero_byte),
    GroupMutation(62, "an application's metadata is replaced", _metadata_is_replaced),
    GroupMutation(62, "a vector follows its commit", _vectors_follow),
)
