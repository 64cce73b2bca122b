"""What became of a plan: of every group whether it is where the plan says, and what is left to do.

Judged by the target alone: by the record of where a group lives, which names the plan that moved it
there, and by what it has committed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from balancer.plan import TopicPartition
from replicator.groups.primary_region import PrimaryRegion
from replicator.planning.plan import GroupPlan, Move, Plan
from replicator.progress.vector_metadata import encode

SCHEMA_VERSION = 1


class Standing(StrEnum):
    """Of a group or a position, beside its plan."""

    WRITTEN = "written"
    """By this run."""
    AS_PLANNED = "as planned"
    MOVED_ON = "moved on"
    """Its consumers have started in the target, and committed since."""
    OPEN = "not written"
    OVERTAKEN = "overtaken"
    """Somebody else moved it since: another plan, or a commit that is not where this one says."""
    UNKNOWN = "unknown"
    """An answer was lost, and it could not be looked up either."""

    @property
    def is_done(self) -> bool:
        return self in (Standing.WRITTEN, Standing.AS_PLANNED, Standing.MOVED_ON)


class Held(NamedTuple):
    """What a group has committed in the target, and what stands beside it."""

    offset: int
    metadata: str


Commits = Mapping[TopicPartition, Held]


@dataclass(frozen=True, slots=True)
class Position:
    """One partition of a group in the target; None: nothing committed, or not known (after)."""

    topic: str
    partition: int
    before: int | None
    resume: int
    after: int | None


@dataclass(frozen=True, slots=True)
class GroupOutcome:
    """One group; `why` says what a person has to know of it."""

    group: str
    standing: Standing
    why: str = ""
    positions: tuple[Position, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of all groups of a plan."""

    plan_id: str
    source: str
    target: str
    groups: tuple[GroupOutcome, ...]

    @property
    def done(self) -> tuple[str, ...]:
        return tuple(each.group for each in self.groups if each.standing.is_done)

    @property
    def not_done(self) -> tuple[str, ...]:
        return tuple(each.group for each in self.groups if not each.standing.is_done)

    @property
    def is_known(self) -> bool:
        return not any(each.standing is Standing.UNKNOWN for each in self.groups)

    def as_values(self) -> dict[str, Any]:
        """For JSON and YAML."""
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
                    "standing": each.standing.value,
                    "why": each.why,
                    "positions": [asdict(position) for position in each.positions],
                }
                for each in self.groups
            ],
        }


def is_of(record: PrimaryRegion | None, plan: Plan) -> bool:
    """Whether where a group lives was decided by this plan: then applying it has begun."""
    return record is not None and record.plan_id == plan.id


def planned(group: GroupPlan) -> dict[TopicPartition, Held]:
    """What has to be committed for a group; a vector too large for a broker is left out."""
    return {
        TopicPartition(move.topic, move.partition): Held(move.resume, _metadata(move))
        for move in group.moves
        if move.resume is not None
    }


def standing_of(move: Move, found: Held | None) -> Standing:
    """Of one position of a group that this plan has begun to move."""
    offset = found.offset if found else None
    if move.resume is None or offset == move.resume:
        return Standing.AS_PLANNED
    if offset == move.target_committed or offset is None:
        return Standing.OPEN
    # Writing it again would skip records, or take back what was read since.
    return Standing.MOVED_ON if offset > move.resume else Standing.OVERTAKEN


def outcome_of(
    plan: Plan,
    group: GroupPlan,
    record: PrimaryRegion | None,
    before: Commits | None,
    after: Commits | None,
) -> GroupOutcome:
    """What is to be said of one group.

    Args:
        before: None when only one look was taken.
        after: None when it could not be looked up.
    """
    before = after if before is None else before
    positions = tuple(
        Position(
            move.topic,
            move.partition,
            _offset(before, move),
            move.resume,
            _offset(after, move),
        )
        for move in group.moves
        if move.resume is not None
    )
    standing, why = _judged(plan, group, record, after)
    return GroupOutcome(group.group, standing, why, positions)


def _judged(
    plan: Plan, group: GroupPlan, record: PrimaryRegion | None, found: Commits | None
) -> tuple[Standing, str]:
    if not is_of(record, plan):
        if record is not None and record.generation > group.generation:
            by = f"by plan {record.plan_id}" if record.plan_id else f"by {record.who}"
            return Standing.OVERTAKEN, f"lives in {record.region} since, {by}: {record.why}"
        return Standing.OPEN, f"not recorded as living in {plan.target}"
    if found is None:
        return Standing.UNKNOWN, f"{plan.target} does not say what it has committed"
    standings = {
        TopicPartition(move.topic, move.partition): standing_of(
            move, found.get(TopicPartition(move.topic, move.partition))
        )
        for move in group.moves
    }
    for worst in (Standing.OVERTAKEN, Standing.OPEN):
        places = [f"{t}-{p}" for (t, p), each in standings.items() if each is worst]
        if places:
            more = f" and {len(places) - 1} more" if len(places) > 1 else ""
            told = {
                Standing.OVERTAKEN: "somebody else has committed since, before where it goes on",
                Standing.OPEN: "not written yet",
            }
            return worst, f"{told[worst]}: {places[0]}{more}"
    if Standing.MOVED_ON in standings.values():
        return Standing.MOVED_ON, f"its consumers in {plan.target} have committed since"
    return Standing.AS_PLANNED, ""


def _offset(commits: Commits | None, move: Move) -> int | None:
    found = (commits or {}).get(TopicPartition(move.topic, move.partition))
    return found.offset if found else None


def _metadata(move: Move) -> str:
    try:
        return encode(move.vector) if move.vector else ""
    except ValueError:
        # Without it the group's helper reads again what it could have left out.
        return ""
