"""sluice verify: the daemon that judges committed entries, and a check of their history."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.options import (
    check_daemon_options,
    config_option,
    daemon_options,
    output_option,
    pass_on,
    timeout_option,
    usage_errors,
)
from tui.commands.output import emit

if TYPE_CHECKING:
    from aggregator.verifier.check import CheckResult


@click.group(invoke_without_command=True)
@daemon_options
@click.pass_context
def verify(ctx: click.Context, config: str | None, region: str | None) -> int:
    """Judge each committed entry of a region's feeds and routes, until stopped.

    Without a subcommand this is the daemon, one for each region. It reads `__consumer_offsets` of
    every cluster that the feeds read, and of the region's aggregate. An anomaly goes to the log,
    the metrics and Redis. It writes nothing to Kafka. SIGTERM and Ctrl-C stop it within seconds.
    """
    if ctx.invoked_subcommand is not None:
        pass_on(verify, ctx)
        return ExitCode.DONE
    check_daemon_options(ctx)
    from aggregator.verifier import daemon

    return daemon.run(str(config), str(region))


@verify.command()
@config_option
@click.option(
    "--region", required=True, metavar="REGION", help="Region whose feeds and routes are judged."
)
@click.option(
    "--since",
    metavar="AGO|INSTANT",
    default="1h",
    show_default=True,
    help="Judge what was committed since: 10m, 2h, 1d, or 2026-11-22T03:00:00Z.",
)
@click.option(
    "--rows",
    is_flag=True,
    help="Compare the rows of every table and replica, and of every object, with the records.",
)
@click.option(
    "--objects",
    is_flag=True,
    help="Ask the stores of feeds into objects for the size and checksum of each object.",
)
@timeout_option(15.0, "Seconds to wait for each answer of a server.")
@output_option
def check(
    config: str, region: str, since: str, rows: bool, objects: bool, timeout: float, output: str
) -> int:
    """Judge the history of a region's committed entries, once.

    Exits with 0 when all of it is right; with 9 when there is an anomaly, or with --rows a row is
    missing, surplus, doubled or changed, or with --objects an object is missing, different or
    foreign; with 3 when a server could not be reached; with 5 when not all could be judged.
    docs/verify.md describes each finding, and what no finding proves.
    """
    from aggregator.verifier.check import Check
    from replicator.audit.window import BadWindow, instant
    from replicator.config.topology import load
    from tui.commands.views.verify_view import as_text, as_values

    with usage_errors(BadWindow):
        since_ms = instant(since, int(time.time() * 1000))
    found = Check(
        load(config), region, since_ms, timeout, with_rows=rows, with_objects=objects
    ).run()
    emit(output, as_values(found), lambda: as_text(found))
    return exit_code(found)


def exit_code(found: CheckResult) -> ExitCode:
    """Returns the exit code of the worst finding.

    An anomaly outranks an unreachable server, and that outranks what was not judged.
    """
    if found.has_anomaly:
        return ExitCode.DIFFERENT
    if found.problems:
        return ExitCode.UNREACHABLE
    return ExitCode.PARTLY_DONE if found.has_unknown else ExitCode.DONE
