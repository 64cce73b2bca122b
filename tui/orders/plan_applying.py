"""Applying of a saved plan in its target region."""

from __future__ import annotations

import time
from collections.abc import Callable

from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance
from replicator.groups.failover.fresh_plans import FreshPlans
from replicator.groups.failover.outcome import Outcome
from replicator.groups.failover.plan_writer import PlanWriter, Step, Target
from replicator.groups.membership.groups import Groups
from replicator.groups.membership.primary_log import PrimaryLog
from replicator.groups.membership.primary_store import PrimaryStore
from replicator.groups.planning.failover_plan import Plan
from replicator.kafka.admin.admin import Admin
from tui.orders.operator_events import note_event
from tui.orders.steps import run_to_end


def apply_plan(
    appliance: Appliance,
    plan: Plan,
    *,
    who: str,
    timeout_seconds: float,
    progress: Callable[[Step], object],
) -> Outcome:
    """Applies a confirmed plan and returns its outcome. Blocking.

    Args:
        who: operator, as recorded with the groups' new primary region.
        progress: called after each step.

    Raises:
        PlanStale, Refused, AdminError, LogUnreadable, StoreUnreachable: nothing was changed.
    """
    steps = plan_writer(appliance, plan, timeout_seconds).steps(
        FreshPlans(appliance, timeout_seconds=timeout_seconds),
        who=who,
        now_ms=time.time_ns() // 1_000_000,
    )
    outcome = run_to_end(steps, progress)
    done, left = len(outcome.done), len(outcome.not_done)
    text = f"{plan.source}:{plan.target} plan {outcome.plan_id}: {done} groups done, {left} not"
    result = "not known" if not outcome.is_known else "partly done" if left else "done"
    note_event(appliance.region(plan.target), "plan-applied", who, text, result)
    return outcome


def plan_writer(appliance: Appliance, plan: Plan, timeout_seconds: float) -> PlanWriter:
    """Builds the plan writer with its clients of the target region; Redis connects on first use."""
    region = appliance.region(plan.target)
    name = ClusterName.aggregate(plan.target)
    return PlanWriter(
        plan,
        Target(
            PrimaryStore(region.redis_url(), timeout_seconds=timeout_seconds),
            PrimaryLog(name, region.aggregate, timeout_seconds),
            Groups(name, region.aggregate, timeout_seconds),
            Admin(name, region.aggregate, timeout_seconds),
        ),
    )
