"""sluice offsets: the consumer-group daemon of a region, and commands for its maps and copies."""

from __future__ import annotations

import sys
import time

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.options import (
    check_daemon_options,
    config_option,
    daemon_options,
    output_option,
    pass_on,
    selected_routes,
    timeout_option,
)
from tui.commands.output import emit
from tui.commands.progress import Progress

region_option = click.option(
    "--region", required=True, metavar="REGION", help="Region whose Redis is meant."
)


@click.group(invoke_without_command=True)
@daemon_options
@click.pass_context
def offsets(ctx: click.Context, config: str | None, region: str | None) -> int:
    """Publish the progress of a region's consumer groups to the other regions, until stopped.

    Without a subcommand this is the daemon, one for each region. It copies the groups' commits, and
    the offsets at which records landed, into the Redis of every other region. SIGTERM and Ctrl-C
    stop it within seconds.
    """
    if ctx.invoked_subcommand is not None:
        pass_on(offsets, ctx)
        return ExitCode.DONE
    check_daemon_options(ctx)
    from replicator.groups.offset_sync import daemon

    return daemon.run(str(config), str(region))


@offsets.command()
@config_option
@region_option
@click.option("--route", "route_name", metavar="SOURCE>TARGET", help="Only this route.")
@timeout_option(60.0, "Seconds without any answer after which the command gives up.")
@output_option
def rebuild(config: str, region: str, route_name: str | None, timeout: float, output: str) -> int:
    """Read the offset maps of a region back into its Redis from the runs topics.

    `sluice replicate` does this by itself within a minute after a flush; this command shows when it
    is done. Carriers may run meanwhile. Exits with 5 when something is missing afterwards.
    """
    from replicator.config.topology import load
    from tui.commands.views.rebuild_view import as_text, as_values
    from tui.orders.map_rebuild import rebuild_maps

    appliance = load(config)
    own = appliance.region(region)
    routes = selected_routes(appliance, region, [] if route_name is None else [route_name])
    progress = Progress(sys.stderr)
    found = []
    for route in routes:

        def show_pieces(count: int, whole: int, route_name: str = str(route)) -> None:
            text = f"{count} of {whole} pieces"
            progress.show(route_name, whole - count, text, time.monotonic())

        try:
            found.append(rebuild_maps(own, route, show_pieces, timeout))
        finally:
            progress.end()
    emit(output, as_values(found), lambda: as_text(found))
    return ExitCode.DONE if all(it.is_complete for it in found) else ExitCode.PARTLY_DONE


@offsets.command()
@config_option
@region_option
@output_option
def show(config: str, region: str, output: str) -> int:
    """Show the copies of other regions' data in a region's Redis, with their ages.

    An unknown age is shown as ? (null in JSON and YAML): nothing was copied yet, or the log is
    being read for the first time or anew.
    """
    from replicator.config.topology import load
    from tui.commands.views.copies_view import as_text, as_values
    from tui.facts.watch.copies_probe import copies_in

    copies = copies_in(load(config), region)
    emit(output, as_values(copies), lambda: as_text(copies))
    return ExitCode.DONE
