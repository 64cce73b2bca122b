"""Feeding of one feed in a world: its cluster, its shard, its driver, and loaders as processes."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterable
from dataclasses import replace
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
from aggregator.loader.shard_tables import ShardTables
from aggregator.store.shard_store import ShardStore
from balancer.plan import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance
from replicator.config.topology import KafkaCluster as Settings
from replicator.kafka.client.cluster import Cluster, Fenced
from replicator.notices.conditions import Conditions
from replicator.orders.feed_orders import FeedOrders
from tests.world.kafka.admin import WorldAdmin
from tests.world.process import Process
from tests.world.sinks.client import clickhouse_of
from tests.world.sinks.feed_load import TABLES
from tests.world.sinks.keeper import Keeper, KeptTable
from tests.world.sinks.server import Server
from tests.world.world import World

FEED, REGION = "air", "east"
CLUSTER = ClusterName.aggregate(REGION)
EPOCH_SECONDS = 3600.0
CLEANING_SECONDS = 2.0


class NoReports(ReportStore):
    """Reports that nobody stores: they are no part of the truth."""

    def __init__(self, _: str) -> None:
        pass

    def write(self, reports: Any) -> None:
        pass

    def write_totals(self, loader_id: str, totals: Any) -> None:
        pass


class Feeding:
    """Feeding of one feed from the aggregate of a region.

    Args:
        partitions: of each topic.
        replicas: of the shard.
        settings: of the feed.
    """

    def __init__(
        self,
        world: World,
        topics: Iterable[str],
        partitions: int,
        brokers: int,
        replicas: int,
        quorum: int,
        window_seconds: float,
        **settings: Any,
    ) -> None:
        self.world = world
        self.cluster = world.cluster("east-aggregate", brokers)
        self.dice = random.Random(world.dice.random())
        self.keeper = Keeper([KeptTable(name, window_seconds) for name in TABLES])
        has_token = self.dice.random() < 0.5
        self.servers = {
            name: Server(
                name,
                self.keeper,
                world.loop,
                random.Random(self.dice.random()),
                has_token=has_token,
            )
            for name in (f"ch-{number}" for number in range(1, replicas + 1))
        }
        topics = list(topics)
        self.appliance = _appliance(self.cluster.bootstrap, topics, self.servers, quorum, settings)
        self.feed = self.appliance.feed(FEED)
        self.quorum = quorum
        self.places = [TopicPartition(t, n) for t in topics for n in range(partitions)]
        for topic in topics:
            self.cluster.create(topic, partitions, min_in_sync=min(2, brokers))
        self.leadership = ClusterLeadership(
            self.appliance, REGION, CLUSTER, [self.feed], self._admin
        )
        self.client = Cluster("east aggregate", self.appliance.cluster(CLUSTER))
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
        self.world.loop.create_task(self._clean())

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
        """Returns makers whose parts reach the servers of this world."""
        own = clickhouse_of(self.servers)

        def make_store(*args: Any, **more: Any) -> ShardStore:
            return ShardStore(*args, make_server=own, **more)

        make_tables = makers.shard_tables if makers.shard_tables is not ShardTables else ShardTables
        return replace(
            makers,
            shard_tables=partial(make_tables, make_store=make_store),
            report_store=NoReports,
        )

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

    async def _clean(self) -> None:
        """Forgets hashes of old blocks, as the servers' cleaning threads do."""
        loop = self.world.loop
        while True:
            await asyncio.sleep(self.dice.uniform(0.5, 1.5) * CLEANING_SECONDS)
            for table in self.keeper.tables.values():
                table.forget_old(loop.time())


def _appliance(
    bootstrap: list[str],
    topics: list[str],
    servers: Iterable[str],
    quorum: int,
    settings: dict[str, Any],
) -> Appliance:
    shard = {
        "topics": topics,
        "database": "air",
        "replicas": [f"clickhouse://{name}" for name in servers],
        "quorum": quorum,
    }
    return Appliance.model_validate(
        {
            "regions": {
                REGION: {
                    "redis": "redis://nowhere:6379/0",
                    "regional": {"bootstrap": ["nowhere:9092"]},
                    "aggregate": {"bootstrap": bootstrap},
                }
            },
            "replicator": {"request_timeout_ms": 5000},
            "aggregator": {"refresh_seconds": 10.0, "skew_seconds": 1.0},
            "feeds": {
                FEED: {
                    "name": FEED,
                    "region": REGION,
                    "clusters": [CLUSTER],
                    "table_from": "header",
                    "block_seconds": 0.5,
                    "reference_seconds": 5.0,
                    "insert_timeout_seconds": 5.0,
                    "retry_seconds": 0.1,
                    "retry_seconds_max": 2.0,
                    "shards": [shard],
                    **settings,
                }
            },
        }
    )
