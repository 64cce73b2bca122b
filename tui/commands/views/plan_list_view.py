"""Output of `sluice failover list`: saved plans, and files that are no readable plans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from replicator.groups.planning.plan import BrokenPlan, Plan, UnknownPlan
from tui.commands.text import table
from tui.commands.views.plan_view import validity, verb, way

HEADS = ("PLAN", "WHAT", "GROUPS", "AGE S", "STATE", "REASON")
SavedPlans = Sequence[tuple[str, Plan | BrokenPlan | UnknownPlan]]
"""Each plan with its id, or the error of reading it."""


def as_values(plans: SavedPlans, now_ms: int) -> list[dict[str, Any]]:
    """Returns plain values for JSON and YAML."""
    return [
        _values(found, now_ms) if isinstance(found, Plan) else {"id": name, "broken": str(found)}
        for name, found in plans
    ]


def as_text(plans: SavedPlans, now_ms: int) -> str:
    """Formats the plans as a table for people."""
    if not plans:
        return "no plan is saved"
    rows = [
        _row(found, now_ms)
        if isinstance(found, Plan)
        else (name, None, None, None, "broken", str(found))
        for name, found in plans
    ]
    return table(HEADS, rows)


def _values(plan: Plan, now_ms: int) -> dict[str, Any]:
    return {
        "id": plan.id,
        "verb": verb(plan),
        "source": plan.source,
        "target": plan.target,
        "reason": plan.reason,
        "groups": len(plan.groups),
        "created_at_ms": plan.created_at_ms,
        "expires_at_ms": plan.expires_at_ms,
        "is_expired": plan.is_expired(now_ms),
        "blocked_by": [check.name for check in plan.blocks],
        "broken": None,
    }


def _row(plan: Plan, now_ms: int) -> tuple[Any, ...]:
    state = "blocked" if plan.is_blocked else validity(plan, now_ms)
    age_seconds = (now_ms - plan.created_at_ms) // 1000
    return plan.id, f"{verb(plan)} {way(plan)}", len(plan.groups), age_seconds, state, plan.reason
