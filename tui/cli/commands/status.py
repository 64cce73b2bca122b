"""sluice status: the progress of every route, topic and partition."""

import click

from tui.cli.exit_codes import ExitCode
from tui.cli.output import config_option, emit, output_option


@click.command()
@config_option
@click.option("--region", help="Only routes into this target region.")
@click.option("--route", "route_name", metavar="SOURCE>TARGET", help="Only this route.")
@click.option("--partitions", is_flag=True, help="A line for each partition, not each topic.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=5.0,
    show_default=True,
    help="Seconds per server.",
)
@output_option
def status(
    config: str,
    region: str | None,
    route_name: str | None,
    partitions: bool,
    timeout: float,
    output: str,
) -> int:
    """Show what is mirrored, how far, and how far behind.

    What is not known is shown as ? (null in JSON and YAML), never as 0. LAG counts source
    offsets up to the last stable one. Ends with 3 when a server could not be reached; what is
    known is shown all the same.
    """
    from replicator.config.topology import load
    from tui.state.route_probe import Probe
    from tui.cli.views.snapshot_view import as_text, as_values

    appliance = load(config)
    routes = appliance.routes if region is None else appliance.routes_into(region)
    if route_name is not None:
        chosen = appliance.route(route_name)
        if chosen not in routes:
            raise click.UsageError(f"route {chosen} does not lead into region {region}")
        routes = (chosen,)
    found = Probe(appliance, routes, timeout).look()
    emit(output, as_values(found), lambda: as_text(found, by_partition=partitions))
    return ExitCode.UNREACHABLE if found.problems else ExitCode.DONE
