"""sluice offsets: the consumer-group daemon of a region, and commands for its maps and copies."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
from tui.commands.output import emit, plain_values
from tui.commands.progress import Progress
from tui.commands.text import table

if TYPE_CHECKING:
    from replicator.config.topology import Appliance, Region, Route
    from replicator.mirror.offset_map.read_back import ReadBack

COPY_HEADS = ("REGION", "COPY OF", "AGE (S)", "GROUPS", "PARTITIONS", "RUNS")
REBUILT_HEADS = ("ROUTE", "PARTITIONS", "RUNS", "RECORDS", "COMPLETE")
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
    emit(output, rebuilt_values(found), lambda: rebuilt_text(found))
    return ExitCode.DONE if all(it.is_complete for it in found) else ExitCode.PARTLY_DONE


def rebuild_maps(
    region: Region, route: Route, progress: Callable[[int, int], None], timeout_seconds: float
) -> ReadBack:
    """Reads the maps of one route back. A missing runs topic becomes the result's trouble.

    Raises whatever else `read_back` raises.
    """
    from replicator.mirror.offset_map.read_back import ReadBack, read_back
    from replicator.mirror.offset_map.runs_topic import RunsTopicMissing

    try:
        return read_back(region, route, progress, timeout_seconds=timeout_seconds)
    except RunsTopicMissing as missing:
        # The runs topics of the other routes may exist.
        return ReadBack(route.name, 0, 0, 0, str(missing))


def rebuilt_text(found: Sequence[ReadBack]) -> str:
    """Formats a table for people."""
    rows = [
        (it.route, it.partitions, it.runs, it.records, f"no: {it.trouble}" if it.trouble else "yes")
        for it in found
    ]
    return table(REBUILT_HEADS, rows)


def rebuilt_values(found: Sequence[ReadBack]) -> list[dict[str, Any]]:
    """Returns plain values for JSON and YAML."""
    return [{**plain_values(each), "complete": each.is_complete} for each in found]


@dataclass(frozen=True, slots=True)
class RegionCopy:
    """Copy of one region's log.

    Args:
        region: region that the log belongs to.
        of: content of the log: commits, runs of a route, or primary regions.
        age_seconds: the copy has everything that the log held this long ago; None when not known.
        groups, partitions, runs: numbers of each in the copy. None when such a copy has none of
            the kind, or the number is not known.
    """

    region: str
    of: str
    age_seconds: float | None
    groups: int | None = None
    partitions: int | None = None
    runs: int | None = None


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

    copies = copies_in(load(config), region)
    emit(output, copies, lambda: copies_text(copies))
    return ExitCode.DONE


def copies_text(copies: Sequence[RegionCopy]) -> str:
    """Formats a table. An unknown value is ?; a kind that a copy does not have is left empty."""
    rows = [
        (
            copy.region,
            copy.of,
            copy.age_seconds,
            "" if copy.groups is None else copy.groups,
            "" if copy.partitions is None else copy.partitions,
            copy.runs if copy.partitions is not None else "",
        )
        for copy in copies
    ]
    return table(COPY_HEADS, rows)


def copies_in(appliance: Appliance, region: str) -> list[RegionCopy]:
    """Returns all copies in the region's Redis. Raises UnknownRegion or StoreUnreachable."""
    from replicator.groups.copies.commit_store import CommitStore
    from replicator.groups.membership.primary_store import PrimaryCopies

    url = appliance.region(region).redis_url()
    found: list[RegionCopy] = []
    for source in sorted(appliance.regions):
        if source != region:
            with CommitStore(url, source) as commits:
                count = len(commits.groups())
                found.append(RegionCopy(source, "commits", _seconds(commits.age), count))
            found += [_runs(url, route) for route in appliance.routes_into(source)]
        with PrimaryCopies(url, source) as primaries:
            found.append(RegionCopy(source, "primary regions", _seconds(primaries.age)))
    return found


def _runs(url: str, route: Route) -> RegionCopy:
    from replicator.groups.copies.runs_copies import RunsCopies
    from replicator.mirror.offset_map.offset_store import OffsetStore
    from replicator.mirror.offset_map.run_columns import RunsContradict

    with RunsCopies(url, route.key) as copies, OffsetStore(url, route.key) as store:
        age_seconds, keys = _seconds(copies.age), store.keys()
        runs: int | None = 0
        try:
            runs = sum(len(store.load(key)) for key in keys)
        except RunsContradict:
            runs = None
    return RegionCopy(route.target, f"runs {route}", age_seconds, partitions=len(keys), runs=runs)


def _seconds(age: Callable[[int], int | None]) -> float | None:
    age_ms = age(time.time_ns() // 1_000_000)
    return None if age_ms is None else max(0, age_ms) / 1000
