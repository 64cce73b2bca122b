"""sluice upsert create: makes the tables and views of upsert tables in ClickHouse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.feed_context import feeds_option, region_option
from tui.commands.options import config_option, output_option, timeout_option
from tui.commands.output import emit
from tui.commands.text import joined, table
from tui.commands.upsert_status import tables_option

if TYPE_CHECKING:
    from aggregator.upsert.table_creation import TableCreation
    from replicator.config.feed_settings import Feed

HEADS = ("FEED", "TABLE", "SERVER", "MADE", "THERE ALREADY")
MISTAKE_HEADS = ("SERVER", "TABLE", "MISTAKE")
Creations = Sequence[tuple[str, str, "TableCreation"]]
"""Feed, upsert table, and what became of it."""


@click.command()
@config_option
@region_option
@feeds_option
@tables_option
@timeout_option(30.0, "Seconds to wait for each server.")
@output_option
def create(
    config: str,
    region: str | None,
    feeds: tuple[str, ...],
    tables: tuple[str, ...],
    timeout: float,
    output: str,
) -> int:
    """Make the tables and views of upsert tables on each replica of their shards.

    What is there as the settings need it is left alone, so that the command may be repeated: after
    a failure, or for a new replica. Nothing of an upsert table is made while a table that is there
    differs; all differences are shown at once, each with its mend. Views are made anew where they
    differ. Nothing is ever dropped but a view. Exits with 4 when there are differences, and with 3
    when a server did not answer or refused a statement. Replicas that ZooKeeper still has of a disk
    that was lost are named; remove them there.
    """
    from replicator.config.topology import load
    from tui.facts.feed_scope import selected_feeds
    from tui.facts.watch.upsert_questions import check_tables_named

    appliance = load(config)
    chosen = selected_feeds(appliance, region, feeds)
    check_tables_named(chosen, tables)
    found = created(chosen, tables, timeout)
    emit(output, created_values(found), lambda: created_text(found))
    if any(each.mistakes for _, _, each in found):
        return ExitCode.REFUSED
    is_whole = all(each.is_whole for _, _, each in found)
    return ExitCode.DONE if is_whole else ExitCode.UNREACHABLE


def created(feeds: Iterable[Feed], tables: Sequence[str], timeout_seconds: float) -> Creations:
    """Makes the store's tables of upsert tables.

    Args:
        tables: names; empty: all of the feeds.
    """
    from aggregator.store.shard_store import ShardStore, StoreTimeouts
    from aggregator.upsert.table_creation import create_tables
    from replicator.config.feed_settings import ClickHouseFeed

    found = []
    for feed in feeds:
        if not isinstance(feed, ClickHouseFeed):
            continue
        for each in feed.upsert_tables:
            if tables and each.name not in tables:
                continue
            timeouts = StoreTimeouts(insert=timeout_seconds)
            store = ShardStore(feed.shard_of_table(each), timeouts, feed=feed.name, kept=1)
            try:
                found.append((feed.name, each.name, create_tables(store, each)))
            finally:
                store.close()
    return found


def created_values(found: Creations) -> dict[str, Any]:
    """Returns plain values for JSON and YAML."""
    return {
        "ok": all(each.is_whole for _, _, each in found),
        "tables": [
            {
                "feed": feed,
                "table": name,
                "made": _placed(each.made),
                "present": _placed(each.present),
                "mistakes": [_finding(one.server, one.table, one.text) for one in each.mistakes],
                "failures": [_finding(one.server, one.table, one.text) for one in each.failures],
                "abandoned": [_finding(one.server, one.table, one.text) for one in each.abandoned],
            }
            for feed, name, each in found
        ],
    }


def _placed(tables: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"server": server, "table": name} for server, name in tables]


def _finding(server: str, name: str, text: str) -> dict[str, str | None]:
    return {"server": server, "table": name or None, "text": text}


def created_text(found: Creations) -> str:
    """Formats what was made as a table, with differences and failures below it."""
    if not found:
        return "no feed has an upsert table"
    rows = [row for feed, name, each in found for row in _rows(feed, name, each)]
    mistakes = [
        (one.server, one.table or "-", one.text) for _, _, each in found for one in each.mistakes
    ]
    failures = [
        f"problem: {one.server}: {f'{one.table}: ' if one.table else ''}{one.text}"
        for _, _, each in found
        for one in each.failures
    ]
    abandoned = [f"{one.table} {one.text}" for _, _, each in found for one in each.abandoned]
    parts = [
        table(HEADS, rows) if rows else "",
        table(MISTAKE_HEADS, mistakes) if mistakes else "",
        joined(failures) if failures else "",
        joined(abandoned) if abandoned else "",
    ]
    return "\n\n".join(filter(None, parts))


def _rows(feed: str, name: str, creation: TableCreation) -> list[tuple[str, ...]]:
    servers = dict.fromkeys(server for server, _ in (*creation.present, *creation.made))
    return [
        (
            feed,
            name,
            server,
            ", ".join(each for where, each in creation.made if where == server) or "-",
            ", ".join(each for where, each in creation.present if where == server) or "-",
        )
        for server in servers
    ]
