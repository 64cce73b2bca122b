"""sluice status: the progress of every route, topic and partition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.options import (
    config_option,
    output_option,
    partitions_option,
    selected_routes,
    timeout_option,
)
from tui.commands.output import emit

if TYPE_CHECKING:
    from tui.facts.snapshot import Snapshot

TOPIC_TITLES = ("ROUTE", "TOPIC", "PARTS", "LAG", "LAG S", "REC/S", "CUSTODY", "PLAN")
PARTITION_TITLES = (
    *("ROUTE", "TOPIC", "PART", "SOURCE END", "MIRRORED TO", "LAG", "LAG S", "REC/S", "MB/S"),
    *("CARRIER", "CUSTODY"),
)
OPEN_TRANSACTION_SECONDS = 60.0
"""Records that wait longer for the end of a source transaction get a remark."""


def _print_schema(context: click.Context, _: click.Parameter, is_wanted: bool) -> None:
    if is_wanted and not context.resilient_parsing:
        from tui.facts.snapshot import schema_text

        click.echo(schema_text(), nl=False)
        context.exit()


@click.command()
@config_option
@click.option("--region", metavar="REGION", help="Only routes into this target region.")
@click.option("--route", "route_name", metavar="SOURCE>TARGET", help="Only this route.")
@partitions_option
@timeout_option(5.0)
@output_option
@click.option(
    "--schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_schema,
    help="Print the JSON Schema of -o json (docs/status.schema.json), and exit.",
)
def status(
    config: str,
    region: str | None,
    route_name: str | None,
    partitions: bool,
    timeout: float,
    output: str,
) -> int:
    """Show the mirrored topics, with their progress and lag.

    Unknown values are shown as ? (null in JSON and YAML), never as 0. LAG counts source offsets up
    to the last stable offset. JSON and YAML have everything: regions with their daemons,
    conditions, groups, balance, feeds, audits, events; with --region or --route only regions,
    routes and conditions. Exits with 3 when a server could not be reached; everything that is known
    is shown all the same.
    """
    from replicator.config.topology import load
    from tui.facts.watch.inventory import routes_inventory, whole_inventory

    appliance = load(config)
    if region is None and route_name is None:
        inventory = whole_inventory(appliance, timeout)
    else:
        routes = selected_routes(appliance, region, [route_name] if route_name else [])
        inventory = routes_inventory(appliance, routes, timeout)
    snapshot = inventory.snapshot(timeout)
    emit(output, snapshot, lambda: status_text(snapshot, by_partition=partitions))
    return ExitCode.UNREACHABLE if snapshot.problems else ExitCode.DONE


def status_text(snapshot: Snapshot, *, by_partition: bool = False) -> str:
    """Formats topics, or partitions, as a table, with the remarks below it."""
    from tui.commands.text import page_text
    from tui.pages.partitions import partitions_section
    from tui.pages.topics import topics_section

    if by_partition:
        section = partitions_section(snapshot.routes).only(PARTITION_TITLES)
    else:
        section = topics_section(snapshot.routes).only(TOPIC_TITLES)
    return page_text([section], remarks(snapshot))


def remarks(snapshot: Snapshot) -> Iterator[str]:
    """Yields missing daemons, conditions, parked partitions, open transactions, notes, problems.

    A note or problem that several routes share is yielded once.
    """
    from replicator.notices.condition import Kind
    from tui.commands.text import condition_line

    topics = [(route, topic) for route in snapshot.routes for topic in route.topics or ()]
    # Where ledger or reports could be read, partitions tell themselves that they are parked.
    told = {
        (Kind.PARKED.value, route.route, topic.topic, partition.partition)
        for route, topic in topics
        for partition in topic.partitions
        if partition.parked is not None
    }
    for region in snapshot.regions:
        for daemon in region.daemons:
            if daemon.state == "missing":
                name = f"sluice {daemon.role} of {region.region}"
                yield f"missing: {name}: the region's Redis knows of none"
    for each in snapshot.conditions:
        if (each.kind, each.route, each.topic, each.partition) not in told:
            yield condition_line(each)
    for route, topic in topics:
        for partition in topic.partitions:
            name = f"{route.route} {topic.topic}-{partition.partition}"
            if partition.parked is not None:
                yield f"parked: {name}: {partition.parked}"
            if (partition.open_transaction_seconds or 0) > OPEN_TRANSACTION_SECONDS:
                yield (
                    f"open transaction: {name}: records from source offset "
                    f"{partition.source_end} on have waited "
                    f"{partition.open_transaction_seconds:.0f} s for its end"
                )
    notes = (
        f"note: {topic.topic} in {route.target}: {note}"
        for route, topic in topics
        for note in topic.notes
    )
    yield from dict.fromkeys(notes)
    for problem in snapshot.problems:
        yield f"problem: {problem}"
