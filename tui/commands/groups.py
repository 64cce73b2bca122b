"""sluice groups: the primary region of each consumer group, and where it has members."""

from collections.abc import Sequence

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.options import config_option, output_option, reason_option, timeout_option
from tui.commands.output import emit, say


@click.group()
def groups() -> None:
    """Show the primary regions of consumer groups, or record them.

    A group with a primary region is active/passive: in other regions its offsets are kept in step.
    A group without one is active/active: it consumes in every region on its own.
    """


@groups.command()
@config_option
@click.option("--region", required=True, metavar="REGION", help="Region whose servers are asked.")
@click.option("--group", "names", multiple=True, help="Only this group. Repeatable.")
@timeout_option(5.0)
@output_option
def show(config: str, region: str, names: Sequence[str], timeout: float, output: str) -> int:
    """Show the primary region of each group (since when, by whom, why), and where it has members.

    Unknown values are shown as ? (null in JSON and YAML). Another region is asked only for what it
    has not reported to this one lately. Exits with 3 when a server could not be reached; everything
    that is known is shown all the same.
    """
    from replicator.config.topology import load
    from tui.commands.views.groups_view import as_text, as_values
    from tui.facts.watch.group_probe import GroupProbe

    locations = GroupProbe(load(config), region, timeout).read()
    if names:
        locations = locations.only(names)
    emit(output, as_values(locations), lambda: as_text(locations))
    return ExitCode.UNREACHABLE if locations.problems else ExitCode.DONE


@groups.command("set-primary")
@click.argument("names", nargs=-1, required=True, metavar="GROUP...")
@config_option
@click.option("--to", metavar="REGION", help="Primary region of the groups from now on.")
@click.option("--any-region", is_flag=True, help="The groups have no primary region any more.")
@click.option(
    "--region",
    metavar="REGION",
    help="Region whose servers record the decision. Default: the region of --to.",
)
@reason_option
@click.option("--yes", is_flag=True, help="Record even while a group has members elsewhere.")
@timeout_option(5.0)
@output_option
def set_primary(
    names: Sequence[str],
    config: str,
    to: str | None,
    any_region: bool,
    region: str | None,
    reason: str,
    yes: bool,
    timeout: float,
    output: str,
) -> int:
    """Record the primary region of groups. Moves no offsets and stops no consumers.

    Exits with 4, and changes nothing, when a group has members in another region; with 5 when the
    decision is recorded but the region's Redis does not have it yet; with 7 when an answer was
    lost.
    """
    from replicator.config.topology import load
    from tui.commands.views.groups_view import changes_text, changes_values, remarks
    from tui.facts.group_locations import is_application
    from tui.facts.watch.group_probe import GroupProbe
    from tui.orders.operator import operator
    from tui.orders.primary_regions import set_primary_region

    if (to is None) is not any_region:
        raise click.UsageError("either --to REGION or --any-region")
    where = region or to
    if where is None:
        raise click.UsageError("--any-region needs --region: whose servers record it")
    if own := [name for name in names if not is_application(name)]:
        raise click.UsageError(f"Sluice's own, which live where they are: {', '.join(own)}")
    appliance = load(config)
    for name in {where, to or where}:
        appliance.region(name)
    locations = GroupProbe(appliance, where, timeout).read().only(names)
    say(*remarks(locations))
    elsewhere = {group: it for group in locations.groups if (it := locations.elsewhere(group, to))}
    if elsewhere and not yes:
        say(*(f"group {name!r} has members in {', '.join(it)}" for name, it in elsewhere.items()))
        say("refused: stop them first, or say --yes; nothing was changed")
        return ExitCode.REFUSED
    changes = set_primary_region(
        appliance, locations, to, why=reason, who=operator(), timeout_seconds=timeout
    )
    emit(output, changes_values(changes), lambda: changes_text(changes))
    return ExitCode.PARTLY_DONE if changes.problems else ExitCode.DONE
