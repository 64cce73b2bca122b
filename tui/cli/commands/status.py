"""sluice status: the progress of every route, topic and partition."""

import click

from tui.cli.exit_codes import ExitCode
from tui.cli.options import (
    config_option,
    output_option,
    partitions_option,
    selected_routes,
    timeout_option,
)
from tui.cli.output import emit


@click.command()
@config_option
@click.option("--region", metavar="REGION", help="Only routes into this target region.")
@click.option("--route", "route_name", metavar="SOURCE>TARGET", help="Only this route.")
@partitions_option
@timeout_option(5.0)
@output_option
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
    to the last stable offset. Exits with 3 when a server could not be reached; everything that is
    known is shown all the same.
    """
    from replicator.config.topology import load
    from tui.cli.views.snapshot_view import as_text, as_values
    from tui.state.route_probe import RouteProbe

    appliance = load(config)
    routes = selected_routes(appliance, region, [] if route_name is None else [route_name])
    snapshot = RouteProbe(appliance, routes, timeout).read()
    emit(output, as_values(snapshot), lambda: as_text(snapshot, by_partition=partitions))
    return ExitCode.UNREACHABLE if snapshot.problems else ExitCode.DONE
