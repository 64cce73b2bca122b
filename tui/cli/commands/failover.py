"""sluice failover: moves consumer groups out of a lost region into another one."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from tui.cli.output import config_option, output_option

Command = TypeVar("Command", bound=Callable[..., Any])

timeout_option = click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=15.0,
    show_default=True,
    help="Seconds per server. A region that is lost costs 2 s in a failover, all in a switchover.",
)
partitions_option = click.option(
    "--partitions", is_flag=True, help="A line for each partition, also of a long plan."
)
confirm_option = click.option(
    "--confirm",
    metavar="FROM:TO",
    help="The regions, to show that you know what you do: west:east. Asked for on a terminal.",
)


def plan_options(command: Command) -> Command:
    """Adds the options of `plan`, for failover and switchover."""
    for option in reversed(
        [
            config_option,
            click.option("--from", "source", required=True, metavar="REGION"),
            click.option("--to", "target", required=True, metavar="REGION"),
            click.option("--group", "groups", multiple=True, help="This group; may be repeated."),
            click.option(
                "--all-groups",
                is_flag=True,
                help="All that have committed in --from, but those recorded as living elsewhere.",
            ),
            click.option(
                "--recorded",
                is_flag=True,
                help="With --all-groups: only those recorded as living in --from.",
            ),
            click.option(
                "--of-plan",
                metavar="PLAN",
                help="Those that live in --from since that plan: to move them back.",
            ),
            click.option(
                "--except",
                "left_out",
                multiple=True,
                metavar="GROUP",
                help="But this one: for those that consume in every region.",
            ),
            click.option("--topic", "topics", multiple=True, help="Only on this topic."),
            click.option("--reason", required=True, help="Why; recorded, and shown to others."),
            click.option(
                "--earliest",
                multiple=True,
                metavar="GROUP",
                help="Where nothing is known, it begins at the start of the log.",
            ),
            click.option(
                "--from-timestamp",
                multiple=True,
                metavar="GROUP=DATE-TIME",
                help="Where nothing is known, it begins there: older records are skipped.",
            ),
            click.option(
                "--may-go-back",
                multiple=True,
                metavar="GROUP",
                help="It may lose progress that it has made in --to.",
            ),
            click.option(
                "--valid-minutes",
                type=click.FloatRange(min=0, min_open=True, max=24 * 60),
                default=5.0,
                show_default=True,
                help="After that it cannot be applied any more.",
            ),
            timeout_option,
            partitions_option,
            output_option,
        ]
    ):
        command = option(command)
    return command


def apply_options(command: Command) -> Command:
    """Adds the options of `apply`, for failover and switchover."""
    for option in (output_option, partitions_option, timeout_option, confirm_option):
        command = option(command)
    return click.argument("plan", metavar="PLAN")(config_option(command))


def verify_options(command: Command) -> Command:
    """Adds the options of `verify`, for failover and switchover."""
    for option in (output_option, partitions_option, timeout_option):
        command = option(command)
    return click.argument("plan", metavar="PLAN")(config_option(command))


@click.group()
def failover() -> None:
    """Move consumer groups out of a region that is lost: plan, apply, verify.

    Failing back is the same with the regions exchanged; while both regions live, prefer `sluice
    switchover`. docs/failover.md leads through a lost region.
    """


@failover.command()
@plan_options
def plan(**options: Any) -> int:
    """Show where groups would go on, and save that as a plan. Changes nothing.

    Ends with 0 when the plan can be applied, with 4 when a check blocks it.
    """
    from tui.actions.plan_making import make_plan
    from tui.actions.plan_request import Asked

    return make_plan(Asked(**options))


@failover.command()
@apply_options
def apply(
    plan: str, config: str, confirm: str | None, timeout: float, partitions: bool, output: str
) -> int:
    """Look again, then write what PLAN says: where the groups live, and their offsets.

    Applied twice it finishes what was broken off. Ends with 4 or 6 when the plan cannot be applied
    (any more): nothing was changed. With 5 when groups are left, with 7 when an answer was lost.
    """
    from tui.actions.plan_applying import apply_plan

    return apply_plan(config, plan, confirm, timeout, partitions, output)


@failover.command()
@verify_options
def verify(plan: str, config: str, timeout: float, partitions: bool, output: str) -> int:
    """Read back what the target has of PLAN. Changes nothing.

    Ends with 0 when all groups are where it says, or have gone on from there; with 5 when some are,
    with 1 when none is.
    """
    from tui.actions.plan_applying import verify_plan

    return verify_plan(config, plan, timeout, partitions, output)


@failover.command()
@partitions_option
@output_option
@config_option
@click.argument("plan", metavar="PLAN")
def show(plan: str, config: str, output: str, partitions: bool) -> int:
    """Show a saved PLAN as it was made, for a second reader. Asks no server."""
    from tui.actions.plan_making import show_saved_plan

    return show_saved_plan(config, plan, output, by_partition=partitions)


@failover.command("list")
@config_option
@output_option
def list_(config: str, output: str) -> int:
    """List the saved plans: those of `sluice switchover` too."""
    from tui.cli.views.plan_list_view import list_plans

    return list_plans(config, output)
