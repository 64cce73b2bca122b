"""`apply` and `verify` of failover and switchover: confirms, applies and reads back a plan."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from typing import TYPE_CHECKING, TypeVar

import click

from tui.cli.exit_codes import ExitCode
from tui.actions.operator import operator
from tui.cli.output import config_words, emit, joined, say
from tui.cli.views.plan_list_view import files_of

if TYPE_CHECKING:
    from replicator.config.topology import Appliance
    from replicator.groups.failover.application import Application
    from replicator.groups.failover.outcome import Outcome
    from replicator.groups.planning.plan import Plan

Returned = TypeVar("Returned")


def apply_plan(
    config: str, name: str, confirm: str | None, timeout: float, partitions: bool, output: str
) -> int:
    """Applies a saved plan once the operator has confirmed source and target region."""
    from replicator.config.topology import load
    from replicator.groups.failover.fresh_plans import FreshPlans

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
        look = f"sluice failover verify {plan.id}{config_words()}"
        say(f"look with `{look}`, then apply the plan again")
        return ExitCode.RESULT_UNKNOWN
    for line in advice(outcome):
        say(line)
    return ExitCode.PARTLY_DONE if outcome.not_done else ExitCode.DONE


def advice(outcome: Outcome) -> list[str]:
    """Returns lines that say what to do about groups that were not moved."""
    lines = []
    if set(outcome.not_done) - set(outcome.overtaken):
        lines.append("mend what is named, then apply the plan again: it goes on where it ended")
    if outcome.overtaken:
        counted = f"overtaken: {len(outcome.overtaken)} of {len(outcome.groups)} groups"
        lines.append(
            f"{counted}, which this plan does not finish any more: if they are not where they "
            "should be, make a new plan for them"
        )
    return lines


def verify_plan(config: str, name: str, timeout: float, partitions: bool, output: str) -> int:
    """Reads back and prints what the target has of a plan."""
    from replicator.config.topology import load

    appliance = load(config)
    plan = loaded(appliance, name)
    outcome = application(appliance, plan, timeout).verified()
    show_outcome(outcome, output, by_partition=partitions)
    if not outcome.not_done:
        return ExitCode.DONE
    return ExitCode.PARTLY_DONE if outcome.done else ExitCode.FAILED


def loaded(appliance: Appliance, name: str) -> Plan:
    from replicator.groups.failover.fresh_plans import checked

    plan = files_of(appliance).load(name)
    checked(appliance, plan.source, plan.target)
    return plan


def confirmed(plan: Plan, confirm: str | None) -> None:
    """Raises UsageError unless the operator confirms the plan with SOURCE:TARGET.

    Without --confirm the operator is prompted, if stdin is a terminal.
    """
    from tui.cli.views.plan_view import counted, way

    if confirm is None:
        if not sys.stdin.isatty():
            raise click.UsageError(f"without a terminal it needs --confirm {way(plan)}")
        groups = counted(len(plan.groups), "group")
        confirm = click.prompt(
            joined([f"Move {groups} from {plan.source} to {plan.target} ({plan.reason})?"]) + "\n"
            f"Type {way(plan)} to do it",
            err=True,
        )
    if confirm.strip() != way(plan):
        raise click.UsageError(f"not confirmed: this plan goes {way(plan)}, not {confirm!r}")


def application(appliance: Appliance, plan: Plan, timeout: float) -> Application:
    """Builds the application with its clients of the target region; Redis connects on first use."""
    from replicator.groups.failover.application import Application, Target
    from replicator.groups.membership.groups import Groups
    from replicator.groups.membership.primary_log import PrimaryLog
    from replicator.groups.membership.primary_store import PrimaryStore
    from replicator.kafka.admin.admin import Admin

    region = appliance.region(plan.target)
    name = f"{plan.target} aggregate"
    return Application(
        plan,
        Target(
            PrimaryStore(region.redis_url(), timeout_seconds=timeout),
            PrimaryLog(name, region.aggregate, timeout),
            Groups(name, region.aggregate, timeout),
            Admin(name, region.aggregate, timeout),
        ),
    )


def followed(steps: Generator[str, None, Returned]) -> Returned:
    """Runs all steps and returns their result; prints each step if stderr is a terminal."""
    is_terminal = sys.stderr.isatty()
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            returned: Returned = end.value
            return returned
        if is_terminal:
            say(step)


def show_outcome(outcome: Outcome, output: str, *, by_partition: bool) -> None:
    from tui.cli.views.plan_view import outcome_text

    emit(output, outcome.as_values(), lambda: outcome_text(outcome, by_partition=by_partition))
