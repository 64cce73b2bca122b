"""sluice aggregate: the daemon that loads a region's feeds into ClickHouse, and its commands."""

from __future__ import annotations

import click

from tui.commands.aggregate_losses import accept_loss
from tui.commands.aggregate_objects import objects
from tui.commands.aggregate_orders import freeze, refresh_schema, resume, skip_replay
from tui.commands.aggregate_proto import proto
from tui.commands.aggregate_status import status
from tui.commands.aggregate_store import forget, overwrite, sweep
from tui.commands.exit_codes import ExitCode
from tui.commands.feed_context import feeds_option, region_option
from tui.commands.options import (
    check_daemon_options,
    config_option,
    daemon_options,
    output_option,
    pass_on,
    spark_options,
    timeout_option,
)
from tui.commands.output import emit


@click.group(invoke_without_command=True)
@daemon_options
@spark_options
@click.pass_context
def aggregate(
    ctx: click.Context,
    config: str | None,
    region: str | None,
    master: str,
    conf: dict[str, str],
) -> int:
    """Load a region's feeds into ClickHouse, each record once, until stopped.

    Without a subcommand this is the daemon, one for each region that has feeds. SIGTERM and Ctrl-C
    stop it gracefully: loaders load what they have read, release their partitions, and stop. See
    docs/aggregate.md.
    """
    if ctx.invoked_subcommand is not None:
        pass_on(aggregate, ctx)
        return ExitCode.DONE
    check_daemon_options(ctx)
    from replicator.config.topology import UnknownRegion, load

    # pyspark takes a second to import, so configuration mistakes are reported before that.
    if not load(str(config)).feeds_of(str(region)):
        raise UnknownRegion(f"region {region!r} has no feed; add a table [feeds.<name>]")
    from aggregator.driver import start

    return start.run(str(config), str(region), master=master, conf=conf)


@aggregate.command()
@config_option
@region_option
@feeds_option
@timeout_option(10.0)
@output_option
def check(
    config: str, region: str | None, feeds: tuple[str, ...], timeout: float, output: str
) -> int:
    """Ask the servers whether feeds can be loaded, each record once. Changes nothing.

    Every replica is asked for its version, the columns, defaults and engines of the tables, their
    deduplication windows, the quorum, and the rights of the user; an insert of no rows is made into
    each table. Two feeds that load the same records into one table are a mistake. The store of a
    feed into S3 is tried as at its start: bucket, credentials, rights, and whose the prefix is.
    Exits with 4 when there is a mistake, and with 3 when a server could not be reached.
    """
    from replicator.config.topology import load
    from tui.commands.views.feed_check_view import as_text, as_values
    from tui.facts.feed_selection import selected_feeds
    from tui.facts.watch.feed_check import check_feeds

    appliance = load(config)
    found = check_feeds(appliance, selected_feeds(appliance, region, feeds), timeout)
    emit(output, as_values(found), lambda: as_text(found))
    if found.mistakes:
        return ExitCode.REFUSED
    return ExitCode.UNREACHABLE if found.problems else ExitCode.DONE


for command in (status, freeze, resume, refresh_schema, skip_replay, accept_loss):
    aggregate.add_command(command)
for command in (objects, sweep, overwrite, forget, proto):
    aggregate.add_command(command)
