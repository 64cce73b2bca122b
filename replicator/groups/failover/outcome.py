"""Outcome of a plan: whether each group is where the plan says, and what is left to do.

The target alone decides: by the record of where a group lives, which names the plan that moved the
group there, and by the group's commits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from balancer.topic_partition import TopicPartition
from replicator.groups.membership.primary_region import PrimaryRegion
from replicator.groups.planning.failover_plan import GroupPlan, Move, Plan
from replicator.groups.progress.vector_metadata import committed_text, decode, is_foreign
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata

SCHEMA_VERSION = 1


class MoveState(StrEnum):
    """State of a group or a position, compared with its plan."""

    WRITTEN = "written"
    """This run wrote it."""
    AS_PLANNED = "as planned"
    MOVED_ON = "moved on"
    """Its consumers have started in the target, and committed since."""
    OPEN = "not written"
    OVERTAKEN = "overtaken"
    """Another plan moved the group since, or an offset before the planned one was committed. This
    plan no longer finishes it.
    """
    UNKNOWN = "unknown"
    """An answer was lost, and the state could not be read either."""

    @property
    def is_done(self) -> bool:
        return self in (MoveState.WRITTEN, MoveState.AS_PLANNED, MoveState.MOVED_ON)


Commits = Mapping[TopicPartition, OffsetAndMetadata]


@dataclass(frozen=True, slots=True)
class PositionOutcome:
    """Position of a group in one partition of the target.

    None: nothing is committed or, for `after`, not known.
    """

    topic: str
    partition: int
    before: int | None
    resume: int
    after: int | None


@dataclass(frozen=True, slots=True)
class GroupOutcome:
    """Outcome of one group; `why` is for the operator."""

    group: str
    state: MoveState
    why: str = ""
    positions: tuple[PositionOutcome, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of all groups of a plan."""

    plan_id: str
    source: str
    target: str
    groups: tuple[GroupOutcome, ...]
    held_back: frozenset[str] = frozenset()
    """Groups that a check of the plan blocks: no run of the plan moves them."""

    @property
    def done(self) -> tuple[str, ...]:
        return tuple(each.group for each in self.groups if each.state.is_done)

    @property
    def not_done(self) -> tuple[str, ...]:
        return tuple(each.group for each in self.groups if not each.state.is_done)

    @property
    def overtaken(self) -> tuple[str, ...]:
        """Groups of not_done that no second run of the plan finishes."""
        return tuple(e.group for e in self.groups if e.state is MoveState.OVERTAKEN)

    @property
    def is_known(self) -> bool:
        return not any(each.state is MoveState.UNKNOWN for each in self.groups)

    def as_values(self) -> dict[str, Any]:
        """Returns the outcome as values for JSON and YAML."""
        return {
            "schema_version": SCHEMA_VERSION,
            "plan_id": self.plan_id,
            "source": self.source,
            "target": self.target,
            "done": list(self.done),
            "not_done": list(self.not_done),
            "groups": [
                {
                    "group": each.group,
                    "standing": each.state.value,
                    "why": each.why,
                    "positions": [asdict(position) for position in each.positions],
                }
                for each in self.groups
            ],
        }


def is_of(record: PrimaryRegion | None, plan: Plan) -> bool:
    """Returns True when this plan decided where the group lives, so applying it has begun."""
    return record is not None and record.plan_id == plan.id


def planned(group: GroupPlan) -> dict[TopicPartition, OffsetAndMetadata]:
    """Returns what to commit for a group; a vector too large for a broker is left out.

    The metadata is the application's own, or else the vector; beside() has the others.
    """
    return {
        move.topic_partition: OffsetAndMetadata(move.resume, _metadata(move))
        for move in group.moves
        if move.resume is not None
    }


def beside(group: GroupPlan, before: Commits, written: Commits) -> Commits:
    """Returns the vectors to commit beside a group's commits with the application's metadata.

    Args:
        before: the group's commits in the target. Those that are not as planned keep what stands
            beside them.
        written: what is to be written in their place.
    """
    kept = {
        place: commit for place, commit in planned(group).items() if before.get(place) == commit
    }
    offsets = {place: commit.offset for place, commit in (kept | dict(written)).items()}
    return {
        move.topic_partition: OffsetAndMetadata(offsets[move.topic_partition], _vector_text(move))
        for move in group.moves
        if move.metadata and move.topic_partition in offsets
    }


def state_of(move: Move, found: OffsetAndMetadata | None) -> MoveState:
    """Returns the state of one position of a group that this plan has begun to move."""
    if move.resume is None:
        return MoveState.AS_PLANNED
    if found is None:
        return MoveState.OPEN
    if found.offset == move.resume:
        return _with_metadata(move, found) if move.metadata else _with_vector(move, found)
    if found.offset == move.target_committed:
        return MoveState.OPEN
    # Writing the position again would skip records, or take back what was read since.
    return MoveState.MOVED_ON if found.offset > move.resume else MoveState.OVERTAKEN


def _with_metadata(move: Move, found: OffsetAndMetadata) -> MoveState:
    """Returns the state of a position at the planned offset, by the application's metadata."""
    if found.metadata == move.metadata:
        return MoveState.AS_PLANNED
    own = found.metadata if is_foreign(found.metadata) else ""
    is_unchanged = (move.resume, own) == (move.target_committed, move.target_metadata)
    is_ours = bool(decode(found.metadata))
    return MoveState.OPEN if is_unchanged or is_ours else MoveState.MOVED_ON


def _with_vector(move: Move, found: OffsetAndMetadata) -> MoveState:
    """Returns the state of a position whose offset is already the planned one, by its vector.

    The offset sync often leaves a position like this. Without its vector a group reads again what
    it has read elsewhere.
    """
    wanted, vector = decode(_metadata(move)), decode(found.metadata)
    if vector == wanted:
        return MoveState.AS_PLANNED
    if (move.resume, vector) == (move.target_committed, move.target_vector):
        return MoveState.OPEN
    if not vector:
        # A client that commits by itself leaves the vector out.
        return MoveState.MOVED_ON
    covers = all(vector.get(region, 0) >= unread for region, unread in wanted.items())
    return MoveState.AS_PLANNED if covers else MoveState.OPEN


def outcome_of(
    plan: Plan,
    group: GroupPlan,
    record: PrimaryRegion | None,
    before: Commits | None,
    after: Commits | None,
) -> GroupOutcome:
    """Returns the outcome of one group.

    Args:
        before: commits before the run; None when commits were read only once.
        after: commits after the run; None when they could not be read.
    """
    before = after if before is None else before
    positions = tuple(
        PositionOutcome(
            move.topic,
            move.partition,
            _offset(before, move),
            move.resume,
            _offset(after, move),
        )
        for move in group.moves
        if move.resume is not None
    )
    state, why = _judged(plan, group, record, after)
    return GroupOutcome(group.group, state, why, positions)


def _judged(
    plan: Plan, group: GroupPlan, record: PrimaryRegion | None, found: Commits | None
) -> tuple[MoveState, str]:
    if not is_of(record, plan):
        if record is not None and record.generation > group.generation:
            by = f"by plan {record.plan_id}" if record.plan_id else f"by {record.who}"
            return MoveState.OVERTAKEN, f"lives in {record.region} since, {by}: {record.why}"
        if names := plan.held_back.get(group.group):
            text = f"blocked by {', '.join(names)} when the plan was made"
            return MoveState.OPEN, f"{text}: solve that, and make a new plan for it"
        return MoveState.OPEN, f"not recorded as living in {plan.target}"
    if found is None:
        return MoveState.UNKNOWN, f"its commits in {plan.target} cannot be read"
    states = {
        move.topic_partition: state_of(move, found.get(move.topic_partition))
        for move in group.moves
    }
    for worst in (MoveState.OVERTAKEN, MoveState.OPEN):
        partitions = [f"{t}-{p}" for (t, p), each in states.items() if each is worst]
        if partitions:
            more = f" and {len(partitions) - 1} more" if len(partitions) > 1 else ""
            reasons = {
                MoveState.OVERTAKEN: "another client has committed before the planned offset since",
                MoveState.OPEN: "not written yet",
            }
            return worst, f"{reasons[worst]}: {partitions[0]}{more}"
    if MoveState.MOVED_ON in states.values():
        return MoveState.MOVED_ON, f"its consumers in {plan.target} have committed since"
    return MoveState.AS_PLANNED, ""


def _offset(commits: Commits | None, move: Move) -> int | None:
    found = (commits or {}).get(move.topic_partition)
    return found.offset if found else None


def _metadata(move: Move) -> str:
    return move.metadata or _vector_text(move)


def _vector_text(move: Move) -> str:
    try:
        return committed_text(move.vector) if move.vector else ""
    except ValueError:
        # Without the vector, the group's helper reads again what it could have left out.
        return ""
