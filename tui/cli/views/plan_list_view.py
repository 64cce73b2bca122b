"""Saved plans and their listing."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tui.cli.exit_codes import ExitCode
from tui.cli.output import emit, table

if TYPE_CHECKING:
    from replicator.config.topology import Appliance
    from replicator.groups.failover.plan_files import PlanFiles
    from replicator.groups.planning.plan import Plan


def list_plans(config: str, output: str) -> int:
    """Prints all saved plans, oldest first."""
    from replicator.config.topology import load
    from replicator.groups.planning.plan import Plan

    now_ms = time.time_ns() // 1_000_000
    plans = list(files_of(load(config)).all())
    emit(
        output,
        [
            summary(found, now_ms)
            if isinstance(found, Plan)
            else {"id": name, "broken": str(found)}
            for name, found in plans
        ],
        lambda: (
            table(
                ("PLAN", "WHAT", "GROUPS", "AGE S", "STATE", "REASON"),
                [
                    row(found, now_ms)
                    if isinstance(found, Plan)
                    else (name, "?", None, None, "broken", str(found))
                    for name, found in plans
                ],
            )
            if plans
            else "no plan is saved"
        ),
    )
    return ExitCode.DONE


def summary(plan: Plan, now_ms: int) -> Mapping[str, object]:
    from tui.cli.views.plan_view import verb

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


def row(plan: Plan, now_ms: int) -> tuple[object, ...]:
    from tui.cli.views.plan_view import validity, verb, way

    state = "blocked" if plan.blocks else validity(plan, now_ms)
    age_seconds = (now_ms - plan.created_at_ms) // 1000
    return plan.id, f"{verb(plan)} {way(plan)}", len(plan.groups), age_seconds, state, plan.reason


def files_of(appliance: Appliance) -> PlanFiles:
    from replicator.groups.failover.plan_files import PlanFiles

    return PlanFiles(appliance.replicator.state_dir / "plans")
