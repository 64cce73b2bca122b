"""sluice upsert: tables that keep one row per key, the newest."""

from __future__ import annotations

import time

import click

from tui.commands.feed_context import feed_option
from tui.commands.options import config_option, output_option, timeout_option, usage_errors
from tui.commands.output import emit
from tui.commands.upsert_create import create
from tui.commands.upsert_orders import accept_loss, rotate, settle
from tui.commands.upsert_status import events, status, tables_option


@click.group()
def upsert() -> None:
    """Look after upsert tables: one row per key, the newest. See docs/upsert.md."""


@click.command()
@config_option
@feed_option
@tables_option
@click.option(
    "--since",
    metavar="AGO|INSTANT",
    default="1h",
    show_default=True,
    help="Compare the ticks since: 10m, 2h, 14d, or 2026-11-22T03:00:00Z.",
)
@timeout_option(15.0, "Seconds to wait for each answer of a server.")
@output_option
def verify(
    config: str, feed_name: str, tables: tuple[str, ...], since: str, timeout: float, output: str
) -> int:
    """Compare upsert tables on every server with their ticks and records, once.

    The same as `sluice verify check --rows`, of these tables alone: the history of committed ticks,
    claims, rows, ends, and how far ends were brought into the rows. Exits with 0 when all of it is
    right; with 9 when something is missing, doubled, foreign or changed; with 3 when a server
    could not be reached; with 5 when not all could be compared.
    """
    from aggregator.verifier.check import Check
    from replicator.audit.window import BadWindow, instant
    from replicator.config.topology import load
    from tui.commands.verify import check_text, check_values, exit_code
    from tui.facts.watch.upsert_questions import check_tables_named

    with usage_errors(BadWindow):
        since_ms = instant(since, int(time.time() * 1000))
    appliance = load(config)
    feed = appliance.feed(feed_name)
    check_tables_named([feed], tables)
    names = tables or tuple(table.name for table in feed.upsert_tables)
    if not names:
        raise click.UsageError(f"feed {feed.name} has no upsert tables")
    only = frozenset(f"table {feed.name}.{name}" for name in names)
    check = Check(appliance, feed.region, since_ms, timeout, with_rows=True, only=only)
    found = check.run()
    emit(output, check_values(found), lambda: check_text(found))
    return exit_code(found)


for command in (create, status, events, settle, rotate, verify, accept_loss):
    upsert.add_command(command)
