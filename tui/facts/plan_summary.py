"""Saved failover plan of this machine, as the console shows it."""

from __future__ import annotations

from dataclasses import dataclass


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
