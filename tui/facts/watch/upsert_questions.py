"""Questions about upsert tables: their ticks in the ledger, the ends of their logs, and what the
servers of their shards have. Blocking."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from clickhouse_driver import Client
from clickhouse_driver.errors import ServerException

from aggregator.store.identifier import quoted
from aggregator.upsert.claims import TickRow, What, read_rows, settle_point
from aggregator.upsert.row_ends import read_ends
from aggregator.upsert.server_levels import read_sight
from aggregator.upsert.table_names import rows_table, ticks_table, updates_table
from aggregator.upsert.tick import TICK_MAX, Tick
from aggregator.upsert.tick_codec import UnreadableTick
from aggregator.upsert.tick_store import TickStore
from aggregator.upsert.upsert_schema import FIRST_GENERATION
from aggregator.upsert.version import RowEnd
from aggregator.upsert.visibility import SettlePoint, oldest_readable
from replicator.clickhouse.errors import code_of, reason
from replicator.clickhouse.server import ClickHouse
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import ClickHouseFeed, Feed
from replicator.config.topology import Appliance, KafkaCluster, UnknownRegion
from replicator.config.upsert_table import UpsertTable
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.topic import Topic
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered, Cluster
from replicator.kafka.tail.topic_tailer import LogUnreadable
from replicator.orders.feed_orders import FeedOrders
from replicator.orders.order_log import OrderLog
from replicator.runtime.store_errors import StoreUnreachable
from tui.facts.upsert_status import (
    LogPlace,
    ServerAnswer,
    UpsertFacts,
    UpsertStatus,
    upsert_status,
)
from tui.facts.watch.feed_intents import upsert_partitions
from tui.facts.watch.inquiry import Inquiry, Reply
from tui.facts.watch.order_watch import OrderWatch
from tui.facts.watch.shard_servers import ShardServers

LEDGER_FIRST_PART = 0.4
"""Part of the timeout in which the servers wait for the tick: its generation names the claims."""
MISSING = (60, 81)
"""Error codes of ClickHouse for tables and databases that are not there."""
STORED = """
SELECT sumIf(rows, table = %(rows)s), sum(bytes_on_disk) FROM system.parts
WHERE database = %(database)s AND active AND table IN %(tables)s
"""
UNSETTLED = "SELECT uniqExact(row_id) FROM {table} WHERE tick > %(settled)s AND tick <= %(claimed)s"


class LookRefused(Exception):
    """A server does not show what it has of a table."""


class EndsDropped(Exception):
    """Ends of rows that are not kept any more. Name a later tick."""


@dataclass(frozen=True, slots=True)
class LedgerTick:
    """Answer of the home cluster: the newest tick, or none yet."""

    tick: Tick | None


PROBLEMS = (Answered, LogUnreadable, Unreachable, UnreadableTick, TimeoutError, LookRefused)


@dataclass(frozen=True, slots=True)
class _AskedTable:
    feed: ClickHouseFeed
    table: UpsertTable
    ledger: Reply[LedgerTick]
    orders: Reply[OrderLog]
    logs: Mapping[ClusterName, Reply[Mapping[LogPlace, int]]]
    servers: Mapping[str, Reply[ServerAnswer]]


def upsert_now(
    appliance: Appliance,
    feeds: Sequence[Feed],
    tables: Sequence[str],
    timeout_seconds: float,
) -> UpsertStatus:
    """Asks all servers at once for the state of upsert tables.

    Args:
        tables: names; empty: all tables of the feeds.
    """
    inquiry = Inquiry(timeout_seconds, *PROBLEMS)
    having = [each for each in feeds if isinstance(each, ClickHouseFeed) and each.upsert_tables]
    clusters = dict.fromkeys(cluster for feed in having for cluster in feed.clusters)
    admins = {
        name: Admin(name, appliance.cluster(name), timeout_seconds, needs_configs=False)
        for name in clusters
    }
    topics = {
        name: inquiry.ask_cluster(name, admin.cluster, admin.topics)
        for name, admin in admins.items()
    }
    orders = {
        region: _ask_orders(inquiry, appliance, region)
        for region in dict.fromkeys(feed.region for feed in having)
    }
    asked = [
        _ask(inquiry, appliance, feed, table, admins, topics, orders[feed.region])
        for feed in having
        for table in feed.upsert_tables
        if not tables or table.name in tables
    ]
    now_ms = time.time_ns() // 1_000_000
    facts = [_facts(inquiry, each, now_ms) for each in asked]
    return upsert_status(facts, now_ms)


def _ask_orders(inquiry: Inquiry, appliance: Appliance, region: str) -> Reply[OrderLog]:
    name = ClusterName.aggregate(region)
    admin = Admin(name, appliance.cluster(name), inquiry.timeout_seconds, needs_configs=False)

    def read() -> OrderLog:
        watch = OrderWatch.of(admin)
        try:
            return watch.read()
        finally:
            watch.close()

    return inquiry.ask_cluster(name, admin.cluster, read)


def check_tables_named(feeds: Iterable[Feed], tables: Iterable[str]) -> None:
    """Raises UnknownRegion for a name that no upsert table of the feeds has, listing the known
    ones."""
    known = {table.name for feed in feeds for table in feed.upsert_tables}
    for name in tables:
        if name not in known:
            listed = ", ".join(sorted(known)) or "none"
            raise UnknownRegion(f"no upsert table {name!r}; known: {listed}")


def _ask(
    inquiry: Inquiry,
    appliance: Appliance,
    feed: ClickHouseFeed,
    table: UpsertTable,
    admins: Mapping[ClusterName, Admin],
    topics: Mapping[ClusterName, Reply[list[Topic]]],
    orders: Reply[OrderLog],
) -> _AskedTable:
    home = feed.home_of(table)
    seconds = inquiry.timeout_seconds
    ledger = inquiry.ask(
        home, partial(read_tick, home, appliance.cluster(home), feed, table, seconds)
    )
    logs = {
        name: inquiry.ask(name, partial(_ends, feed, table, admins[name]), after=[topics[name]])
        for name in feed.clusters
    }

    def server(address: ClickHouse) -> ServerAnswer:
        found = ledger.early(inquiry.left(LEDGER_FIRST_PART))
        tick = found.tick if found else None
        generation = tick.generation if tick else FIRST_GENERATION
        database = feed.shard_of_table(table).database
        with address.connected() as client, _tables_there(address):
            return read_server(client, database, table, generation)

    servers = {
        str(each.address): inquiry.ask(str(each.address), partial(server, each))
        for each in ShardServers(feed, feed.shard_number_of(table), seconds).servers()
    }
    return _AskedTable(feed, table, ledger, orders, logs, servers)


def _facts(inquiry: Inquiry, asked: _AskedTable, now_ms: int) -> UpsertFacts:
    ledger, orders = asked.ledger.answer(), asked.orders.answer()
    logs = {name: reply.answer() for name, reply in asked.logs.items()}
    servers = {name: reply.answer() for name, reply in asked.servers.items()}
    places = {str(asked.feed.home_of(asked.table)), *map(str, logs), *servers}
    places.add(str(ClusterName.aggregate(asked.feed.region)))
    return UpsertFacts(
        feed=asked.feed,
        table=asked.table,
        tick=ledger.tick if ledger else None,
        is_tick_known=ledger is not None,
        ends={place: end for found in logs.values() for place, end in (found or {}).items()},
        unknown_clusters=tuple(str(name) for name, found in logs.items() if found is None),
        orders=None if orders is None else FeedOrders.of(orders, asked.feed.name, now_ms),
        servers=servers,
        problems=tuple(text for name, text in inquiry.problems.items() if str(name) in places),
    )


def read_tick(
    name: ClusterName,
    settings: KafkaCluster,
    feed: Feed,
    table: UpsertTable,
    timeout_seconds: float,
) -> LedgerTick:
    """Returns the newest tick of a table. Must not be called from an event loop.

    Raises:
        Unreachable, Answered, TimeoutError: the home cluster gives no answer, or refuses.
        UnreadableTick: its offsets are no tick.
    """

    async def read() -> Tick | None:
        cluster = Cluster(name, settings, client_id="sluice-status")
        async with asyncio.timeout(timeout_seconds):
            await cluster.open()
            try:
                return await TickStore(cluster, feed.name, table.name).read()
            finally:
                await cluster.close()

    try:
        return LedgerTick(asyncio.run(read()))
    except TimeoutError:
        text = f"{name}: reading the tick took longer than {timeout_seconds:g} s"
        raise TimeoutError(text) from None


def _ends(
    feed: Feed, table: UpsertTable, admin: Admin, topics: Iterable[Topic]
) -> Mapping[LogPlace, int]:
    """Returns the log ends of a table's partitions. Raises AdminError."""
    name = ClusterName(admin.name)
    own = [topic for topic in topics if feed.upsert_table(topic.name) == table]
    ids = {topic.name: topic.topic_id for topic in own}
    partitions = upsert_partitions(feed, name, own)
    ends = admin.offsets([(each.topic, each.partition) for each in partitions], "latest")
    return {
        LogPlace(str(name), place.topic, ids[place.topic], place.partition): end
        for place, end in ends.items()
    }


@contextmanager
def _tables_there(server: ClickHouse) -> Iterator[None]:
    """Raises LookRefused in place of the error of a server that lacks the tables."""
    try:
        yield
    except ServerException as error:
        if code_of(error) not in MISSING:
            raise
        raise LookRefused(
            f"ClickHouse at {server.address}: {reason(error)}; run `sluice upsert create`"
        ) from None


def ends_after(
    feed: ClickHouseFeed,
    table: UpsertTable,
    since: int,
    until: int | None,
    lanes: Sequence[int],
    timeout_seconds: float,
    generation: int = FIRST_GENERATION,
) -> Iterator[RowEnd]:
    """Yields the ends of rows of the ticks after one, from the first server that has all of them.

    Args:
        until: last tick; None: the newest claimed one.
        lanes: of the rows that ended; empty: all.

    Raises:
        LookRefused: no server is known to have them.
        EndsDropped: those of the first ticks are not kept any more.
        StoreUnreachable: the server went away meanwhile.
    """
    database = feed.shard_of_table(table).database
    problems = []
    for server in ShardServers(feed, feed.shard_number_of(table), timeout_seconds).servers():
        has_begun = False
        try:
            with server.connected() as client, _tables_there(server):
                found = read_server(client, database, table, generation)
                claimed = found.claim.tick if found.claim else 0
                if found.is_whole and claimed >= (until or 0):
                    check_kept(since, found.oldest)
                    has_begun = True
                    yield from read_ends(
                        client,
                        database,
                        table.name,
                        after=since,
                        up_to=claimed if until is None else until,
                        lanes=lanes,
                    )
                    return
                problems.append(f"{server.address} lacks ticks: it knows {claimed}")
        except (StoreUnreachable, LookRefused) as error:
            if has_begun:
                raise
            problems.append(str(error))
    raise LookRefused("; ".join(problems))


def check_kept(since: int, oldest: int) -> None:
    """Raises EndsDropped if ends after a tick may be dropped already.

    Args:
        oldest: tick that may be read; ends up to it may be dropped.
    """
    if since < oldest:
        raise EndsDropped(
            f"events after tick {since} may be dropped already; those after tick {oldest} are kept"
        )


def read_server(client: Client, database: str, table: UpsertTable, generation: int) -> ServerAnswer:
    """Returns what a server has of a table. Raises the errors of the driver and of the socket."""
    name = table.name

    def rows(what: What, *, first: int = 0, is_newest: bool = False) -> Sequence[TickRow]:
        return read_rows(
            client,
            database,
            name,
            what,
            generation,
            first=first,
            is_newest=is_newest,
            is_consistent=False,
        )

    claims = rows(What.CLAIM, is_newest=True)
    # What was committed before the claim has to be there, if the server is complete behind it.
    sight = read_sight(client, database, name)
    horizons = rows(What.HORIZON, is_newest=True)
    points = rows(What.SETTLED, first=horizons[0].tick if horizons else 0)
    own = settle_point(points, TICK_MAX, sight.server)
    claim = claims[0] if claims else None
    newest = claim.time_ms if claim else 0
    wanted = {"settled": own, "claimed": claim.tick if claim else 0}
    query = UNSETTLED.format(table=quoted(database, updates_table(name)).replace("%", "%%"))
    [(unsettled,)] = client.execute(query, wanted)
    tables = (rows_table(name), updates_table(name), ticks_table(name))
    sums = {"database": database, "rows": tables[0], "tables": tables}
    [(stored, size)] = client.execute(STORED, sums)
    return ServerAnswer(
        claim=claim,
        settled=next((each for each in points if each.tick == own), None),
        oldest=oldest_readable(
            [SettlePoint(each.tick, each.time_ms) for each in points],
            newest,
            table.history_seconds,
            before=max((each.tick for each in horizons), default=0),
        ),
        is_whole=sight.has_rows and sight.has_updates and sight.has_ticks,
        unsettled=unsettled,
        rows=stored,
        bytes=size,
        horizon=horizons[0].tick if horizons else 0,
    )
