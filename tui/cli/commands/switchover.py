"""sluice switchover: moves stopped consumer groups while both regions are alive."""

from typing import Any

import click

from tui.cli.commands.failover import apply_options, plan_options, verify_options


@click.group()
def switchover() -> None:
    """Move consumer groups while both regions live: plan, apply, verify.

    Stop the groups first. Moving back is the same with the regions exchanged.
    """


@switchover.command()
@plan_options
@click.option(
    "--wait-seconds",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    help="How long to wait for members that leave, and for what is on its way.",
)
def plan(**options: Any) -> int:
    """Wait until all that is on its way has arrived, then plan as `failover plan` does.

    The source has to answer, and its groups have to have stopped: else a check blocks the plan.
    Waits, at most --wait-seconds, until no group has members in the source and the target has what
    was written and read by then, and the groups' last commits. Changes nothing.
    """
    from tui.actions.plan_making import make_plan
    from tui.actions.plan_request import Asked

    return make_plan(Asked(**options))


@switchover.command()
@apply_options
def apply(
    plan: str, config: str, confirm: str | None, timeout: float, partitions: bool, output: str
) -> int:
    """Look again, then write what PLAN says: as `sluice failover apply` does.

    A group that has read on in the source since makes the plan stale.
    """
    from tui.actions.plan_applying import apply_plan

    return apply_plan(config, plan, confirm, timeout, partitions, output)


@switchover.command()
@verify_options
def verify(plan: str, config: str, timeout: float, partitions: bool, output: str) -> int:
    """Read back what the target has of PLAN: as `sluice failover verify` does."""
    from tui.actions.plan_applying import verify_plan

    return verify_plan(config, plan, timeout, partitions, output)
