"""Saved failover plan of this machine, as it is shown: every field that people or programs read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replicator.groups.planning.failover_plan import (
        BrokenPlan,
        Count,
        GroupPlan,
        Move,
        Plan,
        UnknownPlan,
    )

MAPPED = ("exact", "floor")
"""Bases of positions that the offset map gave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanCheck:
    """Check of a plan; `result` is pass, warn or block."""

    name: str
    result: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanPosition:
    """Position of a group in a plan, as in `sluice failover show`.

    Args:
        basis: exact or floor; for a position that is not mapped, why it does not move.
        committed, resume: None: nothing is committed, nothing is written.
        read_again, not_replicated: None: not known.
        read_again_bound, not_replicated_bound: exact, at most, or at least.
    """

    group: str
    topic: str
    partition: int
    committed: int | None
    resume: int | None
    basis: str
    read_again: int | None
    not_replicated: int | None
    read_again_bound: str = "exact"
    not_replicated_bound: str = "exact"
    notes: tuple[str, ...] = ()

    @property
    def is_mapped(self) -> bool:
        """True if the offset map gave the resume offset, so that something may be read again."""
        return self.basis in MAPPED


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSummary:
    """Saved plan.

    Args:
        valid_until_ms: Unix time in milliseconds after which it cannot be applied.
        is_blocked: it cannot be applied: a check blocks it whole, or each of its groups.
        held_back: groups that checks block, so that they stay where they are.
        verb: failover or switchover.
        age_ms: of the copies that it was made from; None: not known.
        asked, mapped, exact: numbers of positions: all, those with a known resume offset, and those
            with the offset of the first unread record.
        positions: empty where they are too many to be kept; `positions_count` tells.
        broken: why the file is no readable plan; everything else is then unknown.
    """

    plan_id: str
    source: str = ""
    target: str = ""
    reason: str = ""
    made_at_ms: int = 0
    valid_until_ms: int = 0
    is_blocked: bool = False
    held_back: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    checks: tuple[PlanCheck, ...] = ()
    positions: tuple[PlanPosition, ...] = ()
    positions_count: int = 0
    verb: str = "failover"
    age_ms: int | None = None
    asked: int = 0
    mapped: int = 0
    exact: int = 0
    broken: str | None = None

    @property
    def way(self) -> str:
        """SOURCE:TARGET, the text that confirms the plan."""
        return f"{self.source}:{self.target}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanList:
    """Saved plans, oldest first, without their positions."""

    plans: tuple[PlanSummary, ...]
    schema_version: int = 2


def plan_summary(plan: Plan, positions_max: int | None = None) -> PlanSummary:
    """Returns the summary of a plan; without positions where there are more than the maximum.

    Args:
        positions_max: None: all positions, however many there are.
    """
    count = sum(len(each.moves) for each in plan.groups)
    positions: tuple[PlanPosition, ...] = ()
    if positions_max is None or count <= positions_max:
        positions = tuple(_position(each, move) for each in plan.groups for move in each.moves)
    return PlanSummary(
        plan_id=plan.id,
        source=plan.source,
        target=plan.target,
        reason=plan.reason,
        made_at_ms=plan.created_at_ms,
        valid_until_ms=plan.expires_at_ms,
        is_blocked=plan.is_blocked,
        held_back=tuple(plan.held_back),
        groups=tuple(each.group for each in plan.groups),
        checks=tuple(
            PlanCheck(name=each.name, result=each.level.value.lower(), text=each.text)
            for each in plan.checks
        ),
        positions=positions,
        positions_count=count,
        verb="switchover" if plan.is_planned else "failover",
        age_ms=plan.age_ms,
        asked=plan.completeness.asked,
        mapped=plan.completeness.mapped,
        exact=plan.completeness.exact,
    )


def broken_plan(name: str, error: BrokenPlan | UnknownPlan) -> PlanSummary:
    """Returns the summary of a file that is no readable plan."""
    return PlanSummary(plan_id=name, broken=str(error))


def _position(group: GroupPlan, move: Move) -> PlanPosition:
    again, missing = move.read_again if move.is_mapped else None, move.not_replicated
    return PlanPosition(
        group=group.group,
        topic=move.topic,
        partition=move.partition,
        committed=move.committed,
        resume=move.resume,
        basis=move.basis_or_case,
        read_again=_records(again),
        not_replicated=_records(missing),
        read_again_bound=again.bound if again else "exact",
        not_replicated_bound=missing.bound if missing else "exact",
        notes=move.notes,
    )


def _records(count: Count | None) -> int | None:
    return None if count is None else count.records
