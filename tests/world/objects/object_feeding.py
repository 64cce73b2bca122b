"""Feeding of one feed into objects: its cluster, its store, its driver, and its loaders."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from aggregator.driver import store_probe
from aggregator.driver.adoption_memory import read_topic
from aggregator.driver.cluster_leadership import AskStore
from aggregator.loader import object_records
from aggregator.loader.known_records import KnownRecords, ToldRecords
from aggregator.loader.loader_assembly import Makers
from aggregator.loader.object_sink import address_of
from aggregator.objects.forgotten import decoded
from aggregator.objects.told_objects import ToldObjects
from aggregator.s3.object_store import ObjectStore, StoreAddress
from replicator.config.names import objects_topic
from replicator.config.object_feed import ObjectFeed
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered
from replicator.kafka.tail.topic_tailer import LogUnreadable
from tests.world.blocking import wait
from tests.world.objects.client import WorldS3
from tests.world.objects.object_load import Settings
from tests.world.objects.poison import Defect, failing
from tests.world.objects.server import URL, ObjectServer, StoreKind
from tests.world.sinks.loaded_feed import CLUSTER, LoadedFeed, NoReports, appliance_of
from tests.world.world import World

PREFIX = "lake"
ASK_SECONDS = 5.0
PART_BYTES = {"json_lines": 120, "parquet": 1500}
"""Parts smaller than any store takes, so that a few records are many of them."""


class ObjectFeeding(LoadedFeed):
    """Feeding of one feed from the aggregate of a region.

    Args:
        partitions: of each topic.
    """

    def __init__(
        self,
        world: World,
        topics: Iterable[str],
        partitions: int,
        brokers: int,
        kind: StoreKind,
        settings: Settings,
        part_bytes: int | None = None,
    ) -> None:
        cluster = world.cluster("east-aggregate", brokers)
        # Objects of a few records are read again by more than one fetch only where these are small.
        cluster.fetch_bytes_max = world.dice.choice([300, 1 << 20])
        self.settings = settings
        self.server = ObjectServer(world.loop, random.Random(world.dice.random()), kind)
        topics = list(topics)
        of_store = {
            "kind": "s3",
            "topics": topics,
            "bucket": "bucket",
            "endpoint": URL,
            "prefix": PREFIX,
        }
        appliance = appliance_of(cluster.bootstrap, {**of_store, **settings.of_feed})
        super().__init__(world, cluster, appliance, topics, partitions)
        self.defect: Defect | None = None
        """Defect of the loaders; None: their files take all records."""
        assert isinstance(self.feed, ObjectFeed)
        part_mib = (part_bytes or PART_BYTES[settings.file]) / (1 << 20)
        self.feed = self.feed.model_copy(update={"part_mib": part_mib})

    @property
    def ask_store(self) -> AskStore:
        def make_store(feed: ObjectFeed) -> ObjectStore:
            return ObjectStore(address_of(feed), lambda _: WorldS3(self.server))

        return partial(store_probe.stored, make_store=make_store)

    def known(self) -> KnownRecords:
        assert isinstance(self.feed, ObjectFeed)
        return ToldRecords(self.appliance, self.feed, CLUSTER, ASK_SECONDS, self._told_objects)

    def _told_objects(self, *_: object, are_all_needed: bool) -> ToldObjects:
        """Returns what the topic of objects tells. Blocking."""
        assert are_all_needed
        return wait(self._read_told)

    async def _read_told(self) -> ToldObjects:
        told = ToldObjects()
        try:
            for number in range(object_records.PARTITIONS):
                topic = objects_topic(self.feed.name)
                async for key, value, _ in read_topic(self.client, topic, number):
                    told.take(decoded(key or b"", value))
        except (Answered, Unreachable) as error:
            raise LogUnreadable(str(error)) from error
        return told

    def connected(self, makers: Makers) -> Makers:
        def make_store(address: StoreAddress, make_client: object, **settings: Any) -> ObjectStore:
            return makers.object_store(address, lambda _: WorldS3(self.server), **settings)

        made = replace(makers, object_store=make_store, report_store=NoReports)
        return failing(made, self.defect) if self.defect else made
