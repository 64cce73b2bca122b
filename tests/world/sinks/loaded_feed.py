"""Loaded feed: a feed of one cluster in a world, its driver, and loaders as processes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from functools import partial
from typing import Any

from aggregator.driver.cluster_leadership import ClusterLeadership
from aggregator.driver.feed_source import kept_loading
from aggregator.intents.intent import Intent
from aggregator.intents.intent_store import IntentStore
from aggregator.loader.assembly import MAKERS, Makers, assemble
from aggregator.loader.assignment import LoaderAssignment
from aggregator.loader.loader import load
from aggregator.loader.report_store import ReportStore
from balancer.plan import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import Feed
from replicator.config.topology import Appliance
from replicator.config.topology import KafkaCluster as Settings
from replicator.kafka.client.cluster import Cluster, Fenced
from replicator.notices.conditions import Conditions
from replicator.orders.feed_orders import FeedOrders
from tests.world.kafka.admin import WorldAdmin
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.process import Process
from tests.world.world import World

FEED, REGION = "air", "east"
CLUSTER = ClusterName.aggregate(REGION)
EPOCH_SECONDS = 3600.0


class NoReports(ReportStore):
    """Reports that nobody stores: they are no part of the truth."""

    def __init__(self, _: str) -> None:
        pass

    def write(self, reports: Any) -> None:
        pass

    def write_totals(self, loader_id: str, totals: Any) -> None:
        pass


class LoadedFeed:
    """Feed from the aggregate of a region; its store is for who inherits.

    Args:
        partitions: of each topic.
    """

    def __init__(
        self,
        world: World,
        cluster: KafkaCluster,
        appliance: Appliance,
        topics: Iterable[str],
        partitions: int,
    ) -> None:
        self.world, self.cluster, self.appliance = world, cluster, appliance
        self.feed: Feed = appliance.feed(FEED)
        topics = list(topics)
        self.places = [TopicPartition(t, n) for t in topics for n in range(partitions)]
        for topic in topics:
            cluster.create(topic, partitions, min_in_sync=min(2, len(cluster.brokers)))
        self.leadership = ClusterLeadership(appliance, REGION, CLUSTER, [self.feed], self._admin)
        self.client = Cluster("east aggregate", appliance.cluster(CLUSTER))
        self.intents = IntentStore(self.client, FEED)
        self.plan_version = 0
        self.loaders: list[Process] = []

    async def begin(self) -> None:
        """Leads in the cluster, and adopts all partitions."""
        await self.client.open({place.topic for place in self.places})
        await self.leadership.prepare()
        await self.leadership.acquire()
        found = await self.leadership.partitions()
        assert found[FEED] == sorted(self.places)

    async def plan(self) -> None:
        """Publishes the next plan, which begins a new epoch."""
        self.plan_version += 1
        while True:
            try:
                await self.leadership.publish(self.plan_version)
                return
            except Fenced:
                # The broker aborted a transaction that took too long, under a newer epoch.
                await self.leadership.acquire()

    async def lead_again(self) -> None:
        """Begins a new term, as a driver that was started again."""
        await self.leadership.acquire()

    def loader(
        self, number: int, places: Iterable[TopicPartition], makers: Makers = MAKERS
    ) -> Process:
        """Starts a loader process of the present plan."""
        assignment = LoaderAssignment(
            feed=self.feed,
            cluster=CLUSTER,
            number=number,
            partitions=tuple(sorted(places)),
            orders=FeedOrders(feed=FEED),
            term=self.leadership.term,
            plan_version=self.plan_version,
            deadline=time.time() + EPOCH_SECONDS,
        )
        session = partial(assemble, makers=self.connected(makers))
        made = Process(f"loader {number} of plan {self.plan_version}")
        made.start(
            kept_loading(
                self.appliance,
                assignment,
                Conditions(made.name),
                partial(load, make_session=session),
            )
        )
        self.loaders.append(made)
        return made

    def connected(self, makers: Makers) -> Makers:
        """Returns makers whose parts reach the store of this world."""
        raise NotImplementedError

    async def read(self) -> dict[TopicPartition, Intent]:
        """Returns the intents of now."""
        return await self.intents.read(self.places)

    def kill_all(self) -> None:
        """Kills all loaders."""
        for loader in self.loaders:
            loader.kill()

    async def close(self) -> None:
        self.kill_all()
        mains = [it.main for it in self.loaders if it.main is not None]
        await asyncio.gather(*mains, return_exceptions=True)
        await self.leadership.close()
        await self.client.close()

    def _admin(self, name: ClusterName, settings: Settings) -> WorldAdmin:
        return WorldAdmin(name, settings, self.cluster)


def appliance_of(bootstrap: list[str], settings: dict[str, Any]) -> Appliance:
    """Returns an appliance with one feed.

    Args:
        settings: of the feed.
    """
    return Appliance.model_validate(
        {
            "regions": {
                REGION: {
                    "redis": "redis://nowhere:6379/0",
                    "regional": {"bootstrap": ["nowhere:9092"]},
                    "aggregate": {"bootstrap": bootstrap},
                }
            },
            # Loaders are stopped for longer than a transaction may take, and for less.
            "replicator": {"request_timeout_ms": 5000, "transaction_timeout_ms": 10_000},
            "aggregator": {"refresh_seconds": 10.0, "skew_seconds": 1.0},
            "feeds": {FEED: {"name": FEED, "region": REGION, "clusters": [CLUSTER], **settings}},
        }
    )
