"""Object rows: compares the records in the objects of a feed with those of its topics.

Every record below a committed offset has to be in exactly one object, in the topic of dead letters,
or among the records that an object's manifest counts as left out. The records of an object's range
are read from Kafka, and become the same file again, whose bytes are compared with those that are
read back from the store. Only where these differ the contents are compared.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from crc32c import crc32c

from aggregator.formats.record_slice import RecordSlice
from aggregator.intents.intent import Intent
from aggregator.loader.dead_letters import HEADER_PREFIX, PARTITIONS
from aggregator.loader.object_layout import OFFSET_MAX, ObjectLayout
from aggregator.loader.object_sink import address_of
from aggregator.objects.object_name import parsed
from aggregator.objects.told_object import ToldObject
from aggregator.s3.answers import StoreProblem
from aggregator.s3.object_listing import told_objects
from aggregator.s3.object_store import ObjectStore
from aggregator.store.recognition import Identities
from aggregator.verifier.object_content import UnreadableFile, is_same, rows_of
from aggregator.verifier.rebuilt_object import RebuiltObject, RebuiltObjects
from aggregator.verifier.row_check import Entries, RowCount, RowResult
from aggregator.verifier.row_digest import difference, ranges
from aggregator.verifier.topic_probe import is_compacted
from aggregator.verifier.topic_records import NotRead, TopicRecords
from balancer.plan import TopicPartition
from replicator.batches.batch import BrokenBatch
from replicator.config.cluster_name import ClusterName
from replicator.config.names import dead_letter_topic
from replicator.config.object_feed import ObjectFeed
from replicator.config.topology import Appliance
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered, Cluster
from replicator.kafka.tail.topic_tailer import LogUnreadable
from replicator.runtime.run_in_thread import run_in_thread

COORDINATES = ("topic", "partition", "offset")
"""Headers of a dead letter that name its record."""
Letters = Counter[tuple[str, int, int]]
"""Number of dead letters by topic, partition and offset."""


class ObjectRowCheck:
    """Check of one feed in one cluster. Blocking.

    Args:
        since_ms: records with this timestamp and later offsets are compared.
        timeout_seconds: for each answer.
    """

    def __init__(
        self,
        appliance: Appliance,
        feed: ObjectFeed,
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
        self._store = ObjectStore(address_of(feed))
        self._layout = ObjectLayout(feed, str(cluster))
        self._letters: Letters | None = None
        self._counts: dict[str, RowCount] = {}

    def run(self) -> RowResult:
        """Compares all topics that have intents."""
        problems: tuple[str, ...] = ()
        try:
            # Behind the intents: every object below their offsets is told by now.
            told = told_objects(
                self._name,
                self._appliance.cluster(self._name),
                self._feed.name,
                self._timeout_seconds,
            )
            asyncio.run(self._run(told))
        except (AdminError, LogUnreadable, Unreachable, Answered, StoreProblem) as error:
            problems = (str(error),)
        except TimeoutError:
            problems = (f"{self._name}: no answer within {self._timeout_seconds:g} s",)
        counts = [
            each
            for _, each in sorted(self._counts.items())
            if each.expected or each.found or each.doubts
        ]
        return RowResult(tuple(counts), problems)

    async def _run(self, told: list[ToldObject]) -> None:
        settings = self._appliance.cluster(self._name)
        cluster = Cluster(self._name, settings, client_id="sluice-verify")
        admin = Admin(self._name, settings, self._timeout_seconds)
        letters = dead_letter_topic(self._feed.name)
        topics = sorted({subject.topic for subject in self._entries})
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await cluster.open([*topics, letters])
            records = TopicRecords(cluster, self._timeout_seconds)
            compacted = {each: await run_in_thread(is_compacted, admin, each) for each in topics}
            for subject, (entry, first) in sorted(self._entries.items()):
                if isinstance(entry, Intent):
                    place = TopicPartition(subject.topic, subject.partition)
                    objects = [each for each in told if (each.topic, each.partition) == place]
                    bounds = await self._bounds(cluster, records, place, entry.offset, first)
                    count = self._count(place.topic)
                    rows = _PartitionRows(
                        self._layout, self._store, records, place, count, compacted[place.topic]
                    )
                    await rows.compare(objects, *bounds)
                    dead = [offset for offset in rows.dead if offset >= bounds[1]]
                    if dead and self._letters is None:
                        self._letters = await self._read_letters(cluster, records)
                    self._compare_letters(place, dead, count)
        finally:
            await cluster.close()

    def _count(self, topic: str) -> RowCount:
        bucket, prefix = self._feed.bucket, self._feed.prefix_of(self._name)
        where = f"{bucket}/{prefix}" if prefix else bucket
        store = self._feed.endpoint or "AWS"
        return self._counts.setdefault(
            topic, RowCount(self._name, self._feed.name, topic, where, store)
        )

    async def _bounds(
        self,
        cluster: Cluster,
        records: TopicRecords,
        place: TopicPartition,
        committed: int,
        first: int,
    ) -> tuple[int, int, int]:
        """Returns the log's start, and the offsets to compare: from the time asked for, up to what
        is passed."""
        async with asyncio.timeout(self._timeout_seconds):
            log_start = await cluster.log_start(*place)
        begin = await records.first_offset(*place, self._since_ms)
        if self._feed.start != "earliest":
            # Records before the start were never written.
            begin = max(begin, first)
        return log_start, max(begin, log_start), committed

    def _compare_letters(self, place: TopicPartition, dead: list[int], count: RowCount) -> None:
        """Looks for the dead letter of each record that is in no object for what is in it."""
        letters = self._letters or Letters()
        found = {offset: letters[(*place, offset)] for offset in dead}
        missing = np.array([each for each, times in found.items() if not times], np.int64)
        doubled = np.array([each for each, times in found.items() if times > 1], np.int64)
        count.missing += len(missing)
        count.doubled += len(doubled)
        for what, offsets in (("missing", missing), ("doubled", doubled)):
            if len(offsets):
                where = f"partition {place.partition}, offsets {ranges(offsets)}"
                count.example(f"{what} among the dead letters: {where}")

    async def _read_letters(self, cluster: Cluster, records: TopicRecords) -> Letters:
        """Reads all of them: their times are those of their records, in any order."""
        topic = dead_letter_topic(self._feed.name)
        found: Letters = Counter()
        for partition in range(PARTITIONS):
            begin = await cluster.log_start(topic, partition)
            async for part in records.slices(topic, partition, begin, OFFSET_MAX):
                for at in range(len(part)):
                    own = dict(part.headers_at(at))
                    texts = [own.get(f"{HEADER_PREFIX}{name}") for name in COORDINATES]
                    of, number, offset = (text.decode() if text else "" for text in texts)
                    if number.isdecimal() and offset.isdecimal():
                        found[of, int(number), int(offset)] += 1
        return found


@dataclass(eq=False)
class _PartitionRows:
    """Comparison of one Kafka partition.

    Args:
        is_compacted: the topic may have lost records that are in objects.
    """

    layout: ObjectLayout
    store: ObjectStore
    records: TopicRecords
    place: TopicPartition
    count: RowCount
    is_compacted: bool
    dead: list[int] = field(default_factory=list)
    """Offsets of the records that have to be dead letters."""

    async def compare(
        self, told: list[ToldObject], log_start: int, begin: int, committed: int
    ) -> None:
        """Compares the records from an offset on with the objects that have any of them.

        Args:
            committed: every record below is in an object.
        """
        if self.layout.feed.format != "bytes":
            self.count.doubt("objects of values with a schema are compared by `--objects` only")
            return
        told = [each for each in told if each.end > begin]
        known = [each for each in told if each.begin >= log_start]
        if len(known) < len(told):
            text = f"partition {self.place.partition}: Kafka has deleted records of "
            self.count.doubt(f"{text}{len(told) - len(known)} objects")
            begin = max(each.end for each in told if each.begin < log_start)
        objects = self._objects(known)
        first = min([begin, *(each.begin for each in known)])
        end = max([committed, *(each.end for each in known)])
        left = deque(
            sorted(
                (each for some in objects.values() for each in some.rebuilt),
                key=lambda each: each.told.end,
            )
        )
        try:
            async for part in self.records.slices(*self.place, first, end):
                for name, own in self.layout.route(self.place, part).items():
                    self._take(objects.setdefault(name, RebuiltObjects([])), own, begin, committed)
                position = int(part.offset[-1]) + 1
                while left and left[0].told.end <= position:
                    await self._finish(left.popleft())
        except (NotRead, BrokenBatch, Answered) as error:
            self.count.doubt(str(error))
            return
        while left:
            await self._finish(left.popleft())

    def _objects(self, told: list[ToldObject]) -> dict[str, RebuiltObjects]:
        by_name: dict[str, list[RebuiltObject]] = {}
        prefix = self.layout.feed.prefix_of(ClusterName(self.layout.cluster))
        for each in told:
            name = parsed(each.key, prefix)
            if name is None:
                self.count.doubt(f"{each.key} is not below the prefix of today")
                continue
            admission = self.layout.admission(self.place, name.encoded_partition)
            rebuilt = RebuiltObject(each, admission, partial(self.layout.writer, self.place))
            by_name.setdefault(name.encoded_partition, []).append(rebuilt)
        found = {name: RebuiltObjects(some) for name, some in by_name.items()}
        for some in found.values():
            for before, after in some.overlaps():
                offsets = min(before.end, after.end) - after.begin
                self.count.doubled += offsets
                self.count.example(f"doubled: up to {offsets} records, {before.key}, {after.key}")
        return found

    def _take(self, objects: RebuiltObjects, part: RecordSlice, begin: int, committed: int) -> None:
        for each, some in objects.within(part):
            each.add(some)
        offsets = objects.uncovered(part.between(begin, committed).offset)
        if len(offsets):
            self.count.expected += len(offsets)
            self.count.missing += len(offsets)
            where = f"partition {self.place.partition}, offsets {ranges(offsets)}"
            self.count.example(f"missing: in no object: {where}")

    async def _finish(self, each: RebuiltObject) -> None:
        """Compares an object all of whose records were read."""
        rows = each.finish()
        self.dead += each.dead
        key = each.told.key
        if self.is_compacted and each.records < each.told.records:
            self.count.doubt(f"records of {key} may be compacted away: it was not compared")
            return
        if each.told.is_empty:
            if not each.is_as_told:
                self.count.changed += 1
                self.count.example(f"changed: some of its records belong into an object: {key}")
            return
        self.count.expected += len(rows)
        content = await run_in_thread(self.store.read, key)
        if content is None:
            self.count.missing += len(rows)
            self.count.example(f"missing: {key} is not there")
            return
        is_same = (len(content), crc32c(content)) == (each.size_bytes, each.crc32c)
        if not is_same and (why := await self._difference(each, rows, content)):
            self.count.example(f"{why}: {key}")
            return
        self.count.found += len(rows)
        if not each.is_as_told:
            self.count.changed += 1
            self.count.example(f"changed: not the records that its manifest names: {key}")

    async def _difference(self, each: RebuiltObject, rows: Identities, content: bytes) -> str:
        """Counts how an object differs from its records; returns "" if they are the same."""
        extension = each.told.key.rpartition("/")[2].partition(".")[2]
        if extension != self.layout.extension:
            return self._by_manifest(each, f"is written as .{extension}, and no more")
        expected = await self._file(each)
        try:
            if is_same(content, expected, extension):
                return ""
            found = rows_of(content, extension)
        except UnreadableFile as error:
            self.count.changed += 1
            return f"changed: {error}"
        differing = None if found is None else difference(rows, found)
        if differing is None or differing.is_empty:
            if (len(content), crc32c(content)) == (each.told.size_bytes, each.told.crc32c):
                return self._by_manifest(each, "was written under other settings")
            self.count.found += len(rows)
            self.count.changed += 1
            return "changed: other contents of its records"
        assert found is not None
        self.count.found += len(found)
        parts = {"missing": differing.missing, "doubled": differing.doubled}
        self.count.missing += len(differing.missing)
        self.count.doubled += len(differing.doubled)
        if self.is_compacted and len(differing.surplus):
            text = f"{len(differing.surplus)} records in objects may be compacted away"
            self.count.doubt(text)
        else:
            parts["surplus"] = differing.surplus
            self.count.surplus += len(differing.surplus)
        return "; ".join(f"{what}: offsets {ranges(it)}" for what, it in parts.items() if len(it))

    def _by_manifest(self, each: RebuiltObject, why: str) -> str:
        """Compares an object whose file cannot be rebuilt by what its manifest names."""
        if each.is_as_told:
            self.count.doubt(f"{each.told.key} {why}: its manifest was compared")
            return ""
        self.count.found += each.digest.records
        self.count.changed += 1
        return "changed: not the records that its manifest names"

    async def _file(self, each: RebuiltObject) -> bytes:
        """Returns the file that an object's records make."""
        told = each.told
        writer, pieces = self.layout.writer(self.place), []
        name = parsed(told.key, self.layout.feed.prefix_of(ClusterName(self.layout.cluster)))
        assert name is not None
        async for part in self.records.slices(*self.place, told.begin, told.end):
            own = self.layout.route(self.place, part).get(name.encoded_partition)
            if own is not None:
                pieces.append(writer.write([each.admission(own).records]))
        return b"".join([*pieces, writer.finish()])
