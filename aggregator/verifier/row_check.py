"""Row check: compares the rows of every replica with the records of the topics, by identity.

The order of the requests prevents that late rows look missing: first the intents, which say up to
which offset everything is loaded, then the tables, once a replica has all its parts.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from aggregator.intents.intent import Intent
from aggregator.store.recognition import Identities
from aggregator.store.replica import Connected, Replica
from aggregator.store.shard_store import DRIVER_ERRORS, NotStored, ShardStore, StoreTimeouts
from aggregator.tables.table_schema import INCARNATION, TableSchema
from aggregator.verifier.cluster_judge import LastEntry
from aggregator.verifier.dead_letter_check import (
    Letters,
    compared,
    read_letters,
    record_fields,
    uncounted,
)
from aggregator.verifier.owners import Subject
from aggregator.verifier.plain_records import reader_of
from aggregator.verifier.row_digest import Digest, Ints, chunks, difference, digest, ranges
from aggregator.verifier.row_values import RowValues
from aggregator.verifier.table_rows import (
    LogRange,
    Ranges,
    RowsFrom,
    TableDigests,
    TopicInTable,
    wait_complete,
)
from aggregator.verifier.topic_probe import is_compacted
from aggregator.verifier.topic_records import NotRead, TopicRecords
from aggregator.verifier.topic_rows import RecordsOfTable, TopicRows
from balancer.topic_partition import TopicPartition
from replicator.batches.batch import BrokenBatch
from replicator.clickhouse.errors import reason
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import ClickHouseFeed
from replicator.config.names import dead_letter_topic
from replicator.config.topology import Appliance
from replicator.kafka.admin.admin import Admin
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered, Cluster
from replicator.runtime.run_in_thread import run_in_thread

EXAMINED_MAX = 20
"""Chunks of a table on a replica that are compared row by row; more are only counted."""
EXAMPLES_MAX = 5
Entries = Mapping[Subject, LastEntry]


@dataclass(slots=True)
class RowCount:
    """Rows of one topic in one table on one replica.

    Args:
        expected: rows that the records stand for.
        missing, surplus, doubled: rows that differ.
        changed: chunks whose columns differ from those of another replica.
        doubts: reasons why something could not be compared.
    """

    cluster: ClusterName
    feed: str
    topic: str
    table: str
    replica: str
    expected: int = 0
    found: int = 0
    missing: int = 0
    surplus: int = 0
    doubled: int = 0
    changed: int = 0
    examples: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    examined: int = 0

    @property
    def is_different(self) -> bool:
        return bool(self.missing or self.surplus or self.doubled or self.changed)

    def example(self, text: str) -> None:
        if len(self.examples) < EXAMPLES_MAX:
            self.examples.append(text)

    def doubt(self, text: str) -> None:
        if text not in self.doubts:
            self.doubts.append(text)

    def lack_letters(self, partition: int, lost: int, counted: int, *, is_whole: bool) -> None:
        """Notes dead letters that an intent counts and that are not in their topic.

        Args:
            is_whole: the topic still has its first letter; else these may have been deleted.
        """
        text = f"partition {partition}: {lost} of {counted} dead letters that its intent counts"
        if is_whole:
            self.missing += lost
            self.example(f"missing: {text}")
        else:
            self.doubt(f"{text} are not there, and the topic has lost its first ones")


@dataclass(frozen=True, slots=True)
class RowResult:
    """Counts of all tables and replicas, and the reasons why servers could not be asked."""

    counts: tuple[RowCount, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Digests of one table on one replica, with the count to fill.

    Args:
        digests: None if the table cannot be compared there, for the reason `why`.
        behind: rows from the committed offsets on, by partition.
    """

    replica: Replica
    schema: TableSchema
    count: RowCount
    digests: TableDigests | None
    why: str = ""
    behind: Mapping[int, RowsFrom] = field(default_factory=dict)


class RowCheck:
    """Check of one feed in one cluster. Blocking.

    Args:
        since_ms: records with this timestamp and later offsets are compared.
        timeout_seconds: for each answer, and for replicas to catch up.
    """

    def __init__(
        self,
        appliance: Appliance,
        feed: ClickHouseFeed,
        cluster: ClusterName,
        entries: Entries,
        since_ms: int,
        timeout_seconds: float,
    ) -> None:
        self._appliance = appliance
        self._feed = feed
        self._name = cluster
        self._entries = entries
        self._since_ms = since_ms
        self._timeout_seconds = timeout_seconds
        self._read = reader_of(feed)
        self._stores: dict[int, ShardStore] = {}
        self._counts: list[RowCount] = []
        self._letters: Letters | None = None
        self._problems: list[str] = []

    def run(self) -> RowResult:
        """Compares all topics that have intents."""
        asyncio.run(self._run())
        counts = sorted(
            (
                each
                for each in self._counts
                if each.expected or each.found or each.doubts or each.is_different
            ),
            key=lambda each: (each.topic, each.table, each.replica),
        )
        return RowResult(tuple(counts), tuple(dict.fromkeys(self._problems)))

    async def _run(self) -> None:
        settings = self._appliance.cluster(self._name)
        cluster = Cluster(self._name, settings, client_id="sluice-verify")
        topics = sorted({subject.topic for subject in self._entries})
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await cluster.open([*topics, dead_letter_topic(self._feed.name)])
            reader = TopicRows(TopicRecords(cluster, self._timeout_seconds), self._feed)
            for topic in topics:
                await self._topic(cluster, reader, topic)
        except (Unreachable, Answered, NotRead) as error:
            self._problems.append(str(error))
        except TimeoutError:
            self._problems.append(f"{self._name}: no answer within {self._timeout_seconds:g} s")
        except NotStored as error:
            self._problems.append(str(error))
        finally:
            await cluster.close()
            for store in self._stores.values():
                await run_in_thread(store.close)

    async def _topic(self, cluster: Cluster, reader: TopicRows, topic: str) -> None:
        store = self._store(topic)
        if store is None:
            return
        bounds = await self._bounds(reader, topic)
        schemas = await run_in_thread(store.schemas)
        tables = {name: it for name, it in schemas.items() if self._may_have(topic, name)}
        settings = self._appliance.cluster(self._name)
        admin = Admin(self._name, settings, self._timeout_seconds)
        is_compact = await run_in_thread(is_compacted, admin, topic)
        found: dict[str, list[_Found]] = {}
        for name, schema in tables.items():
            found[name] = [
                await run_in_thread(self._look, store, replica, schema, topic, bounds)
                for replica in store.replicas
            ]
        counted = {
            subject.partition: entry.dead_letters
            for subject, (entry, _) in self._entries.items()
            if subject.topic == topic and isinstance(entry, Intent)
        }
        letters = self._letter_count(topic)
        missing = Counter[int]()
        await self._compare_ends(reader, store, topic, bounds, found)
        for partition, (begin, end, incarnation) in bounds.items():
            for number, first, last in chunks(begin, end):
                place = partition, number
                bound = LogRange(first, last, incarnation)
                try:
                    read = await reader.read(topic, partition, first, last, tables)
                except (NotRead, BrokenBatch, Answered) as error:
                    for count in (each.count for some in found.values() for each in some):
                        count.doubt(str(error))
                    letters.doubt(str(error))
                    continue
                known = Letters()
                if counted[partition] or any(each.dead for each in read.values()):
                    known = await self._all_letters(cluster, reader)
                lettered = known.offsets(TopicPartition(topic, partition), *bound)
                for name, replicas in found.items():
                    of_table = read.get(name, RecordsOfTable())
                    _compare_contents(replicas, partition, number)
                    for each in replicas:
                        await self._compare(
                            store, each, place, bound, of_table.rows, lettered, is_compact
                        )
                    if of_table.slices and (sample := _comparable(replicas)):
                        await run_in_thread(
                            self._compare_values, store, sample, partition, bound, of_table
                        )
                for name, of_table in read.items():
                    missing[partition] += await self._compare_letters(
                        store, letters, known, place, bound, name, of_table, found.get(name)
                    )
        for partition, number in counted.items():
            if number:
                known = await self._all_letters(cluster, reader)
                lost = uncounted(known, TopicPartition(topic, partition), number)
                if lost > missing[partition]:
                    lost -= missing[partition]
                    letters.lack_letters(partition, lost, number, is_whole=known.is_whole)

    def _letter_count(self, topic: str) -> RowCount:
        """Returns the count of a topic's dead letters, which the result has from here on."""
        where = dead_letter_topic(self._feed.name)
        count = RowCount(self._name, self._feed.name, topic, where, str(self._name))
        self._counts.append(count)
        return count

    async def _all_letters(self, cluster: Cluster, reader: TopicRows) -> Letters:
        if self._letters is None:
            self._letters = await read_letters(cluster, reader.records, self._feed.name)
        return self._letters

    async def _compare_letters(
        self,
        store: ShardStore,
        count: RowCount,
        letters: Letters,
        chunk: tuple[int, int],
        bound: LogRange,
        table: str,
        records: RecordsOfTable,
        replicas: list[_Found] | None,
    ) -> int:
        """Compares the dead letters of a table's records in one chunk with these. Returns how many
        are missing.

        Args:
            replicas: None: there is no such table.
        """
        partition = chunk[0]
        place = TopicPartition(count.topic, partition)
        lettered = {*letters.offsets(place, *bound).tolist()}
        wanted = records.dead | lettered
        fields = {
            offset: record_fields(part, at) if offset in lettered else None
            for part in records.slices
            for at, offset in enumerate(part.offset.tolist())
            if offset in wanted
        }
        absent = np.array(sorted(fields.keys() - lettered), np.int64)
        if replicas is None and table and len(absent):
            # It may have had their rows.
            text = f"there is no table {table!r}: partition {partition}, offsets {ranges(absent)}"
            count.doubt(f"{text} are no dead letters, and may have been rows of it")
            fields = {offset: fields[offset] for offset in fields if offset in lettered}
        elif replicas and replicas[0].digests is not None and len(absent):
            stored = await run_in_thread(self._rows, store, replicas[0], partition, bound)
            # They were loaded by other columns: the table's own count names them as surplus.
            loaded = {*stored.offset.tolist()} if stored else set()
            fields = {offset: it for offset, it in fields.items() if offset not in loaded}
        found = compared(letters, place, fields, bound.incarnation)
        count.expected += len(fields)
        count.found += len(fields) - found.missing
        count.missing += found.missing
        count.changed += found.changed
        for text in found.examples:
            if text.startswith("doubled"):
                count.doubt(f"{text}: a block that is repeated after an ALTER repeats its letters")
            else:
                count.example(text)
        return found.missing

    async def _compare(
        self,
        store: ShardStore,
        found: _Found,
        place: tuple[int, int],
        bound: LogRange,
        expected: Identities,
        lettered: Ints,
        is_compacted: bool,
    ) -> None:
        """Compares one chunk of a table on one replica, row by row if its digest differs.

        Args:
            lettered: offsets of records that are dead letters: they may have no rows, although they
                could be loaded today.
        """
        count = found.count
        if len(lettered) and (is_dead := np.isin(expected.offset, lettered)).any():
            loaded = Identities(expected.offset[~is_dead], expected.row[~is_dead])
            if found.digests is None or found.digests.rows.get(place, Digest()) != digest(expected):
                expected = loaded
        count.expected += len(expected)
        if found.digests is None:
            if len(expected):
                count.doubt(found.why)
            return
        had = found.digests.rows.get(place, Digest())
        count.found += had.rows
        if had == digest(expected):
            return
        partition = place[0]
        if count.examined >= EXAMINED_MAX:
            count.doubt(f"more than {EXAMINED_MAX} chunks differ; the others were not examined")
            return
        count.examined += 1
        rows = await run_in_thread(self._rows, store, found, partition, bound)
        if rows is None:
            return
        differing = difference(expected, rows)
        parts = {"missing": differing.missing, "doubled": differing.doubled}
        count.missing += len(differing.missing)
        count.doubled += len(differing.doubled)
        if is_compacted and len(differing.surplus):
            count.doubt(f"{len(differing.surplus)} rows of records that may be compacted away")
        else:
            parts["surplus"] = differing.surplus
            count.surplus += len(differing.surplus)
        for what, offsets in parts.items():
            if len(offsets):
                count.example(f"{what}: partition {partition}, offsets {ranges(offsets)}")

    async def _compare_ends(
        self,
        reader: TopicRows,
        store: ShardStore,
        topic: str,
        bounds: Ranges,
        tables: Mapping[str, Sequence[_Found]],
    ) -> None:
        """Looks for rows behind the ends of logs: a former log of the name has left them, and a
        block of today's may be taken for them.

        The ends are read after the rows, since a log that is loaded grows.
        """
        behind = [
            (number, each) for some in tables.values() for each in some for number in each.behind
        ]
        ends = {
            number: await reader.records.log_end(topic, number)
            for number in sorted({number for number, _ in behind})
        }
        for number, each in behind:
            if each.behind[number].last_offset < ends[number]:
                continue
            beyond = bounds[number]._replace(begin=ends[number])
            found = await run_in_thread(self._from, store, each, {number: beyond})
            if number in found:
                each.count.found += found[number].rows
                each.count.surplus += found[number].rows
                each.count.example(
                    f"surplus: partition {number}, offsets {ends[number]}.."
                    f"{found[number].last_offset} behind the end of its log: rows of a former log "
                    "have the identities of records to come"
                )

    # -- threads

    def _look(
        self,
        store: ShardStore,
        replica: Replica,
        schema: TableSchema,
        topic: str,
        bounds: Ranges,
    ) -> _Found:
        address = replica.server.address
        name = f"{address.host}:{address.port}"
        count = RowCount(self._name, self._feed.name, topic, schema.table, name)
        self._counts.append(count)
        if not schema.has_coordinates:
            return _Found(replica, schema, count, None, "the table has no coordinate columns")
        if not schema.has_incarnations and any(each.incarnation for each in bounds.values()):
            why = f"the table has no column {INCARNATION}: it mixes rows of two logs"
            return _Found(replica, schema, count, None, why)
        try:
            with replica.connected() as it:
                client, database = it.client, store.database
                if not wait_complete(client, database, schema.table, self._timeout_seconds):
                    why = "the replica lacks parts of the table"
                    return _Found(replica, schema, count, None, why)
                rows = TopicInTable(client, database, schema, self._name, topic)
                digests = rows.digests(bounds)
                behind = rows.counts(
                    {number: it._replace(begin=it.end) for number, it in bounds.items()}
                )
        except DRIVER_ERRORS as error:
            self._problems.append(f"ClickHouse at {name}: {reason(error)}")
            return _Found(replica, schema, count, None, "the replica did not answer")
        return _Found(replica, schema, count, digests, behind=behind)

    def _in_table(self, it: Connected, store: ShardStore, found: _Found) -> TopicInTable:
        topic = found.count.topic
        return TopicInTable(it.client, store.database, found.schema, self._name, topic)

    def _from(self, store: ShardStore, found: _Found, begins: Ranges) -> Mapping[int, RowsFrom]:
        count = found.count
        try:
            with found.replica.connected() as it:
                return self._in_table(it, store, found).counts(begins)
        except DRIVER_ERRORS as error:
            self._problems.append(f"ClickHouse at {count.replica}: {reason(error)}")
            return {}

    def _rows(
        self, store: ShardStore, found: _Found, partition: int, wanted: LogRange
    ) -> Identities | None:
        count = found.count
        try:
            with found.replica.connected() as it:
                return self._in_table(it, store, found).rows(partition, wanted)
        except DRIVER_ERRORS as error:
            self._problems.append(f"ClickHouse at {count.replica}: {reason(error)}")
            return None

    def _compare_values(
        self,
        store: ShardStore,
        found: _Found,
        partition: int,
        bound: LogRange,
        records: RecordsOfTable,
    ) -> None:
        """Compares the columns of a chunk's rows with what a second reader finds in the records.

        One replica is enough: the columns of the others are compared with its own.
        """
        count = found.count
        values = RowValues(found.schema, self._read)
        identities = records.rows
        expected = set(zip(identities.offset.tolist(), identities.row.tolist(), strict=True))
        try:
            with found.replica.connected() as it:
                for part in records.slices:
                    begin, end = int(part.offset[0]), int(part.offset[-1]) + 1
                    wanted = bound._replace(begin=begin, end=end)
                    rows = self._in_table(it, store, found).values(partition, wanted)
                    values.compare(part, expected, list(rows))
        except DRIVER_ERRORS as error:
            self._problems.append(f"ClickHouse at {count.replica}: {reason(error)}")
        for offset, text in values.differences:
            count.example(f"changed: partition {partition}, offset {offset}: {text}")
        count.changed += bool(values.differences)
        for text in values.doubts:
            count.doubt(text)

    # -- parts

    def _store(self, topic: str) -> ShardStore | None:
        number = self._feed.shard_number(topic)
        if number is None:
            return None
        if number not in self._stores:
            timeouts = StoreTimeouts(insert=self._timeout_seconds)
            shard = self._feed.shards[number]
            self._stores[number] = ShardStore(shard, timeouts, feed=self._feed.name, kept=1)
        return self._stores[number]

    async def _bounds(self, reader: TopicRows, topic: str) -> dict[int, LogRange]:
        """Returns the offsets to compare: from the time asked for, up to what is loaded."""
        bounds = {}
        for subject, (entry, first) in sorted(self._entries.items()):
            if subject.topic != topic or not isinstance(entry, Intent):
                continue
            begin = await reader.records.first_offset(topic, subject.partition, self._since_ms)
            if self._feed.start != "earliest":
                # Records before the start were never loaded.
                begin = max(begin, first)
            # What is below a cut is of another log.
            begin, end = max(begin, entry.log_begin), entry.offset
            bounds[subject.partition] = LogRange(min(begin, end), end, entry.incarnation)
        return bounds

    def _may_have(self, topic: str, table: str) -> bool:
        return self._feed.table_from == "header" or table == topic


def _comparable(found: list[_Found]) -> _Found | None:
    """Returns the first replica whose rows can be compared."""
    return next((each for each in found if each.digests is not None), None)


def _compare_contents(found: list[_Found], partition: int, chunk: int) -> None:
    """Notes that replicas with the same rows hold other columns of them."""
    place = partition, chunk
    held = [
        (each, each.digests)
        for each in found
        if each.digests is not None and place in each.digests.contents
    ]
    for (one, before), (other, after) in pairwise(held):
        is_same = before.rows[place] == after.rows[place]
        if is_same and before.contents[place] != after.contents[place]:
            other.count.changed += 1
            where = f"partition {partition}, chunk {chunk}"
            other.count.example(f"columns differ from those on {one.count.replica}: {where}")
