"""Check of upsert tables on the servers of their shards: columns, keys and engines of the tables
that keep them. Blocking; changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from aggregator.store.shard_store import ShardStore, StoreTimeouts
from aggregator.upsert.table_creation import TableCreation, create_tables
from replicator.clickhouse.server import ClickHouse
from replicator.config.feed_settings import ClickHouseFeed, Feed
from replicator.config.upsert_table import UpsertTable
from tui.facts.feed_findings import FeedCheck, Finding
from tui.facts.upsert_findings import store_findings
from tui.facts.watch.inquiry import Inquiry, Reply
from tui.facts.watch.shard_servers import ShardServers


@dataclass(frozen=True, slots=True)
class AskedTable:
    """Upsert table whose servers were asked.

    Args:
        reply: the servers of its shard, and what a creation would find.
    """

    table: UpsertTable
    database: str
    reply: Reply[tuple[Sequence[str], TableCreation]]

    def findings(self, inquiry: Inquiry) -> Iterator[Finding]:
        """Yields what differs from the settings; nothing about servers whose silence is a problem
        of the inquiry already."""
        if (found := self.reply.answer()) is not None:
            servers, look = found
            silent = inquiry.problems.keys()
            yield from store_findings(self.table, self.database, servers, look, silent)


def ask_tables(inquiry: Inquiry, feeds: Iterable[Feed]) -> list[AskedTable]:
    """Asks the servers of all upsert tables of these feeds, all tables at once."""
    return [
        _ask_table(inquiry, feed, table)
        for feed in feeds
        if isinstance(feed, ClickHouseFeed)
        for table in feed.upsert_tables
    ]


def check_tables(feeds: Iterable[Feed], timeout_seconds: float) -> FeedCheck:
    """Compares the upsert tables of feeds with what their servers have."""
    inquiry = Inquiry(timeout_seconds)
    having = [each for each in feeds if isinstance(each, ClickHouseFeed) and each.upsert_tables]
    calls = [
        inquiry.ask(str(server.address), partial(_call, server))
        for feed in having
        for number in {feed.shard_number_of(table) for table in feed.upsert_tables}
        for server in ShardServers(feed, number, timeout_seconds).servers()
    ]
    tables = ask_tables(inquiry, having)
    for call in calls:
        call.answer()
    found = dict.fromkeys(finding for table in tables for finding in table.findings(inquiry))
    return FeedCheck(
        tuple(feed.name for feed in having),
        tuple(found),
        tuple(dict.fromkeys(inquiry.problems.values())),
    )


def _call(server: ClickHouse) -> bool:
    """Connects to a server. Raises StoreUnreachable."""
    with server.connected():
        return True


def _ask_table(inquiry: Inquiry, feed: ClickHouseFeed, table: UpsertTable) -> AskedTable:
    shard, seconds = feed.shard_of_table(table), inquiry.timeout_seconds

    def look() -> tuple[Sequence[str], TableCreation]:
        store = ShardStore(shard, StoreTimeouts(insert=seconds), feed=feed.name, kept=0)
        try:
            return tuple(map(str, store.replicas)), create_tables(store, table, is_dry=True)
        finally:
            store.close()

    reply = inquiry.ask(f"{shard.database}.{table.name}", look)
    return AskedTable(table, shard.database, reply)
