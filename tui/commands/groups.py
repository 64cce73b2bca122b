"""sluice groups: the primary region of each consumer group, and where it has members."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.options import config_option, output_option, reason_option, timeout_option
from tui.commands.output import emit, plain_values, say

if TYPE_CHECKING:
    from replicator.config.topology import Appliance
    from replicator.groups.membership.primary_region import PrimaryRegion
    from tui.facts.group_view import GroupList, GroupView

SHOWN_TITLES = ("GROUP", "LIVES IN", "SINCE", "WHO", "WHY", "MEMBERS IN", "STATE")
SCHEMA_VERSION = 2
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
    from tui.orders.operator_events import operator

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


@dataclass(frozen=True, slots=True)
class PrimaryChange:
    """Change of the primary region of one group.

    Args:
        record: record that counts now; None when the group has none and needs none.
        is_new: True when the change made the record; False when the group lived there already.
    """

    group: str
    record: PrimaryRegion | None
    is_new: bool


@dataclass(frozen=True, slots=True)
class PrimaryChanges:
    """Changes of all groups that an operator names, and what could not be finished."""

    changes: tuple[PrimaryChange, ...]
    problems: tuple[str, ...] = ()


def set_primary_region(
    appliance: Appliance,
    recorded_by: str,
    groups: Sequence[GroupView],
    region: str | None,
    *,
    why: str,
    who: str,
    timeout_seconds: float,
) -> PrimaryChanges:
    """Records the groups' primary region in a region's log, then in its Redis. Blocking.

    The log is durable, and `sluice offsets` copies it to Redis anyway. A group that already lives
    there gets no new record, so that repeating an interrupted action completes it.

    Args:
        recorded_by: region that records the change.
        groups: as that region knows them.
        region: primary region of the groups; None for any region.

    Raises:
        AdminUnreachable: earlier records are not known.
        AdminError, WriteUnknown: the log cannot be written.
    """
    from replicator.config.cluster_name import ClusterName
    from replicator.groups.membership.decisions import RegionDecisions
    from replicator.groups.membership.primary_log import PrimaryLog
    from replicator.groups.membership.primary_region import decided
    from replicator.groups.membership.primary_store import PrimaryStore
    from replicator.kafka.admin.admin_error import AdminUnreachable
    from replicator.runtime.store_errors import StoreUnreachable
    from tui.orders.operator_events import note_event

    recording = appliance.region(recorded_by)
    name = ClusterName.aggregate(recorded_by)
    if any(each.has_record is None for each in groups):
        raise AdminUnreachable(name, "what was decided before is not known")
    at_ms = time.time_ns() // 1_000_000
    changes = []
    for each in groups:
        record = record_of(each)
        is_new = each.primary != region
        if is_new:
            record = decided(record, each.group, region, at_ms=at_ms, who=who, why=why)
        changes.append(PrimaryChange(each.group, record, is_new))
    problems: tuple[str, ...] = ()
    log = PrimaryLog(name, recording.aggregate, timeout_seconds)
    try:
        with PrimaryStore(recording.redis_url(), timeout_seconds=timeout_seconds) as store:
            RegionDecisions(store, log).record(
                (it.record for it in changes if it.is_new and it.record),
                (it.record for it in changes if it.record),
            )
    except StoreUnreachable as trouble:
        problems = (
            f"recorded in the log, but {trouble}; `sluice offsets` copies the record to Redis when "
            "Redis answers again",
        )
    changed = ", ".join(each.group for each in changes if each.is_new)
    if changed:
        text = f"primary region {region or 'any'} of {changed}: {why}"
        note_event(recording, "decision", who, text, "recorded")
    return PrimaryChanges(tuple(changes), problems)


def record_of(group: GroupView) -> PrimaryRegion | None:
    """Returns the record of a group's primary region; None where it has none, or none is known."""
    from replicator.groups.membership.primary_region import PrimaryRegion

    if group.decided_at_ms is None:
        return None
    return PrimaryRegion(
        group=group.group,
        region=group.primary,
        generation=group.generation or 0,
        at_ms=group.decided_at_ms,
        who=group.who or "",
        why=group.why or "",
        plan_id=group.plan_id,
        previous=group.previous,
    )


def changes_values(changes: PrimaryChanges) -> dict[str, Any]:
    """Returns the results as plain values for JSON and YAML."""
    return {
        "schema_version": SCHEMA_VERSION,
        "offsets_moved": False,
        "problems": list(changes.problems),
        "groups": [
            {"group": it.group, "record": plain_values(it.record), "is_new": it.is_new}
            for it in changes.changes
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


def _region(record: PrimaryRegion | None) -> str:
    return (record.region if record else None) or "any"


def _before(change: PrimaryChange) -> str:
    record = change.record
    return (record.previous or "any") if record and change.is_new else "-"
