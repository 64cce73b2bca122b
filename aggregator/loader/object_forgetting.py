"""Object forgetting: removes the manifests of objects that the bucket does not have any more.

A transaction has the tombstones of some manifests and the record that says which offsets were
forgotten. A run that ends within leaves the topic as one that did less.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from aggregator.intents.intent import Intent
from aggregator.intents.intent_store import IntentStore
from aggregator.loader.intent_effects import EffectProducer
from aggregator.loader.object_records import told_place
from aggregator.loader.produced import Produced
from aggregator.objects.forgotten import Forgotten, Log
from aggregator.objects.told_object import ToldObject
from aggregator.objects.told_objects import (
    ToldObjects,
    forgettable,
    forgotten_with,
    is_passed,
)
from aggregator.s3.object_listing import differences, told_objects
from aggregator.s3.object_store import ObjectStore
from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.names import forget_id, objects_topic
from replicator.config.topology import KafkaCluster
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.runtime.run_in_thread import run_in_thread

TRANSACTION_MS = 60_000
OBJECTS_PER_TRANSACTION = 5_000
Gone = Mapping[Log, Sequence[ToldObject]]


@dataclass(eq=False, kw_only=True)
class ObjectForgetting:
    """Forgetting of a feed's objects in one cluster.

    Args:
        prefix: begin of the keys of all objects that the feed has in this cluster, which it has
            claimed.
        topic, partition: of the objects; None: all.
        told_before_ms: Unix time; objects that were told since are kept.
        timeout_seconds: for each answer of the cluster.
    """

    feed: str
    name: ClusterName
    settings: KafkaCluster
    store: ObjectStore
    prefix: str
    topic: str | None
    partition: int | None
    told_before_ms: int
    timeout_seconds: float

    async def run(self, *, is_confirmed: bool) -> Gone:
        """Returns the objects that the bucket does not have, forgotten if that is confirmed.

        Raises:
            Fenced: another run has begun.
            AdminError, LogUnreadable, Unreachable, Answered, TimeoutError: the cluster gives no
                answer.
            StoreProblem: the store gives none.
        """
        cluster = Cluster(self.name, self.settings, client_id="sluice-forget")
        try:
            async with asyncio.timeout(self.timeout_seconds):
                await cluster.open([objects_topic(self.feed)])
                # Whoever forgets meanwhile is fenced before the topic is read.
                fenced_committer = FencedCommitter(cluster, forget_id(self.feed), TRANSACTION_MS)
                fenced_committer = (
                    await fenced_committer.open() if is_confirmed else fenced_committer
                )
            told = await run_in_thread(self._told)
            intents = await self._intents(cluster, told.by_key.values())
            gone = await run_in_thread(self._gone, told, intents)
            if is_confirmed:
                gone = await self.forget(cluster, fenced_committer, told, gone)
            return gone
        finally:
            await cluster.close()

    def _told(self) -> ToldObjects:
        return told_objects(
            self.name, self.settings, self.feed, self.timeout_seconds, are_all_needed=True
        )

    def _gone(self, told: ToldObjects, intents: Mapping[TopicPartition, Intent]) -> Gone:
        """Returns the objects that may be forgotten and are not in the bucket. Blocking."""
        candidates = [
            each
            for each in forgettable(told, intents, self.told_before_ms, self.prefix)
            if self.topic in (None, each.topic) and self.partition in (None, each.partition)
        ]
        asked = {each.key: each for each in candidates}
        # A listing has a thousand objects in each answer. What it does not show is asked for.
        for topic in sorted({each.topic for each in candidates}):
            for found in self.store.objects(f"{self.prefix}{topic}/"):
                asked.pop(found.key, None)
        missing = [each.key for each in differences(self.store, asked.values()) if each.is_missing]
        return forgotten_with(told, candidates, missing)

    async def _intents(
        self, cluster: Cluster, objects: Collection[ToldObject]
    ) -> Mapping[TopicPartition, Intent]:
        places = {TopicPartition(each.topic, each.partition) for each in objects}
        async with asyncio.timeout(self.timeout_seconds):
            return await IntentStore(cluster, self.feed).read(sorted(places))

    async def forget(
        self, cluster: Cluster, fenced_committer: FencedCommitter, told: ToldObjects, gone: Gone
    ) -> Gone:
        """Removes the manifests of objects that are still passed; returns these objects.

        Args:
            told: what was read behind its fence.
            gone: objects that the bucket does not have.
        """
        producer = EffectProducer(cluster)
        done: dict[Log, list[ToldObject]] = {}
        for log, objects in gone.items():
            for some in _parts(objects):
                # An operator may have turned the partition back, so that loaders write them again.
                intents = await self._intents(cluster, some)
                same = [each for each in some if is_passed(each, intents.get(_place(each)))]
                if not same:
                    continue
                now_ms = time.time_ns() // 1_000_000
                before = told.forgotten.get(log, Forgotten(log))
                told.forgotten[log] = before.with_objects(same, now_ms)
                records = _records(self.feed, told.forgotten[log], same)
                async with asyncio.timeout(self.timeout_seconds):
                    await fenced_committer.write(producer.effects(fenced_committer, records))
                done.setdefault(log, []).extend(same)
        return done


def _records(feed: str, forgotten: Forgotten, gone: Sequence[ToldObject]) -> list[Produced]:
    log = forgotten.log
    place = told_place(feed, TopicPartition(log.topic, log.partition))
    made = partial(Produced, *place, forgotten.at_ms)
    tombstones = [made(each.key.encode(), None) for each in gone]
    return [made(forgotten.key, forgotten.encode()), *tombstones]


def _place(told: ToldObject) -> TopicPartition:
    return TopicPartition(told.topic, told.partition)


def _parts(objects: Sequence[ToldObject]) -> Iterator[Sequence[ToldObject]]:
    for begin in range(0, len(objects), OBJECTS_PER_TRANSACTION):
        yield objects[begin : begin + OBJECTS_PER_TRANSACTION]
