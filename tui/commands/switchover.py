"""sluice switchover: moves stopped consumer groups while both regions are alive."""

from typing import Any

import click

from tui.commands.plan_commands import (
    apply_options,
    plan_options,
    run_apply,
    run_plan,
    run_verify,
    verify_options,
)


@click.group()
def switchover() -> None:
    """Move consumer groups while both regions are alive: plan, apply, verify.

    Stop the groups first. To move back, exchange the regions.
    """


@switchover.command()
@plan_options
@click.option(
    "--wait-seconds",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    help="Maximum seconds to wait until members have left and records have arrived.",
)
def plan(**options: Any) -> int:
    """Wait until everything that the groups need has arrived, then plan as `failover plan` does.

    The source must answer, and the groups must have stopped; otherwise a check blocks the plan. The
    wait ends when no group has members in the source, and when the target has all records written
    by then and the groups' last commits. Changes nothing.
    """
    return run_plan(**options)


@switchover.command()
@apply_options
def apply(**options: Any) -> int:
    """Check PLAN against the servers again, then write it as `sluice failover apply` does.

    A group that has read on in the source since then makes the plan stale.
    """
    return run_apply(**options)


@switchover.command()
@verify_options
def verify(**options: Any) -> int:
    """Read back the offsets that the target has for PLAN, as `sluice failover verify` does."""
    return run_verify(**options)
