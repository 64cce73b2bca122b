"""sluice groups: the primary region of each consumer group, and where it has members."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.options import config_option, output_option, reason_option, timeout_option
from tui.commands.output import emit, say

if TYPE_CHECKING:
    from replicator.groups.membership.primary_region import PrimaryRegion
    from tui.facts.group_view import GroupList
    from tui.orders.primary_regions import PrimaryChange, PrimaryChanges

SHOWN_TITLES = ("GROUP", "LIVES IN", "SINCE", "WHO", "WHY", "MEMBERS IN", "STATE")
SCHEMA_VERSION = 1
"""Schema version of the results of `set-primary`."""


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
    from tui.facts.watch.group_probe import probed_groups

    found = probed_groups(load(config), region, timeout, names)
    emit(output, found, lambda: groups_text(found))
    return ExitCode.UNREACHABLE if found.problems else ExitCode.DONE


def groups_text(found: GroupList) -> str:
    """Formats groups as a table, with what is not known below it."""
    from tui.commands.text import page_text
    from tui.pages.groups import groups_section

    return page_text([groups_section(found.groups).only(SHOWN_TITLES)], remarks(found))


def remarks(found: GroupList) -> Iterator[str]:
    """Yields lines about the silent regions, groups that no plan moves, and each problem."""
    from replicator.groups.membership.group_types import unmovable, unmovable_text

    if found.silent_regions:
        where = ", ".join(found.silent_regions)
        yield f"not known: which groups have members in {where}"
    if left := unmovable({each.group: each.type or "classic" for each in found.groups}):
        yield f"{unmovable_text(left)}: {', '.join(sorted(left))}"
    for problem in found.problems:
        yield f"problem: {problem}"


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
    from tui.facts.group_view import is_application
    from tui.facts.watch.group_probe import probed_groups
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
    found = probed_groups(appliance, where, timeout, names)
    say(*remarks(found))
    elsewhere = {each.group: it for each in found.groups if (it := each.elsewhere(to))}
    if elsewhere and not yes:
        say(*(f"group {name!r} has members in {', '.join(it)}" for name, it in elsewhere.items()))
        say("refused: stop them first, or say --yes; nothing was changed")
        return ExitCode.REFUSED
    changes = set_primary_region(
        appliance, where, found.groups, to, why=reason, who=operator(), timeout_seconds=timeout
    )
    emit(output, changes_values(changes), lambda: changes_text(changes))
    return ExitCode.PARTLY_DONE if changes.problems else ExitCode.DONE


def changes_values(changes: PrimaryChanges) -> dict[str, Any]:
    """Returns the results as plain values for JSON and YAML."""
    return {
        "schema_version": SCHEMA_VERSION,
        "offsets_moved": False,
        "problems": list(changes.problems),
        "groups": [
            {**_record_values(it.group, it.record), "is_new": it.is_new} for it in changes.changes
        ],
    }


def changes_text(changes: PrimaryChanges) -> str:
    """Formats the results as a table for people, with the problems below it."""
    from tui.commands.text import joined, table

    rows = [
        (it.group, _region(it.record), _before(it), "recorded" if it.is_new else "as it was")
        for it in changes.changes
    ]
    parts = [
        table(("GROUP", "LIVES IN", "BEFORE", "RESULT"), rows),
        "No offsets were moved: a group goes on wherever its own commits stand. `sluice switchover`"
        "\nand `sluice failover` move both.",
        *(joined([f"problem: {problem}"]) for problem in changes.problems),
    ]
    return "\n\n".join(parts)


def _record_values(group: str, record: PrimaryRegion | None) -> dict[str, Any]:
    from tui.facts.moments import UNKNOWN, iso_text

    at = iso_text(record.at_ms) if record else UNKNOWN
    return {
        "group": group,
        "primary_region": record.region if record else None,
        "generation": record.generation if record else None,
        "decided_at": None if at == UNKNOWN else at,
        "who": record.who if record else None,
        "why": record.why if record else None,
        "plan_id": record.plan_id if record else None,
        "previous_region": record.previous if record else None,
    }


def _region(record: PrimaryRegion | None) -> str:
    return (record.region if record else None) or "any"


def _before(change: PrimaryChange) -> str:
    record = change.record
    return (record.previous or "any") if record and change.is_new else "-"
