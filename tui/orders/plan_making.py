"""Making of a plan for a failover or a switchover, from what the servers know now."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from replicator.config.topology import Appliance
from replicator.groups.failover.arrival import Arrival, Awaited
from replicator.groups.failover.fresh_plans import FreshPlans, checked
from replicator.groups.failover.plan_files import new_id
from replicator.groups.membership.primary_store import PrimaryStore
from replicator.groups.planning.failover_plan import Plan
from tui.orders.plan_request import BadRequest, PlanInput, request_of
from tui.orders.steps import run_to_end


def make_plan(
    appliance: Appliance, wanted: PlanInput, progress: Callable[[Awaited], object]
) -> Plan:
    """Makes a plan; changes nothing and saves nothing. Blocking.

    For a switchover it first waits until the target has all that the groups need. The result of the
    wait is the plan's first check.

    Args:
        progress: called about once a second during the wait.

    Raises:
        BadRequest, NoWay, UnknownRegion: the input is wrong.
        NothingKnown: the target knows no group of the source.
        AdminError, LogUnreadable, StoreUnreachable: the target does not answer.
    """
    checked(appliance, wanted.source, wanted.target)
    if not wanted.reason.strip():
        raise BadRequest("--reason is empty: it is what others read tomorrow")
    plans = FreshPlans(appliance, timeout_seconds=wanted.timeout)
    known = plans.groups(wanted.source, wanted.target)
    moved = _groups_moved(appliance, wanted) if wanted.of_plan else frozenset()
    unmovable: Mapping[str, str] = {}
    if set(wanted.groups) - set(known):
        unmovable = plans.unmovable(wanted.source, wanted.target)
    request = request_of(wanted, known, moved, unmovable)
    arrived = None
    if wanted.wait_seconds is not None:
        steps = Arrival(appliance, plans, request).steps(
            wanted.wait_seconds, timeout_seconds=wanted.timeout
        )
        arrived = run_to_end(steps, progress)
    now_ms = time.time_ns() // 1_000_000
    plan, _ = plans.plan(
        request,
        plan_id=new_id(now_ms),
        now_ms=now_ms,
        valid_ms=round(wanted.valid_minutes * 60_000),
    )
    return replace(plan, checks=(arrived, *plan.checks)) if arrived else plan


def _groups_moved(appliance: Appliance, wanted: PlanInput) -> frozenset[str]:
    """Returns the groups that live in the source since plan `of_plan`, by the target's Redis."""
    url = appliance.region(wanted.target).redis_url()
    with PrimaryStore(url, timeout_seconds=wanted.timeout) as store:
        records = store.all()
    return frozenset(
        group
        for group, record in records.items()
        if (record.plan_id, record.region) == (wanted.of_plan, wanted.source)
    )
