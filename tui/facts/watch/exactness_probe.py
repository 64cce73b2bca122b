"""Exactness probe: asks clusters and stores what the diagnoses of exactness need. Blocking.

Nothing is changed. `__consumer_offsets`, the topics of dead letters and those of objects are read
whole, and each partition's rows are grouped by their coordinates on every replica.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar
from uuid import UUID

from clickhouse_driver import Client

from aggregator.intents.intent import Intent
from aggregator.loader.produced import HEADER_PREFIX, MESSAGE_BYTES_MAX
from aggregator.s3.object_listing import told_objects
from aggregator.store.identifier import quoted
from aggregator.store.schema_reader import read_tables
from aggregator.store.shard_store import DRIVER_ERRORS
from aggregator.tables.table_schema import INCARNATION, TableSchema
from aggregator.verifier.cluster_judge import ClusterJudge
from aggregator.verifier.commit_reader import group_commits, judged_to_end
from aggregator.verifier.owners import Owners, judged_clusters
from aggregator.verifier.topic_records import NotRead, TopicRecords
from replicator.clickhouse.server import ClickHouse
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import ClickHouseFeed, Feed
from replicator.config.names import dead_letter_topic
from replicator.config.object_feed import ObjectFeed
from replicator.config.topology import Appliance
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.admin.listening import check_listening
from replicator.kafka.admin.topic import Topic
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered, Cluster
from replicator.kafka.client.progress_expiry import ProgressExpiry, read_expiry
from replicator.kafka.tail.topic_tailer import LogUnreadable
from replicator.runtime.error_text import error_text
from replicator.runtime.store_errors import StoreUnreachable
from tui.facts import exactness
from tui.facts.exactness import Diagnosis, DoubledRows, EntryFacts, Exactness, OwnerFacts
from tui.facts.watch.shard_servers import ShardServers

FAILURES = (AdminError, Answered, LogUnreadable, NotRead, OSError, Unreachable, TimeoutError)
THREADS = 8
T = TypeVar("T")
PARTITIONS = """
SELECT DISTINCT toString(_cluster), toString(_topic), toInt64(_partition) FROM {table}
"""
DOUBLED = """
SELECT toInt64(count()), toInt64(sum(n)) - toInt64(count()), toInt64(min(_offset)),
    toInt64(max(_offset))
FROM (
    SELECT {identity}, count() AS n FROM {table}
    WHERE _cluster = %(cluster)s AND _topic = %(topic)s AND _partition = %(partition)s
    GROUP BY {identity} HAVING n > 1
)
"""

Question = Callable[[], Iterator[Diagnosis]]


@dataclass(frozen=True, slots=True)
class ExactnessProbe:
    """Probe of one region. All servers are asked at once.

    Args:
        timeout_seconds: for each answer of a server.
        say: told what is looked at next, for people who wait.
    """

    appliance: Appliance
    region: str
    timeout_seconds: float
    say: Callable[[str], object] = lambda _: None

    def run(self) -> Exactness:
        """Asks all servers. Raises NothingJudged, UnknownRegion."""
        clusters = judged_clusters(self.appliance, self.region)
        questions: list[tuple[str, Question]] = [
            (str(name), partial(self._of_cluster, name, owners))
            for name, owners in clusters.items()
        ]
        for feed in self.appliance.feeds_of(self.region):
            questions += self._of_store(feed)
        with ThreadPoolExecutor(THREADS) as threads:
            answers = list(threads.map(answered, *zip(*questions, strict=True)))
        return Exactness(
            self.region,
            tuple(sorted({each for found, _ in answers for each in found})),
            tuple(dict.fromkeys(problem for _, problem in answers if problem)),
        )

    # -- clusters

    def _of_cluster(self, name: ClusterName, owners: Owners) -> Iterator[Diagnosis]:
        settings = self.appliance.cluster(name)
        check_listening(name, settings)
        self.say(f"progress entries in {name}")
        admin = Admin(name, settings, self.timeout_seconds)
        topics = {topic.name: topic for topic in admin.topics()}
        judge = ClusterJudge(name, owners, int(self.appliance.aggregator.skew_seconds * 1000))
        # What it finds is for `sluice verify check` to tell; only the entries are wanted.
        deque(judged_to_end(judge, group_commits(judge, settings, admin), self.timeout_seconds), 0)
        progress_expiry = asyncio.run(self._asked(name, read_expiry))
        now_ms = time.time_ns() // 1_000_000
        ids = {topic.name: topic.topic_id for topic in topics.values()}
        for facts in owner_facts(name, owners, judge, progress_expiry, ids):
            yield from exactness.expiry(facts, now_ms)
            yield from exactness.recreated(facts)
            if facts.is_feed:
                yield from exactness.loader_clocks(facts)
                stale_seconds = self.appliance.aggregator.stale_seconds
                old = exactness.may_stand_still(facts, now_ms, stale_seconds)
                unread = self._unread(name, old)
                yield from exactness.standing_still(facts, unread, now_ms)
                letters = topics.get(dead_letter_topic(facts.owner.removeprefix("feed ")))
                yield from self._of_letters(name, facts, letters)

    def _unread(self, name: ClusterName, entries: Sequence[EntryFacts]) -> list[EntryFacts]:
        """Returns the entries behind whose offset the log has committed records."""
        if not entries:
            return []
        topics = {each.topic for each in entries}
        return asyncio.run(self._asked(name, partial(self._with_records, entries), *topics))

    async def _with_records(
        self, entries: Sequence[EntryFacts], cluster: Cluster
    ) -> list[EntryFacts]:
        records, found = TopicRecords(cluster, self.timeout_seconds), []
        for each in entries:
            begin = max(each.offset, await cluster.log_start(*each.place))
            end = await cluster.log_end(*each.place)
            async for _ in records.slices(*each.place, begin, end):
                found.append(each)
                break
        return found

    def _of_letters(
        self, name: ClusterName, facts: OwnerFacts, topic: Topic | None
    ) -> Iterator[Diagnosis]:
        held: Mapping[tuple[str, int], int] = {}
        if topic is not None:
            yield from exactness.letter_limits(name, topic, MESSAGE_BYTES_MAX)
            self.say(f"dead letters in {topic.name} of {name}")
            held = asyncio.run(self._asked(name, partial(self._held, topic), topic.name))
        yield from exactness.letters(facts, held)

    async def _held(self, topic: Topic, cluster: Cluster) -> Counter[tuple[str, int]]:
        """Returns the number of dead letters by topic and partition of their records."""
        records = TopicRecords(cluster, self.timeout_seconds)
        found: set[tuple[str, int, int]] = set()
        for number in range(topic.partitions):
            begin = await cluster.log_start(topic.name, number)
            end = await cluster.log_end(topic.name, number)
            async for part in records.slices(topic.name, number, begin, end):
                headers = map(part.headers_at, range(len(part)))
                found.update(filter(None, map(coordinates, headers)))
        return Counter((topic, partition) for topic, partition, _ in found)

    async def _asked(
        self, name: ClusterName, ask: Callable[[Cluster], Awaitable[T]], *topics: str
    ) -> T:
        """Asks a cluster, with these topics known."""
        cluster = Cluster(name, self.appliance.cluster(name), client_id="sluice-doctor")
        try:
            async with asyncio.timeout(self.timeout_seconds):
                await cluster.open(topics)
            return await ask(cluster)
        finally:
            await cluster.close()

    # -- stores

    def _of_store(self, feed: Feed) -> Iterator[tuple[str, Question]]:
        """Yields the questions to the store of a feed, with the names of the servers."""
        if isinstance(feed, ObjectFeed):
            for name in feed.clusters:
                yield str(name), partial(self._of_objects, feed, name)
        elif isinstance(feed, ClickHouseFeed):
            for number, shard in enumerate(feed.shards):
                for server in ShardServers(feed, number, self.timeout_seconds).servers():
                    question = partial(self._of_replica, server, shard.database)
                    yield str(server.address), question

    def _of_replica(self, server: ClickHouse, database: str) -> Iterator[Diagnosis]:
        address = str(server.address)
        with server.connected() as client:
            yield from exactness.clock(address, ahead_seconds(client))
            for name, facts in sorted(read_tables(client, database).items()):
                if facts.schema.coordinates:
                    yield from exactness.engine(f"{database}.{name}", facts.kind)
                # Without all of them, nobody can tell which rows are doubled.
                if facts.schema.has_coordinates and not facts.kind.is_view:
                    where = f"{database}.{name} on {address}"
                    self.say(f"rows of {where}")
                    yield from exactness.doubled(
                        where, doubled_rows(client, database, facts.schema)
                    )

    def _of_objects(self, feed: ObjectFeed, name: ClusterName) -> Iterator[Diagnosis]:
        settings, seconds = self.appliance.cluster(name), self.timeout_seconds
        check_listening(name, settings)
        self.say(f"objects of {feed.name} in {name}")
        told = told_objects(name, settings, feed.name, seconds, are_all_needed=False)
        yield from exactness.overlapping(f"s3://{feed.bucket}", told.objects)


def answered(server: str, question: Question) -> tuple[list[Diagnosis], str]:
    """Returns the diagnoses up to a failure, and the failure; empty without one."""
    found: list[Diagnosis] = []
    try:
        found.extend(question())
    except (*FAILURES, *DRIVER_ERRORS, StoreUnreachable) as error:
        text = error_text(error).partition("\n")[0]
        return found, text if server in text else f"{server}: {text}"
    return found, ""


def owner_facts(
    name: ClusterName,
    owners: Owners,
    judge: ClusterJudge,
    progress_expiry: ProgressExpiry,
    topic_ids: Mapping[str, UUID],
) -> Iterator[OwnerFacts]:
    """Yields the facts about each owner in a cluster, from what a judge has read."""
    stored = [each for each in judge.stored() if owners[each.group].is_first_part]
    by_name = {each.name: each for each in owners.values()}
    for _, owner in sorted(by_name.items()):
        last = {
            (subject.topic, subject.partition): each.entry
            for subject, each in judge.entries(owner.name).items()
        }
        entries: list[EntryFacts] = []
        for each in stored:
            if owners[each.group].name != owner.name:
                continue
            entry = last.get((each.topic, each.partition))
            at_ms = each.commit.at_ms if each.commit else None
            facts = EntryFacts(each.topic, each.partition, at_ms)
            if each.commit and entry is not None:
                facts = replace(
                    facts,
                    topic_id=owner.rules.topic_id(entry),
                    losses=entry.losses,
                    incarnation=entry.incarnation if isinstance(entry, Intent) else 0,
                    dead_letters=entry.dead_letters if isinstance(entry, Intent) else 0,
                )
                if isinstance(entry, Intent):
                    facts = replace(
                        facts,
                        offset=entry.offset,
                        is_parked=entry.parked is not None,
                        ahead_seconds=loader_ahead_seconds(entry, each.commit.at_ms),
                    )
            entries.append(facts)
        entries.sort(key=lambda each: (each.topic, each.partition))
        yield OwnerFacts(owner.name, str(name), entries, progress_expiry, topic_ids)


def loader_ahead_seconds(intent: Intent, at_ms: int) -> float:
    """Returns by how much a loader's clock was ahead of the broker's; 0 if it was not, or nobody
    can tell.

    Args:
        at_ms: Unix time of the intent's commit, by the broker's clock.
    """
    sealed_ms = [each.sealed_at_ms for each in intent.tables.values()]
    return (max([at_ms, intent.committed_ms, *sealed_ms]) - at_ms) / 1000


def coordinates(headers: Sequence[tuple[str, bytes | None]]) -> tuple[str, int, int] | None:
    """Returns topic, partition and offset of the record that a dead letter is of; None if it
    names none."""
    told = {key: value or b"" for key, value in headers if key.startswith(HEADER_PREFIX)}
    try:
        topic = told[f"{HEADER_PREFIX}topic"].decode()
        partition, offset = (int(told[f"{HEADER_PREFIX}{key}"]) for key in ("partition", "offset"))
    except (KeyError, ValueError):
        return None
    return topic, partition, offset


def ahead_seconds(client: Client) -> float:
    """Returns by how much a server's clock is ahead of this host's. Raises the driver's errors."""
    before = time.time()
    [(told,)] = client.execute("SELECT toUnixTimestamp(now())")
    after = time.time()
    # The server tells whole seconds: its clock shows up to one more.
    if told + 1 < before:
        return float(told + 1 - before)
    return max(0.0, float(told - after))


def doubled_rows(client: Client, database: str, schema: TableSchema) -> Iterator[DoubledRows]:
    """Yields the partitions of which a table has a row twice. Raises the driver's errors."""
    name = quoted(database, schema.table)
    identity = f"_offset, _row, {INCARNATION}" if schema.has_incarnations else "_offset, _row"
    found = client.execute(PARTITIONS.format(table=name))
    # Rows of others may have NULL in these columns.
    for cluster, topic, partition in sorted(row for row in found if None not in row):
        parameters = {"cluster": cluster, "topic": topic, "partition": partition}
        query = DOUBLED.format(table=name.replace("%", "%%"), identity=identity)
        [(count, surplus, first, last)] = client.execute(query, parameters)
        if count:
            yield DoubledRows(cluster, topic, partition, count, surplus, first, last)
