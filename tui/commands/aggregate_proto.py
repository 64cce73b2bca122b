"""sluice aggregate proto: the Protobuf messages of a table's row batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.options import config_option, timeout_option

if TYPE_CHECKING:
    from aggregator.tables.table_schema import TableSchema
    from replicator.config.feed_settings import ClickHouseFeed
    from tui.facts.watch.shard_servers import ShardServers


@click.command()
@config_option
@click.option("--feed", "feed_name", required=True, metavar="FEED", help="A feed of the table.")
@click.option("--table", required=True, metavar="TABLE", help="The table.")
@timeout_option(10.0)
def proto(config: str, feed_name: str, table: str, timeout: float) -> int:
    """Print the .proto file with which programs write row batches of a table.

    It has a field for each column of now, and the hash of these columns. See "Formats" in
    docs/aggregate.md.
    """
    from aggregator.formats.row_batch_type import proto_text
    from replicator.config.feed_settings import ClickHouseFeed
    from replicator.config.topology import load

    feed = load(config).feed(feed_name)
    if not isinstance(feed, ClickHouseFeed):
        raise click.UsageError(f"feed {feed_name} has no tables: its kind is {feed.kind}")
    click.echo(proto_text(table_columns(feed, table, timeout)), nl=False)
    return ExitCode.DONE


class NoTable(Exception):
    """The feed's shards have no such table, or tables that differ. Name another one."""


def table_columns(feed: ClickHouseFeed, table: str, timeout_seconds: float) -> TableSchema:
    """Returns the columns of a table, by the first replica of each shard that answers.

    Raises:
        NoTable: no shard has the table, or two have it with different columns.
        StoreUnreachable: no replica of a shard answers.
    """
    from tui.facts.watch.shard_servers import ShardServers

    shards = range(len(feed.shards))
    return common(
        table,
        {number: _read(ShardServers(feed, number, timeout_seconds), table) for number in shards},
    )


def common(table: str, found: Mapping[int, TableSchema | None]) -> TableSchema:
    """Returns the columns that all shards with the table have; raises NoTable.

    Args:
        found: by number of the shard.
    """
    known = {number: schema for number, schema in found.items() if schema}
    if not known:
        raise NoTable(f"there is no table {table!r} in the feed's shards")
    first, *others = known
    for other in others:
        if known[other].hash != known[first].hash:
            raise NoTable(f"{table!r} has other columns in shards[{other}] than in shards[{first}]")
    return known[first]


def _read(shard: ShardServers, table: str) -> TableSchema | None:
    from aggregator.store.schema_reader import read_schemas
    from replicator.runtime.store_errors import StoreUnreachable

    problems: list[str] = []
    for server in shard.servers():
        try:
            with server.connected() as client:
                return read_schemas(client, server.address.database).get(table)
        except StoreUnreachable as problem:
            problems.append(str(problem))
    raise StoreUnreachable("; ".join(problems))
