"""Columns of one table of a feed, as the servers of its shards have them. Blocking."""

from __future__ import annotations

from collections.abc import Mapping

from aggregator.store.schema_reader import read_schemas
from aggregator.tables.table_schema import TableSchema
from replicator.config.feed_settings import ClickHouseFeed
from replicator.runtime.store_errors import StoreUnreachable
from tui.facts.watch.shard_servers import ShardServers


class NoTable(Exception):
    """The feed's shards have no such table, or tables that differ. Name another one."""


def table_columns(feed: ClickHouseFeed, table: str, timeout_seconds: float) -> TableSchema:
    """Returns the columns of a table, by the first replica of each shard that answers.

    Raises:
        NoTable: no shard has the table, or two have it with different columns.
        StoreUnreachable: no replica of a shard answers.
    """
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
    problems: list[str] = []
    for server in shard.servers():
        try:
            with server.connected() as client:
                return read_schemas(client, server.address.database).get(table)
        except StoreUnreachable as problem:
            problems.append(str(problem))
    raise StoreUnreachable("; ".join(problems))
