"""Object rows: compares the records in the objects of a feed with those of its topics.

Every record below a committed offset has to be in exactly one object, in the topic of dead letters,
or among the records that an object's manifest counts as left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from aggregator.intents.intent import Intent
from aggregator.loader.object_layout import ObjectLayout
from aggregator.loader.object_sink import address_of
from aggregator.objects.forgotten import Log
from aggregator.objects.told_object import ToldObject
from aggregator.objects.told_objects import ToldObjects
from aggregator.s3.answers import StoreProblem
from aggregator.s3.object_listing import told_objects
from aggregator.s3.object_store import ObjectStore
from aggregator.verifier.dead_letter_check import (
    LetterFields,
    Letters,
    compared,
    read_letters,
    uncounted,
)
from aggregator.verifier.object_comparison import ObjectComparison
from aggregator.verifier.row_check import Entries, RowCount, RowResult
from aggregator.verifier.topic_probe import is_compacted
from aggregator.verifier.topic_records import NotRead, TopicRecords
from balancer.topic_partition import TopicPartition
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
                are_all_needed=True,
            )
            asyncio.run(self._run(told))
        except (AdminError, LogUnreadable, NotRead, Unreachable, Answered, StoreProblem) as error:
            problems = (str(error),)
        except TimeoutError:
            problems = (f"{self._name}: no answer within {self._timeout_seconds:g} s",)
        counts = [
            each
            for _, each in sorted(self._counts.items())
            if each.expected or each.found or each.doubts or each.is_different
        ]
        return RowResult(tuple(counts), problems)

    async def _run(self, told: ToldObjects) -> None:
        settings = self._appliance.cluster(self._name)
        cluster = Cluster(self._name, settings, client_id="sluice-verify")
        admin = Admin(self._name, settings, self._timeout_seconds)
        letters = dead_letter_topic(self._feed.name)
        topics = sorted({subject.topic for subject in self._entries})
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await cluster.open([*topics, letters])
            records = TopicRecords(cluster, self._timeout_seconds)
            by_log: dict[tuple[str, int, int], list[ToldObject]] = {}
            for told_object in told.objects:
                by_log.setdefault(Log.of(told_object)[1:], []).append(told_object)
            forgotten = {log[1:]: each for log, each in told.forgotten.items()}
            compacted = {each: await run_in_thread(is_compacted, admin, each) for each in topics}
            for subject, (entry, first) in sorted(self._entries.items()):
                if isinstance(entry, Intent):
                    place = TopicPartition(subject.topic, subject.partition)
                    log = (*place, entry.incarnation)
                    # Those of a former log have records that Kafka does not have any more.
                    objects = by_log.get(log, [])
                    bounds = await self._bounds(cluster, records, place, entry, first)
                    count = self._count(place.topic)
                    rows = ObjectComparison(
                        self._layout,
                        self._store,
                        records,
                        place,
                        count,
                        compacted[place.topic],
                        entry.incarnation,
                        forgotten.get(log),
                    )
                    await rows.compare(objects, *bounds)
                    dead = {at: rows.letters.get(at) for at in rows.dead if at >= bounds[1]}
                    if (dead or entry.dead_letters) and self._letters is None:
                        self._letters = await read_letters(cluster, records, self._feed.name)
                    self._compare_letters(place, entry, dead, count)
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
        entry: Intent,
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
        return log_start, max(begin, log_start, entry.log_begin), entry.offset

    def _compare_letters(
        self,
        place: TopicPartition,
        entry: Intent,
        records: Mapping[int, LetterFields | None],
        count: RowCount,
    ) -> None:
        """Looks for the dead letter of each record that is in no object for what is in it, and for
        as many as the intent counts."""
        letters = self._letters or Letters()
        found = compared(letters, place, records, entry.incarnation)
        lost = max(0, uncounted(letters, place, entry.dead_letters) - found.missing)
        count.missing += found.missing
        count.doubled += found.doubled
        count.changed += found.changed
        for text in found.examples:
            count.example(text)
        if lost:
            count.lack_letters(place.partition, lost, entry.dead_letters, is_whole=letters.is_whole)
