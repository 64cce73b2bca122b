"""`plan` of failover and switchover: selects groups, makes the plan, saves and shows it."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from tui.cli.exit_codes import ExitCode
from tui.cli.output import config_words, emit
from tui.cli.views.plan_list_view import files_of
from tui.actions.plan_request import Asked, request_of

if TYPE_CHECKING:
    from replicator.config.topology import Appliance
    from replicator.groups.failover.fresh_plans import FreshPlans
    from replicator.groups.planning.knowledge import Request
    from replicator.groups.planning.plan import Check, Plan


def make_plan(asked: Asked) -> int:
    """Makes, saves and prints a plan; the exit code says whether the plan can be applied."""
    from replicator.config.topology import load
    from replicator.groups.failover.fresh_plans import FreshPlans, checked
    from replicator.groups.failover.plan_files import PlanNotKept, new_id

    appliance = load(asked.config)
    checked(appliance, asked.source, asked.target)
    if not asked.reason.strip():
        raise click.UsageError("--reason is empty: it is what others read tomorrow")
    plans = FreshPlans(appliance, timeout_seconds=asked.timeout)
    known = plans.groups(asked.source, asked.target)
    moved = moved_by(appliance, asked) if asked.of_plan else frozenset()
    request = request_of(asked, known, moved)
    arrived = waited(appliance, plans, request, asked)
    now_ms = time.time_ns() // 1_000_000
    plan, _ = plans.plan(
        request,
        plan_id=new_id(now_ms),
        now_ms=now_ms,
        valid_ms=round(asked.valid_minutes * 60_000),
    )
    if arrived:
        plan = replace(plan, checks=(arrived, *plan.checks))
    try:
        files_of(appliance).save(plan)
    except PlanNotKept:
        # The plan is shown all the same: it may have taken a long wait to make.
        show_plan(plan, asked.output, by_partition=asked.partitions, is_saved=False)
        raise
    show_plan(plan, asked.output, by_partition=asked.partitions, config=config_words())
    return ExitCode.REFUSED if plan.blocks else ExitCode.DONE


def moved_by(appliance: Appliance, asked: Asked) -> frozenset[str]:
    """Returns the groups that live in --from since plan --of-plan, as the target's Redis has it."""
    from replicator.groups.membership.primary_store import PrimaryStore

    url = appliance.region(asked.target).redis_url()
    with PrimaryStore(url, timeout_seconds=asked.timeout) as store:
        records = store.all()
    return frozenset(
        group
        for group, record in records.items()
        if (record.plan_id, record.region) == (asked.of_plan, asked.source)
    )


def waited(appliance: Appliance, plans: FreshPlans, request: Request, asked: Asked) -> Check | None:
    """Waits, for a switchover, until the target has all that the groups need.

    Returns the result of the wait as a check of the plan; None for a failover, which does not wait.
    """
    from replicator.groups.failover.arrival import Arrival
    from tui.cli.progress import Waiting

    if asked.wait_seconds is None:
        return None
    steps = Arrival(appliance, plans, request).steps(
        asked.wait_seconds, timeout_seconds=asked.timeout
    )
    bars: dict[str, Waiting] = {}
    while True:
        try:
            awaited = next(steps)
        except StopIteration as ending:
            for bar in bars.values():
                bar.end()
            found: Check = ending.value
            return found
        if awaited.what not in bars:
            for bar in bars.values():
                bar.end()
            bars = {awaited.what: Waiting(awaited.what, sys.stderr)}
        bars[awaited.what].show(awaited.left, awaited.text, time.monotonic())


def show_saved_plan(config: str, name: str, output: str, *, by_partition: bool) -> int:
    """Prints a saved plan as it was made, for a second reader. Contacts no server."""
    from replicator.config.topology import load

    plan = files_of(load(config)).load(name)
    show_plan(plan, output, by_partition=by_partition, config=config_words())
    return ExitCode.DONE


def show_plan(
    plan: Plan, output: str, *, by_partition: bool, config: str = "", is_saved: bool = True
) -> None:
    """Prints a plan.

    Args:
        config: --config option for the command that is suggested next; may be empty.
        is_saved: False when the plan could not be saved; such a plan cannot be applied.
    """
    from replicator.groups.planning.plan import encode
    from tui.cli.views.plan_view import plan_text

    now_ms = time.time_ns() // 1_000_000
    emit(
        output,
        None if output == "table" else json.loads(encode(plan)),
        lambda: plan_text(
            plan, now_ms, by_partition=by_partition, config=config, is_saved=is_saved
        ),
    )
