"""sluice failover: moves consumer groups out of a lost region into another one."""

from typing import Any

import click

from tui.commands.options import config_option, output_option
from tui.commands.plan_commands import (
    apply_options,
    plan_argument,
    plan_options,
    plan_partitions_option,
    run_apply,
    run_list,
    run_plan,
    run_show,
    run_verify,
    verify_options,
)


@click.group()
def failover() -> None:
    """Move consumer groups out of a lost region: plan, apply, verify.

    To fail back, exchange the regions; while both regions are alive, prefer `sluice switchover`.
    docs/failover.md leads through the loss of a region.
    """


@failover.command()
@plan_options
def plan(**options: Any) -> int:
    """Show the offsets at which groups would resume, and save them as a plan. Changes nothing.

    Exits with 0 when the plan can be applied, perhaps without groups that a check blocks; with 4
    when it cannot.
    """
    return run_plan(**options)


@failover.command()
@apply_options
def apply(**options: Any) -> int:
    """Check PLAN against the servers again, then write primary regions and offsets.

    Applying an interrupted plan again finishes it. Exits with 4 or 6 when the plan cannot be
    applied, or no longer: nothing was changed. Exits with 5 when groups are left, with 7 when an
    answer was lost.
    """
    return run_apply(**options)


@failover.command()
@verify_options
def verify(**options: Any) -> int:
    """Read back the offsets that the target has for PLAN. Changes nothing.

    Exits with 0 when all groups are at their planned offsets or past them; with 5 when only some
    are, with 1 when none is.
    """
    return run_verify(**options)


@failover.command()
@plan_partitions_option
@output_option
@config_option
@plan_argument
def show(**options: Any) -> int:
    """Show a saved PLAN as it was made, for a second reader. Contacts no server."""
    return run_show(**options)


@failover.command("list")
@config_option
@output_option
def list_(config: str, output: str) -> int:
    """List the saved plans, including those of `sluice switchover`."""
    return run_list(config=config, output=output)
