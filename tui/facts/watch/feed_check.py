"""Check of feeds on their servers: asks all replicas and clusters. Blocking."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from clickhouse_driver import Client
from clickhouse_driver.errors import ServerException

from aggregator.loader.object_sink import trial_store
from aggregator.objects.prefix_claim import PrefixClaim, below
from aggregator.s3.answers import StoreProblem
from aggregator.s3.store_trial import Condition, StoreRefusal, tried
from aggregator.store.identifier import quoted
from aggregator.store.schema_reader import TableFacts, read_tables
from aggregator.store.server_features import read_features
from replicator.clickhouse.errors import reason
from replicator.clickhouse.server import ClickHouse
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import ClickHouseFeed, Feed
from replicator.config.object_feed import ObjectFeed
from replicator.config.topology import Appliance, sources_by
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.listening import check_listening
from replicator.kafka.admin.topic import Topic
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered
from replicator.runtime.store_errors import StoreUnreachable
from tui.facts.feed_findings import (
    FeedCheck,
    Finding,
    ReplicaFacts,
    Replication,
    ShardFacts,
    findings,
    schema_findings,
)
from tui.facts.feed_overlaps import Overlap, overlaps
from tui.facts.upsert_findings import resting_findings, topic_findings, type_findings
from tui.facts.watch.feed_intents import loaded_partitions, read_intents, upsert_partitions
from tui.facts.watch.inquiry import Inquiry, Reply
from tui.facts.watch.shard_servers import ShardServers
from tui.facts.watch.upsert_check import ask_tables

TOPICS_FIRST_PART = 0.5
"""Part of the timeout in which the replicas wait for the clusters' topics."""
Topics = Mapping[ClusterName, list[Topic] | None]
"""Topics by cluster; None for a cluster that did not list them."""
# The transaction that made a node tells apart tables of one path in two ZooKeepers.
BIRTH = "SELECT czxid FROM system.zookeeper WHERE path = %(path)s AND name = 'replicas'"
REPLICATION = """
SELECT table, zookeeper_path, replica_name, active_replicas, is_readonly FROM system.replicas
WHERE database = %(database)s
"""
LOOKS = ("system.parts", "system.processes")
"""System tables by which loaders recognize blocks."""
UNTRIED = "is not claimed yet: `sluice aggregate` claims it, and tries the store's condition then"


def check_feeds(appliance: Appliance, feeds: Sequence[Feed], timeout_seconds: float) -> FeedCheck:
    """Checks feeds on their servers; an unreachable one becomes a problem.

    For each table an insert of no rows is made: it needs the rights of an insert, and stores
    nothing. So does an upload that is begun and aborted, for each store of objects.
    """
    inquiry = Inquiry(timeout_seconds, StoreProblem, Answered, Unreachable)
    clusters = dict.fromkeys(cluster for feed in feeds for cluster in feed.clusters)
    admins = {name: Admin(name, appliance.cluster(name), timeout_seconds) for name in clusters}
    listed = {
        name: inquiry.ask_cluster(name, admin.cluster, admin.topics)
        for name, admin in admins.items()
    }
    stores = ask_stores(inquiry, feeds, admins)
    shards = [
        (feed, number)
        for feed in feeds
        if isinstance(feed, ClickHouseFeed)
        for number in range(len(feed.shards))
    ]
    tables = ask_tables(inquiry, feeds)
    asked = [_ask_replicas(inquiry, *shard, listed) for shard in shards]
    topics = {name: reply.answer() for name, reply in listed.items()}
    facts = [
        replace(_topic_facts(*shard, topics), replicas=_answers(replies))
        for shard, replies in zip(shards, asked, strict=True)
    ]
    outage_seconds = appliance.aggregator.stale_seconds
    found = [finding for each in facts for finding in findings(each, outage_seconds)]
    found += [finding for each in facts for finding in schema_findings(each)]
    found += [
        each.finding
        for each in overlaps(facts, sources_by(appliance.routes))
        if _is_one_table(each, timeout_seconds)
    ]
    found += [finding for each in stores for finding in each.answer() or ()]
    found += _of_upsert_tables(inquiry, appliance, feeds, topics)
    found += [finding for table in tables for finding in table.findings(inquiry)]
    return FeedCheck(
        tuple(feed.name for feed in feeds),
        tuple(dict.fromkeys(found)),
        tuple(dict.fromkeys(inquiry.problems.values())),
    )


def _of_upsert_tables(
    inquiry: Inquiry, appliance: Appliance, feeds: Sequence[Feed], topics: Topics
) -> Iterator[Finding]:
    """Yields what is found about upsert tables; nothing is asked for feeds without any."""
    resting = []
    for feed in feeds:
        for cluster in feed.clusters if feed.upsert_tables else ():
            if partitions := upsert_partitions(feed, cluster, topics[cluster] or ()):
                settings, seconds = appliance.cluster(cluster), inquiry.timeout_seconds
                read = partial(read_intents, cluster, settings, feed, partitions, seconds)
                resting.append((feed, inquiry.ask(cluster, read)))
    for feed in feeds:
        if feed.upsert_tables:
            known = [topics[cluster] for cluster in feed.clusters]
            names = {topic.name for some in known for topic in some or ()}
            yield from type_findings(feed)
            yield from topic_findings(feed, None if None in known else names)
    for feed, reply in resting:
        yield from resting_findings(feed, reply.answer() or {})


def _topic_facts(feed: ClickHouseFeed, number: int, topics: Topics) -> ShardFacts:
    """Returns what is known of a shard before its replicas have answered."""
    counts: dict[str, int] | None = {}
    read: set[tuple[ClusterName, str]] = set()
    for cluster in feed.clusters:
        found = topics[cluster]
        if found is None:
            counts = None
            continue
        for partition in loaded_partitions(feed, cluster, found):
            if feed.shard_number(partition.topic) == number:
                read.add((cluster, partition.topic))
                if counts is not None:
                    counts[partition.topic] = counts.get(partition.topic, 0) + 1
    return ShardFacts(feed, number, counts, (), frozenset(read))


def _ask_replicas(
    inquiry: Inquiry,
    feed: ClickHouseFeed,
    number: int,
    listed: Mapping[ClusterName, Reply[list[Topic]]],
) -> list[Reply[ReplicaFacts]]:
    """Asks all replicas of a shard, once it is known which tables have to be there."""

    def replica(server: ClickHouse) -> ReplicaFacts:
        # Without the topics all tables of the database are checked.
        topics = {
            name: reply.early(inquiry.left(TOPICS_FIRST_PART)) for name, reply in listed.items()
        }
        return _replica_facts(server, _topic_facts(feed, number, topics))

    servers = ShardServers(feed, number, inquiry.timeout_seconds).servers()
    return [inquiry.ask(str(server.address), partial(replica, server)) for server in servers]


def _answers(replies: Iterable[Reply[ReplicaFacts]]) -> tuple[ReplicaFacts, ...]:
    found = [reply.answer() for reply in replies]
    return tuple(each for each in found if each is not None)


def _is_one_table(overlap: Overlap, timeout_seconds: float) -> bool:
    """Returns False if two shards have tables of one path in different ZooKeepers."""
    if overlap.path is None:
        return True
    births = [birth(each, overlap.path, timeout_seconds) for each in (overlap.one, overlap.other)]
    return None in births or births[0] == births[1]


def birth(facts: ShardFacts, path: str, timeout_seconds: float) -> int | None:
    """Returns the ZooKeeper transaction that made a table; None if no replica says it."""
    for server in ShardServers(facts.feed, facts.number, timeout_seconds).servers():
        with suppress(StoreUnreachable, ServerException), server.connected() as client:
            for (born,) in client.execute(BIRTH, {"path": path}):
                return int(born)
    return None


def _replica_facts(server: ClickHouse, asked: ShardFacts) -> ReplicaFacts:
    """Asks one replica. Raises StoreUnreachable."""
    database = asked.shard.database
    with server.connected() as client:
        features = read_features(client)
        tables = read_tables(client, database, features)
        rows = client.execute(REPLICATION, {"database": database})
        return ReplicaFacts(
            address=str(server.address),
            version=features.version,
            tables=tables,
            replication={
                table: Replication(path, replica, active, bool(is_readonly))
                for table, path, replica, active, is_readonly in rows
            },
            refused=dict(_refusals(client, database, tables, asked.tables)),
        )


def _refusals(
    client: Client, database: str, tables: dict[str, TableFacts], wanted: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yields what the user may not do, with the reason."""
    queries = {f"reading {name}": f"SELECT 1 FROM {name} LIMIT 1" for name in LOOKS}
    for table in wanted or sorted(tables):
        if table in tables and not tables[table].kind.refusal:
            name = quoted(database, table)
            queries[f"reading {database}.{table}"] = f"SELECT * FROM {name} LIMIT 0"
            insert = f"INSERT INTO {name} SELECT * FROM {name} WHERE 0"
            queries[f"an insert into {database}.{table}"] = insert
    for what, query in queries.items():
        try:
            client.execute(query)
        except ServerException as error:
            yield what, reason(error)


def ask_stores(
    inquiry: Inquiry, feeds: Iterable[Feed], admins: Mapping[ClusterName, Admin]
) -> list[Reply[list[Finding]]]:
    """Tries the store of each feed into objects, for each cluster. Nothing is written that was not
    there before; an upload is begun and aborted.

    Args:
        inquiry: takes StoreProblem as a problem of a server.
        admins: of the clusters that the feeds read.
    """
    return [
        inquiry.ask(_place(feed, name), partial(_findings, feed, name, admins[name]))
        for feed in feeds
        if isinstance(feed, ObjectFeed)
        for name in feed.clusters
    ]


def _findings(feed: ObjectFeed, name: ClusterName, admin: Admin) -> list[Finding]:
    """Raises StoreProblem, AdminError."""
    check_listening(admin.name, admin.cluster)
    claim, where = PrefixClaim(feed.name, str(name), admin.cluster_id()), _place(feed, name)
    try:
        condition = tried(trial_store(feed), feed.prefix_of(name), claim, is_claiming=False)
    except StoreRefusal as refusal:
        return [Finding(where, f"feed {feed.name} does not start: {refusal}")]
    if condition is Condition.HONOURED:
        return []
    return [Finding(where, condition.value if condition else UNTRIED, is_mistake=False)]


def _place(feed: ObjectFeed, name: ClusterName) -> str:
    return f"{feed.bucket}/{below(feed.prefix_of(name), '')}"
