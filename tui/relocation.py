"""Groups moved from one region to another, by either verb: failover or switchover."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import click

from tui.exit_codes import ExitCode
from tui.operator import operator
from tui.output import emit, table
from tui.plan_request import Asked, request_of

if TYPE_CHECKING:
    from replicator.config.topology import Appliance
    from replicator.failover.application import Application
    from replicator.failover.fresh_plans import FreshPlans
    from replicator.failover.outcome import Outcome
    from replicator.failover.plan_files import PlanFiles
    from replicator.planning.knowledge import Request
    from replicator.planning.plan import Check, Plan

Returned = TypeVar("Returned")


# -- plan


def make_plan(asked: Asked) -> int:
    """Prints and saves a plan; the exit code says whether it could be applied."""
    from replicator.config.topology import load
    from replicator.failover.fresh_plans import FreshPlans, checked
    from replicator.failover.plan_files import new_id

    appliance = load(asked.config)
    checked(appliance, asked.source, asked.target)
    if not asked.reason.strip():
        raise click.UsageError("--reason is empty: it is what others read tomorrow")
    plans = FreshPlans(appliance, timeout_seconds=asked.timeout)
    request = request_of(asked, plans.groups(asked.source, asked.target))
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
    files_of(appliance).save(plan)
    show_plan(plan, asked.output, by_partition=asked.partitions)
    return ExitCode.REFUSED if plan.blocks else ExitCode.DONE


def waited(appliance: Appliance, plans: FreshPlans, request: Request, asked: Asked) -> Check | None:
    """A switchover waits for what is on its way; what came of it is a check of the plan."""
    from replicator.failover.arrival import Arrival
    from replicator.planning.plan import Check, Level
    from tui.waiting import Waiting

    if asked.wait_seconds is None:
        return None
    waiting = Waiting(f"arriving in {request.target}", sys.stderr)
    arrival = Arrival(appliance, plans, request)
    found = None
    for found in arrival.lags(asked.wait_seconds, timeout_seconds=asked.timeout):
        waiting.show(found.records + found.untold, f"missing: {found}", time.monotonic())
    if found is None:
        text = "not waited for: the groups have not stopped, or nobody says that they have"
        return Check("arrival", Level.BLOCK, text)
    waiting.end()
    if found.is_zero:
        text = f"{request.target} has all that was written, and read, when the groups had stopped"
        return Check("arrival", Level.PASS, text)
    text = f"after {asked.wait_seconds:g} s still missing in {request.target}: {found}"
    return Check("arrival", Level.BLOCK, text)


def show_plan(plan: Plan, output: str, *, by_partition: bool) -> None:
    from replicator.planning.plan import encode
    from tui.plan_table import plan_text

    now_ms = time.time_ns() // 1_000_000
    emit(
        output,
        None if output == "table" else json.loads(encode(plan)),
        lambda: plan_text(plan, now_ms, by_partition=by_partition),
    )


# -- apply, verify


def apply_plan(
    config: str, name: str, confirm: str | None, timeout: float, partitions: bool, output: str
) -> int:
    """Applies a saved plan once the operator has said from where to where."""
    from replicator.config.topology import load
    from replicator.failover.fresh_plans import FreshPlans

    appliance = load(config)
    plan = loaded(appliance, name)
    confirmed(plan, confirm)
    steps = application(appliance, plan, timeout).steps(
        FreshPlans(appliance, timeout_seconds=timeout),
        who=operator(),
        now_ms=time.time_ns() // 1_000_000,
    )
    outcome = followed(steps)
    show_outcome(outcome, output, by_partition=partitions)
    if not outcome.is_known:
        said(f"look with `sluice failover verify {plan.id}`, then apply the plan again")
        return ExitCode.RESULT_UNKNOWN
    if outcome.not_done:
        said("mend what is named, then apply the plan again: it goes on where it ended")
        return ExitCode.PARTLY_DONE
    return ExitCode.DONE


def verify_plan(config: str, name: str, timeout: float, partitions: bool, output: str) -> int:
    """Reads back what the target has of a plan."""
    from replicator.config.topology import load

    appliance = load(config)
    plan = loaded(appliance, name)
    outcome = application(appliance, plan, timeout).verified()
    show_outcome(outcome, output, by_partition=partitions)
    if not outcome.not_done:
        return ExitCode.DONE
    return ExitCode.PARTLY_DONE if outcome.done else ExitCode.FAILED


def loaded(appliance: Appliance, name: str) -> Plan:
    from replicator.failover.fresh_plans import checked

    plan = files_of(appliance).load(name)
    checked(appliance, plan.source, plan.target)
    return plan


def confirmed(plan: Plan, confirm: str | None) -> None:
    """Raises UsageError unless somebody has said the way."""
    from tui.plan_table import counted, way

    if confirm is None:
        if not sys.stdin.isatty():
            raise click.UsageError(f"without a terminal it needs --confirm {way(plan)}")
        groups = counted(len(plan.groups), "group")
        confirm = click.prompt(
            f"Move {groups} from {plan.source} to {plan.target} ({plan.reason})?\n"
            f"Type {way(plan)} to do it",
            err=True,
        )
    if confirm.strip() != way(plan):
        raise click.UsageError(f"not confirmed: this plan goes {way(plan)}, not {confirm!r}")


def application(appliance: Appliance, plan: Plan, timeout: float) -> Application:
    """Its collaborators in the target region; Redis connects when first asked."""
    from replicator.failover.application import Application, Target
    from replicator.groups.groups import Groups
    from replicator.groups.primary_log import PrimaryLog
    from replicator.groups.primary_store import PrimaryStore

    region = appliance.region(plan.target)
    name = f"{plan.target} aggregate"
    return Application(
        plan,
        Target(
            PrimaryStore(region.redis_url(), timeout_seconds=timeout),
            PrimaryLog(name, region.aggregate, timeout),
            Groups(name, region.aggregate, timeout),
        ),
    )


def followed(steps: Generator[str, None, Returned]) -> Returned:
    """Goes through all steps, and tells a person about each; returns what they return."""
    is_terminal = sys.stderr.isatty()
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            returned: Returned = end.value
            return returned
        if is_terminal:
            said(step)


def show_outcome(outcome: Outcome, output: str, *, by_partition: bool) -> None:
    from tui.plan_table import outcome_text

    emit(output, outcome.as_values(), lambda: outcome_text(outcome, by_partition=by_partition))


# -- list


def list_plans(config: str, output: str) -> int:
    """All saved plans, oldest first."""
    from replicator.config.topology import load
    from replicator.planning.plan import Plan

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
    from tui.plan_table import verb

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
    from tui.plan_table import validity, verb, way

    state = "blocked" if plan.blocks else validity(plan, now_ms)
    age_seconds = (now_ms - plan.created_at_ms) // 1000
    return plan.id, f"{verb(plan)} {way(plan)}", len(plan.groups), age_seconds, state, plan.reason


def files_of(appliance: Appliance) -> PlanFiles:
    from replicator.failover.plan_files import PlanFiles

    return PlanFiles(appliance.replicator.state_dir / "plans")


def said(text: str) -> None:
    click.echo(f"sluice: {text}", err=True)
