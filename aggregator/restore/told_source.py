"""Told inventory: the objects that a feed has told of in the cluster that it reads."""

from __future__ import annotations

from functools import partial

from aggregator.intents.intent import Intent
from aggregator.intents.intent_store import IntentStore
from aggregator.restore.object_inventory import Inventory
from aggregator.restore.restore_job import RestoreRequest
from aggregator.s3.object_listing import told_objects
from balancer.topic_partition import TopicPartition
from replicator.config.topology import KafkaCluster
from replicator.kafka.client.cluster import Cluster
from replicator.runtime.run_in_thread import run_in_thread


class ToldSource:
    """Objects of a request, by the topic in which its feed tells of them.

    Args:
        settings: of the cluster.
        timeout_seconds: for reading the topic.
    """

    def __init__(
        self, request: RestoreRequest, settings: KafkaCluster, timeout_seconds: float
    ) -> None:
        self._request, self._settings, self._seconds = request, settings, timeout_seconds
        self._cluster = Cluster(request.source, settings)

    async def prepare(self) -> None:
        """Does nothing: the topic of objects is read in order."""

    async def open(self) -> None:
        await self._cluster.open([self._request.topic])

    async def close(self) -> None:
        await self._cluster.close()

    @property
    def trouble(self) -> str:
        return self._cluster.trouble

    async def take(self) -> Inventory:
        request = self._request
        source = self._cluster.topic(request.topic)
        intents: dict[TopicPartition, Intent] = {}
        if source is not None:
            places = [TopicPartition(request.topic, number) for number in source.leaders]
            # Before the objects: what lies below these offsets is told by now.
            intents = await IntentStore(self._cluster, request.feed.name).read(places)
        name, seconds = request.feed.name, self._seconds
        ask = partial(
            told_objects, request.source, self._settings, name, seconds, are_all_needed=True
        )
        found = await run_in_thread(ask)
        of_topic = [each for each in found.objects if each.topic == request.topic]
        all_forgotten = found.forgotten_of(request.topic)
        forgotten = [each for each in all_forgotten if request.takes(each.log.incarnation)]
        objects = [each for each in of_topic if request.takes(each.incarnation)]
        logs: dict[int, set[int]] = {}
        for each in objects:
            logs.setdefault(each.partition, set()).add(each.incarnation)
        passed = {
            place.partition: intent.offset
            for place, intent in intents.items()
            if intent.incarnation in logs.get(place.partition, {intent.incarnation})
        }
        numbers = [each.partition for each in of_topic]
        numbers += [each.log.partition for each in all_forgotten]
        partitions = max(numbers, default=-1) + 1
        if source is not None:
            partitions = max(partitions, len(source.leaders))
        return Inventory(objects, passed, partitions, forgotten)

    async def group_offsets(self, group: str, partitions: int) -> list[tuple[int, int]]:
        asked = [(self._request.topic, range(partitions))]
        commits = await self._cluster.commits(group, asked)
        return [(place.partition, commit.offset) for place, commit in commits.items()]
