"""sluice status: the progress of every route, topic and partition."""

from __future__ import annotations

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


def _print_schema(context: click.Context, _: click.Parameter, is_wanted: bool) -> None:
    if is_wanted and not context.resilient_parsing:
        from tui.facts.snapshot_json import schema_text

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
    from tui.commands.views.snapshot_view import as_text
    from tui.facts.snapshot_json import as_values
    from tui.facts.watch.inventory import routes_inventory, whole_inventory

    appliance = load(config)
    if region is None and route_name is None:
        inventory = whole_inventory(appliance, timeout)
    else:
        routes = selected_routes(appliance, region, [route_name] if route_name else [])
        inventory = routes_inventory(appliance, routes, timeout)
    snapshot = inventory.snapshot(timeout)
    emit(output, as_values(snapshot), lambda: as_text(snapshot, by_partition=partitions))
    return ExitCode.UNREACHABLE if snapshot.problems else ExitCode.DONE
