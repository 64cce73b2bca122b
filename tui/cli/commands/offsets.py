"""sluice offsets: the consumer-group daemon of a region, and commands for its maps and copies."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tui.cli.exit_codes import ExitCode
from tui.cli.output import config_option, emit, output_option, pass_on, table
from tui.cli.progress import Waiting

if TYPE_CHECKING:
    from replicator.config.topology import Region, Route
    from replicator.mirror.offset_map.read_back import ReadBack

region_option = click.option("--region", required=True, help="The region where this runs.")


@click.group(invoke_without_command=True)
@click.option(
    "--config",
    envvar="SLUICE_CONFIG",
    show_envvar=True,
    metavar="FILE",
    help="The appliance's configuration (deploy/appliance.toml documents it).",
)
@click.option("--region", help="The region where this daemon runs.")
@click.pass_context
def offsets(ctx: click.Context, config: str | None, region: str | None) -> int:
    """Tell the other regions what a region's groups have read, until stopped.

    Without a command of its own it is the daemon, one per region: what groups commit there, and
    which records landed where, is copied into every other region's Redis. SIGTERM and Ctrl-C end
    it within seconds.
    """
    if ctx.invoked_subcommand is not None:
        pass_on(offsets, ctx)
        return ExitCode.DONE
    for name, value in (("config", config), ("region", region)):
        if value is None:
            raise click.MissingParameter(ctx=ctx, param_type="option", param_hint=f"'--{name}'")
    from replicator.groups.offset_sync import daemon

    return daemon.run(str(config), str(region))


@offsets.command()
@config_option
@region_option
@click.option("--route", "route_name", metavar="SOURCE>TARGET", help="Only this route.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=60.0,
    show_default=True,
    help="Seconds without any answer until it gives up.",
)
@output_option
def rebuild(config: str, region: str, route_name: str | None, timeout: float, output: str) -> int:
    """Read the offset maps of a region back into its Redis, exactly, from the runs topics.

    `sluice replicate` does so by itself within a minute of a flush; this is for whoever wants to
    see it done. Carriers may go on meanwhile. Ends with 5 when something is missing afterwards.
    """
    from replicator.config.topology import load

    appliance = load(config)
    own = appliance.region(region)
    routes = appliance.routes_into(region)
    if route_name is not None:
        chosen = appliance.route(route_name)
        if chosen not in routes:
            raise click.UsageError(f"route {chosen} does not lead into region {region}")
        routes = (chosen,)
    found = [_read_back(own, route, timeout) for route in routes]
    values = [
        {
            "route": each.route,
            "partitions": each.partitions,
            "runs": each.runs,
            "records": each.records,
            "complete": each.is_complete,
            "trouble": each.trouble,
        }
        for each in found
    ]
    emit(output, values, lambda: _as_text(found))
    return ExitCode.DONE if all(it.is_complete for it in found) else ExitCode.PARTLY_DONE


@offsets.command()
@config_option
@region_option
@output_option
def show(config: str, region: str, output: str) -> int:
    """Show what a region's Redis keeps of the other regions, and how old it is.

    An age that is not known is shown as ? (null in JSON and YAML): nothing was copied yet, or the
    log is being read for the first time or anew.
    """
    from replicator.config.topology import load
    from tui.state.copies_probe import as_text, as_values, copies_in

    found = copies_in(load(config), region)
    emit(output, as_values(found), lambda: as_text(found))
    return ExitCode.DONE


def _read_back(region: Region, route: Route, timeout_seconds: float) -> ReadBack:
    from replicator.mirror.offset_map.read_back import ReadBack, read_back
    from replicator.mirror.offset_map.runs_topic import RunsTopicMissing

    waiting = Waiting(str(route), sys.stderr)

    def show(count: int, whole: int) -> None:
        waiting.show(whole - count, f"{count} of {whole} pieces", time.monotonic())

    try:
        return read_back(region, route, show, timeout_seconds=timeout_seconds)
    except RunsTopicMissing as missing:
        # The runs topics of the other routes may exist.
        return ReadBack(route.name, 0, 0, 0, str(missing))
    finally:
        waiting.end()


def _as_text(found: Sequence[ReadBack]) -> str:
    rows = [
        (it.route, it.partitions, it.runs, it.records, f"no: {it.trouble}" if it.trouble else "yes")
        for it in found
    ]
    return table(("ROUTE", "PARTITIONS", "RUNS", "RECORDS", "COMPLETE"), rows)
