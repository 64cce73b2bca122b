"""Commands that `sluice failover` and `sluice switchover` share: plan, apply, verify."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.options import (
    Command,
    config_option,
    output_option,
    timeout_option,
    typed_config_option,
    usage_errors,
)
from tui.commands.output import emit, say
from tui.commands.progress import progress_option, run_to_end, steps_display, wait_display

if TYPE_CHECKING:
    from replicator.config.topology import Appliance
    from replicator.groups.failover.arrival import Awaited
    from replicator.groups.failover.outcome import Outcome
    from replicator.groups.failover.plan_writer import PlanWriter, Step
    from replicator.groups.planning.failover_plan import Plan

plan_argument = click.argument("plan", metavar="PLAN")
server_timeout_option = timeout_option(
    15.0,
    "Seconds to wait for each server. A lost source region costs 2 s in a failover, and all of "
    "them in a switchover.",
)
plan_partitions_option = click.option(
    "--partitions", is_flag=True, help="List all partitions, however many there are."
)
PLAN_OPTIONS = (
    config_option,
    click.option(
        "--from", "source", required=True, metavar="REGION", help="Region that the groups leave."
    ),
    click.option(
        "--to", "target", required=True, metavar="REGION", help="Region that the groups move to."
    ),
    click.option("--group", "groups", multiple=True, help="This group. Repeatable."),
    click.option(
        "--all-groups",
        is_flag=True,
        help="All groups that have committed in --from, except those with another primary region.",
    ),
    click.option(
        "--recorded",
        is_flag=True,
        help="With --all-groups: only groups whose recorded primary region is --from.",
    ),
    click.option(
        "--of-plan",
        metavar="PLAN",
        help="The groups that this plan moved to --from: to move them back.",
    ),
    click.option(
        "--except",
        "left_out",
        multiple=True,
        metavar="GROUP",
        help="Leave this group out, because it consumes in every region. Repeatable.",
    ),
    click.option("--topic", "topics", multiple=True, help="Only this topic. Repeatable."),
    click.option(
        "--reason", required=True, help="Reason. It is recorded, and shown to other operators."
    ),
    click.option(
        "--earliest",
        multiple=True,
        metavar="GROUP",
        help="For positions without any knowledge: this group starts at the beginning of the log. "
        "Repeatable.",
    ),
    click.option(
        "--from-timestamp",
        multiple=True,
        metavar="GROUP=DATE-TIME",
        help="For positions without any knowledge: this group starts at this time and skips older "
        "records. Repeatable.",
    ),
    click.option(
        "--may-go-back",
        multiple=True,
        metavar="GROUP",
        help="This group may lose progress that it has made in --to. Repeatable.",
    ),
    click.option(
        "--valid-minutes",
        type=click.FloatRange(min=0, min_open=True, max=24 * 60),
        default=5.0,
        show_default=True,
        help="Minutes for which the plan can be applied.",
    ),
    server_timeout_option,
    plan_partitions_option,
    progress_option,
    output_option,
)
CONFIRM_OPTION = click.option(
    "--confirm",
    metavar="FROM:TO",
    help="The two regions of the plan, such as west:east. Asked for on a terminal.",
)


def plan_options(command: Command) -> Command:
    """Adds the options of `plan`."""
    for option in reversed(PLAN_OPTIONS):
        command = option(command)
    return command


def apply_options(command: Command) -> Command:
    """Adds the argument and the options of `apply`."""
    return verify_options(CONFIRM_OPTION(command))


def verify_options(command: Command) -> Command:
    """Adds the argument and the options of `verify`."""
    for option in (
        output_option,
        progress_option,
        plan_partitions_option,
        server_timeout_option,
        config_option,
    ):
        command = option(command)
    return plan_argument(command)


def run_plan(
    *, config: str, partitions: bool, output: str, progress: str | None, **wanted: Any
) -> int:
    """Makes, saves and prints a plan; the exit code says whether it can be applied.

    Args:
        wanted: fields of PlanInput.
    """
    from replicator.config.topology import load
    from replicator.groups.failover.plan_files import PlanNotKept
    from tui.commands.plan_making import BadRequest, PlanInput, make_plan
    from tui.facts.watch.plan_questions import plan_files

    appliance = load(config)
    display = wait_display(progress)
    if progress == "json":
        text = f"asks the servers of {wanted['source']} and {wanted['target']}"
        display.show("plan", None, text, time.monotonic())

    def show(awaited: Awaited) -> None:
        display.show(awaited.what, awaited.left, awaited.text, time.monotonic())

    try:
        with usage_errors(BadRequest):
            plan = make_plan(appliance, PlanInput(**wanted), show)
    finally:
        display.end()
    try:
        plan_files(appliance).save(plan)
    except PlanNotKept:
        # The plan is shown all the same: it may have taken a long wait to make.
        _show_plan(plan, output, by_partition=partitions, is_saved=False)
        raise
    _show_plan(plan, output, by_partition=partitions)
    return ExitCode.REFUSED if plan.is_blocked else ExitCode.DONE


def run_apply(
    *,
    plan: str,
    config: str,
    confirm: str | None,
    timeout: float,
    partitions: bool,
    output: str,
    progress: str | None,
) -> int:
    """Applies a saved plan once the operator has confirmed source and target region."""
    from replicator.config.topology import load
    from tui.commands.plan_text import advice
    from tui.facts.watch.plan_questions import load_plan
    from tui.orders.operator_events import operator

    appliance = load(config)
    found = load_plan(appliance, plan)
    confirm_plan(found, confirm, is_terminal=sys.stdin.isatty())
    display = steps_display(progress)

    def show(step: Step) -> None:
        display.show("apply", step.left, step.text, time.monotonic())

    outcome = apply_plan(
        appliance,
        found,
        who=operator(),
        timeout_seconds=timeout,
        progress=show,
    )
    _show_outcome(outcome, output, by_partition=partitions)
    if not outcome.is_known:
        look = f"sluice failover verify {found.id}{typed_config_option()}"
        say(f"look with `{look}`, then apply the plan again")
        return ExitCode.RESULT_UNKNOWN
    say(*advice(outcome))
    return ExitCode.PARTLY_DONE if outcome.not_done else ExitCode.DONE


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
    from replicator.groups.failover.fresh_plans import FreshPlans
    from tui.orders.operator_events import note_event

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
    from replicator.config.cluster_name import ClusterName
    from replicator.groups.failover.plan_writer import PlanWriter, Target
    from replicator.groups.membership.groups import Groups
    from replicator.groups.membership.primary_log import PrimaryLog
    from replicator.groups.membership.primary_store import PrimaryStore
    from replicator.kafka.admin.admin import Admin

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


def run_verify(
    *,
    plan: str,
    config: str,
    timeout: float,
    partitions: bool,
    output: str,
    progress: str | None,
) -> int:
    """Reads back and prints what the target has of a plan."""
    from replicator.config.topology import load
    from tui.facts.counted import counted
    from tui.facts.watch.plan_questions import load_plan

    appliance = load(config)
    found, display = load_plan(appliance, plan), steps_display(progress)
    display.show(
        "verify", len(found.groups), f"reads the groups in {found.target}", time.monotonic()
    )
    outcome = plan_writer(appliance, found, timeout).verified()
    left = counted(len(outcome.not_done), "group")
    display.show("verify", 0, f"read: {left} not where the plan says", time.monotonic())
    _show_outcome(outcome, output, by_partition=partitions)
    if not outcome.not_done:
        return ExitCode.DONE
    return ExitCode.PARTLY_DONE if outcome.done else ExitCode.FAILED


def run_show(*, plan: str, config: str, partitions: bool, output: str) -> int:
    """Prints a saved plan as it was made, for a second reader. Contacts no server."""
    from replicator.config.topology import load
    from tui.facts.watch.plan_questions import plan_files

    found = plan_files(load(config)).load(plan)
    _show_plan(found, output, by_partition=partitions)
    return ExitCode.DONE


def run_list(*, config: str, output: str) -> int:
    """Prints all saved plans, oldest first."""
    from replicator.config.topology import load
    from replicator.groups.planning.failover_plan import Plan
    from tui.commands.plan_text import plans_text
    from tui.facts.plan_summary import PlanList, broken_plan, plan_summary
    from tui.facts.watch.plan_questions import plan_files

    plans = (
        plan_summary(found, 0) if isinstance(found, Plan) else broken_plan(name, found)
        for name, found in plan_files(load(config)).all()
    )
    listed = PlanList(plans=tuple(plans))
    emit(output, listed, lambda: plans_text(listed, time.time()))
    return ExitCode.DONE


def confirm_plan(plan: Plan, confirmation: str | None, *, is_terminal: bool) -> None:
    """Raises UsageError unless the operator confirms the plan with SOURCE:TARGET.

    Without --confirm the operator is prompted, if stdin is a terminal.
    """
    from tui.commands.text import joined
    from tui.facts.counted import counted
    from tui.facts.plan_summary import plan_summary

    way = plan_summary(plan, 0).way
    if confirmation is None:
        if not is_terminal:
            raise click.UsageError(f"without a terminal it needs --confirm {way}")
        groups = counted(len(plan.groups) - len(plan.held_back), "group")
        confirmation = click.prompt(
            joined([f"Move {groups} from {plan.source} to {plan.target} ({plan.reason})?"]) + "\n"
            f"Type {way} to do it",
            err=True,
        )
    if confirmation.strip() != way:
        raise click.UsageError(f"not confirmed: this plan goes {way}, not {confirmation!r}")


def _show_plan(plan: Plan, output: str, *, by_partition: bool, is_saved: bool = True) -> None:
    from replicator.groups.planning.failover_plan import encode
    from tui.commands.plan_text import plan_text

    now_ms = time.time_ns() // 1_000_000
    config = typed_config_option()
    emit(
        output,
        None if output == "table" else json.loads(encode(plan)),
        lambda: plan_text(
            plan, now_ms, by_partition=by_partition, config=config, is_saved=is_saved
        ),
    )


def _show_outcome(outcome: Outcome, output: str, *, by_partition: bool) -> None:
    from tui.commands.plan_text import outcome_text

    emit(output, outcome.as_values(), lambda: outcome_text(outcome, by_partition=by_partition))
