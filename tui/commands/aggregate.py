"""sluice aggregate: the daemon that loads topics into ClickHouse and S3, and its commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
from tui.commands.output import emit, plain_values
from tui.commands.text import joined, table

if TYPE_CHECKING:
    from tui.facts.feed_findings import FeedCheck

CHECK_HEADS = ("WHERE", "KIND", "FINDING")


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
    """Load topics into ClickHouse and S3, each record once, until stopped.

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
    from tui.facts.feed_scope import selected_feeds
    from tui.facts.watch.feed_check import check_feeds

    appliance = load(config)
    found = check_feeds(appliance, selected_feeds(appliance, region, feeds), timeout)
    emit(output, check_values(found), lambda: check_text(found))
    if found.mistakes:
        return ExitCode.REFUSED
    return ExitCode.UNREACHABLE if found.problems else ExitCode.DONE


def check_values(check: FeedCheck) -> dict[str, Any]:
    """Returns plain values for JSON and YAML."""
    return {"ok": not check.mistakes and not check.problems, **plain_values(check)}


def check_text(check: FeedCheck) -> str:
    """Formats the findings as a table, mistakes first, with the problems below it."""
    parts = []
    if check.findings:
        found = sorted(check.findings, key=lambda each: (not each.is_mistake, each))
        rows = [
            (each.where, "mistake" if each.is_mistake else "remark", each.text) for each in found
        ]
        parts.append(table(CHECK_HEADS, rows))
    if check.problems:
        parts.append(joined(f"problem: {problem}" for problem in check.problems))
    if not check.mistakes and not check.problems:
        parts.append(f"ok: {', '.join(check.feeds)}")
    return "\n\n".join(parts)


for command in (status, freeze, resume, refresh_schema, skip_replay, accept_loss):
    aggregate.add_command(command)
for command in (objects, sweep, overwrite, forget, proto):
    aggregate.add_command(command)
