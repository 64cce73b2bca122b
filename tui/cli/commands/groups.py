"""sluice groups: the primary region of each consumer group, and where it has members."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tui.cli.exit_codes import ExitCode
from tui.cli.output import config_option, emit, output_option, say

if TYPE_CHECKING:
    from replicator.config.topology import Appliance
    from tui.state.group_locations import Decisions, GroupPlaces

timeout_option = click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=5.0,
    show_default=True,
    help="Seconds per server.",
)


@click.group()
def groups() -> None:
    """Show where consumer groups live, or record it.

    A group that lives in one region is active/passive: elsewhere its offsets are kept in step. One
    that lives in no region in particular consumes in every region by itself.
    """


@groups.command()
@config_option
@click.option("--region", required=True, help="Whose servers are asked.")
@click.option("--group", "names", multiple=True, help="Only this group; may be repeated.")
@timeout_option
@output_option
def show(config: str, region: str, names: Sequence[str], timeout: float, output: str) -> int:
    """Show where each group lives (since when, who, why), and where it has members now.

    What is not known is shown as ? (null in JSON and YAML). Other regions are asked only for what
    they have not told this one lately. Ends with 3 when a server could not be reached; what is
    known is shown all the same.
    """
    from replicator.config.topology import load
    from tui.state.group_locations import as_text, as_values
    from tui.state.group_probe import GroupProbe

    places = GroupProbe(load(config), region, timeout).look()
    if names:
        places = places.only(names)
    emit(output, as_values(places), lambda: as_text(places))
    return ExitCode.UNREACHABLE if places.problems else ExitCode.DONE


@groups.command("set-primary")
@click.argument("names", nargs=-1, required=True, metavar="GROUP...")
@config_option
@click.option("--to", metavar="REGION", help="The region that they live in from now on.")
@click.option("--any-region", is_flag=True, help="They live in no region in particular any more.")
@click.option(
    "--region",
    metavar="REGION",
    help="Whose servers record it; the region that is named with --to unless given.",
)
@click.option("--reason", required=True, help="Why; recorded, and shown to others.")
@click.option("--yes", is_flag=True, help="Also while they have members in another region.")
@timeout_option
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
    """Record which region these groups live in. Moves no offsets and stops nobody.

    Ends with 4, and changes nothing, when one of them has members in another region; with 5 when
    it is recorded and the region's Redis does not know it yet; with 7 when an answer was lost.
    """
    from replicator.config.names import OWN_PREFIX
    from replicator.config.topology import load
    from tui.state.group_locations import decisions_text, decisions_values, remarks_on
    from tui.state.group_probe import GroupProbe

    if (to is None) is not any_region:
        raise click.UsageError("either --to REGION or --any-region")
    where = region or to
    if where is None:
        raise click.UsageError("--any-region needs --region: whose servers record it")
    if not reason.strip():
        raise click.UsageError("--reason is empty")
    if own := [name for name in names if name.startswith(OWN_PREFIX)]:
        raise click.UsageError(f"Sluice's own, which live where they are: {', '.join(own)}")
    appliance = load(config)
    for name in {where, to or where}:
        appliance.region(name)
    places = GroupProbe(appliance, where, timeout).look().only(names)
    for remark in remarks_on(places):
        say(remark)
    in_the_way = {group: it for group in places.groups if (it := places.elsewhere(group, to))}
    if in_the_way and not yes:
        for group, regions in in_the_way.items():
            say(f"group {group!r} has members in {', '.join(regions)}")
        say("refused: stop them first, or say --yes; nothing was changed")
        return ExitCode.REFUSED
    decisions = decide(appliance, places, to, reason, timeout)
    emit(output, decisions_values(decisions), lambda: decisions_text(decisions))
    return ExitCode.PARTLY_DONE if decisions.problems else ExitCode.DONE


def decide(
    appliance: "Appliance", places: "GroupPlaces", to: str | None, reason: str, timeout: float
) -> "Decisions":
    """Records the groups' primary region in the region's log, then in the region's Redis.

    The log is durable, and `sluice offsets` copies it to Redis anyway. A group that already lives
    there gets no new record, so that repeating an interrupted command completes it.

    Args:
        to: primary region of the groups; None for any region.

    Raises Unreachable when earlier records are not known, and AdminError or WriteUnknown when the
    log cannot be written.
    """
    from replicator.groups.membership.decisions import RegionDecisions
    from replicator.groups.membership.primary_log import PrimaryLog
    from replicator.groups.membership.primary_region import decided
    from replicator.groups.membership.primary_store import PrimaryStore
    from replicator.kafka.admin.admin_error import Unreachable
    from replicator.runtime.store_errors import StoreUnreachable
    from tui.state.group_locations import Decision, Decisions
    from tui.actions.operator import operator

    region = appliance.region(places.region)
    name = f"{places.region} aggregate"
    if places.records is None:
        raise Unreachable(name, "what was decided before is not known")
    at_ms, who = time.time_ns() // 1_000_000, operator()
    decisions = []
    for group in places.groups:
        record = places.records.get(group)
        is_new = (record.region if record else None) != to
        if is_new:
            record = decided(record, group, to, at_ms=at_ms, who=who, why=reason)
        decisions.append(Decision(group, record, is_new))
    problems: tuple[str, ...] = ()
    log = PrimaryLog(name, region.aggregate, timeout)
    try:
        with PrimaryStore(region.redis_url(), timeout_seconds=timeout) as store:
            RegionDecisions(store, log).record(
                (it.record for it in decisions if it.is_new and it.record),
                (it.record for it in decisions if it.record),
            )
    except StoreUnreachable as trouble:
        problems = (f"recorded, but {trouble}; `sluice offsets` tells it once it is back",)
    return Decisions(tuple(decisions), problems)
