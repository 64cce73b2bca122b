"""sluice upsert status, events: what upsert tables hold, and why rows ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.feed_context import feed_option, feeds_option, region_option
from tui.commands.options import config_option, output_option, timeout_option
from tui.commands.output import emit, is_printed
from tui.commands.text import joined, table

if TYPE_CHECKING:
    from aggregator.upsert.version import RowEnd
    from tui.facts.upsert_status import UpsertStatus, UpsertTableView

TABLE_HEADS = (
    *("FEED", "TABLE", "TICK", "CLAIMED", "AGE S", "SETTLED", "SETTLED S", "OLDEST"),
    *("UNSETTLED", "PARTS", "LAG"),
)
PARTITION_HEADS = ("FEED", "TABLE", "SEGMENT", "CLUSTER", "TOPIC", "PART", "NEXT", "END", "LAG")
SERVER_HEADS = ("FEED", "TABLE", "SERVER", "CLAIMED", "SETTLED", "WHOLE", "ROWS", "MIB")
EVENT_HEADS = ("TICK", "KIND", "SEGMENT", "OFFSET", "ROW", "BY ROW", "KEY")
EVENT_LINE = "{:>10}  {:<10}  {:>7}  {:>12}  {:>19}  {:>19}  {}"
MIB = 1 << 20
tables_option = click.option(
    "--table", "tables", metavar="TABLE", multiple=True, help="Only this table. Repeatable."
)


@click.command()
@config_option
@region_option
@feeds_option
@tables_option
@click.option("--partitions", is_flag=True, help="Also a line for each input partition.")
@timeout_option(5.0)
@output_option
def status(
    config: str,
    region: str | None,
    feeds: tuple[str, ...],
    tables: tuple[str, ...],
    partitions: bool,
    timeout: float,
    output: str,
) -> int:
    """Show the ticks of upsert tables, and what their servers have.

    TICK is the newest one that is cut; CLAIMED the newest one that may be read, and AGE S its age.
    SETTLED is the newest tick whose ends are in the rows of all servers that answer; UNSETTLED
    counts the ends behind it. OLDEST is the oldest tick that may be read. WHOLE says whether a
    server has all that was committed. Lines below name partitions that are stopped or frozen.
    Unknown values are shown as ? (null in JSON and YAML), never as 0. Exits with 3 when a server
    could not be reached; everything that is known is shown all the same.
    """
    from replicator.config.topology import load
    from tui.facts.feed_scope import selected_feeds
    from tui.facts.watch.upsert_questions import check_tables_named, upsert_now

    appliance = load(config)
    chosen = selected_feeds(appliance, region, feeds)
    check_tables_named(chosen, tables)
    found = upsert_now(appliance, chosen, tables, timeout)
    emit(output, found, lambda: status_text(found, by_partition=partitions))
    return ExitCode.UNREACHABLE if found.problems else ExitCode.DONE


@click.command()
@config_option
@feed_option
@click.option("--table", "table_name", required=True, metavar="TABLE", help="The upsert table.")
@click.option(
    "--since",
    type=click.IntRange(min=0),
    required=True,
    metavar="TICK",
    help="Ticks after this one.",
)
@click.option(
    "--until", type=click.IntRange(min=1), metavar="TICK", help="Last tick. Default: the newest."
)
@click.option(
    "--segment",
    "segments",
    type=click.IntRange(min=0),
    multiple=True,
    help="Only rows of this input partition, as `status --partitions` numbers it. Repeatable.",
)
@timeout_option(15.0)
@output_option
def events(
    config: str,
    feed_name: str,
    table_name: str,
    since: int,
    until: int | None,
    segments: tuple[int, ...],
    timeout: float,
    output: str,
) -> int:
    """Print why and when rows ended: the segment update events, a line each, as they come.

    They come by tick and row. SEGMENT and OFFSET are those of the row that ended; BY ROW is the row
    that ended it. With -o json or yaml each line is a document, with rows as texts. Exits with 4
    when events after --since may be dropped already, and with 3 when no server has all that are
    asked for.
    """
    from replicator.config.feed_settings import ClickHouseFeed
    from replicator.config.topology import load
    from tui.facts.watch.upsert_questions import check_tables_named, ends_after

    feed = load(config).feed(feed_name)
    check_tables_named([feed], [table_name])
    assert isinstance(feed, ClickHouseFeed)
    found = ends_after(feed, feed.tables[table_name], since, until, segments, timeout)
    all(map(is_printed, event_lines(found, output)))
    return ExitCode.DONE


def event_lines(ends: Iterable[RowEnd], output: str) -> Iterator[str]:
    """Yields a line for each end of a row, and a head where people read it."""
    import json

    if output == "table":
        yield EVENT_LINE.format(*EVENT_HEADS)
    for end in ends:
        values = {
            "tick": end.tick,
            "kind": str(end.kind),
            "segment": end.lane,
            "offset": end.offset,
            # Programs that read numbers as floats would take two rows for one.
            "row": str(end.row_id),
            "by_row": str(end.by_row_id),
            "key": end.key.hex(),
        }
        if output == "table":
            yield EVENT_LINE.format(*values.values())
        else:
            # A document of JSON on one line is one of YAML as well.
            yield json.dumps(values)


def status_text(found: UpsertStatus, *, by_partition: bool = False) -> str:
    """Formats tables, servers and, if asked for, partitions, with the remarks below."""
    if not found.tables:
        return "no feed has an upsert table"
    parts = [table(TABLE_HEADS, map(_table_row, found.tables))]
    if by_partition:
        rows = [row for each in found.tables for row in _partition_rows(each)]
        parts.append(table(PARTITION_HEADS, rows) if rows else "no partition is known")
    parts.append(table(SERVER_HEADS, [row for each in found.tables for row in _server_rows(each)]))
    if lines := joined(remarks(found)):
        parts.append(lines)
    return "\n\n".join(parts)


def remarks(found: UpsertStatus) -> Iterator[str]:
    """Yields what keeps a table back, and problems of servers."""
    for each in found.tables:
        name = f"{each.feed} {each.table}"
        if each.tick is not None and each.claimed is not None:
            if each.tick == 0:
                yield f"no tick: {name}: no coordinator has cut one yet"
            elif each.tick == each.claimed + 1:
                yield f"under way: {name}: tick {each.tick} is cut, and not claimed yet"
            elif each.tick > each.claimed:
                yield (
                    f"behind: {name}: tick {each.tick} is cut, and the servers that answer know of "
                    f"claims up to {each.claimed}"
                )
        if each.are_ends_lost:
            yield (
                f"ends lost: {name}: no server that answers has a settle point at or behind the "
                "horizon, so that all queries are refused; see docs/upsert.md, Lost ends"
            )
        for part in each.partitions:
            if part.stopped is not None:
                place = f"{part.cluster} {part.topic}-{part.partition}"
                yield f"stopped: {name} {place}: {part.stopped}"
        yield from _freezes(each)
    for problem in found.problems:
        yield f"problem: {problem}"


def _freezes(each: UpsertTableView) -> Iterator[str]:
    """Yields a line for each freeze: of the whole table, or of some of its partitions."""
    name = f"{each.feed} {each.table}"
    if not each.are_orders_known:
        yield f"unknown: {name}: whether partitions of it are frozen"
    for freeze in dict.fromkeys(part.frozen for part in each.partitions):
        if freeze is None:
            continue
        own = [part for part in each.partitions if part.frozen == freeze]
        places = ", ".join(f"{part.cluster} {part.topic}-{part.partition}" for part in own)
        where = "all of it" if len(own) == len(each.partitions) else places
        yield f"frozen: {name}: {where}, {freeze}"


def _table_row(each: UpsertTableView) -> tuple[Any, ...]:
    return (
        each.feed,
        f"{each.database}.{each.table}",
        each.tick,
        each.claimed,
        each.claimed_age_seconds,
        each.settled,
        each.settled_age_seconds,
        each.oldest,
        each.unsettled_events,
        None if each.tick is None and not each.partitions else len(each.partitions),
        each.lag,
    )


def _partition_rows(each: UpsertTableView) -> Iterator[tuple[Any, ...]]:
    for part in each.partitions:
        yield (
            each.feed,
            each.table,
            part.lane,
            part.cluster,
            part.topic,
            part.partition,
            part.next_offset,
            part.end,
            part.lag,
        )


def _server_rows(each: UpsertTableView) -> Iterator[tuple[Any, ...]]:
    for server in each.servers:
        whole = None if server.is_whole is None else "yes" if server.is_whole else "no"
        yield (
            each.feed,
            each.table,
            server.server,
            server.claimed,
            server.settled,
            whole,
            server.rows,
            None if server.bytes is None else server.bytes / MIB,
        )
