"""Feeding of one feed in a world: its cluster, its shard, its driver, and loaders as processes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from aggregator.driver import store_probe
from aggregator.driver.cluster_leadership import AskStore
from aggregator.loader.known_records import TableRecords
from aggregator.loader.loader_assembly import Makers
from aggregator.store.shard_store import ShardStore
from replicator.config.feed_settings import ClickHouseFeed
from tests.world.sinks.client import clickhouse_of
from tests.world.sinks.feed_load import TABLES
from tests.world.sinks.keeper import Keeper, KeptTable
from tests.world.sinks.loaded_feed import CLUSTER, LoadedFeed, NoReports, appliance_of
from tests.world.sinks.poison import Defect, failing
from tests.world.sinks.server import Server
from tests.world.world import World

CLEANING_SECONDS = 2.0
ASK_SECONDS = 5.0


class Feeding(LoadedFeed):
    """Feeding of one feed from the aggregate of a region.

    Args:
        partitions: of each topic.
        replicas: of the shard.
        tells_logs: rows name the log that they are of.
        tables: of the shard.
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
        tells_logs: bool = False,
        tables: Iterable[str] = TABLES,
        **settings: Any,
    ) -> None:
        cluster = world.cluster("east-aggregate", brokers)
        self.dice = random.Random(world.dice.random())
        self.keeper = Keeper(
            [KeptTable(name, window_seconds, tells_logs=tells_logs) for name in tables]
        )
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
        self.quorum = quorum
        self.defect: Defect | None = None
        """Defect of the loaders; None: they load all records."""
        topics = list(topics)
        appliance = appliance_of(
            cluster.bootstrap, _settings(topics, self.servers, quorum) | settings
        )
        super().__init__(world, cluster, appliance, topics, partitions)

    async def begin(self) -> None:
        await super().begin()
        self.world.loop.in_background(self._clean())

    def connected(self, makers: Makers) -> Makers:
        makers = failing(makers, self.defect) if self.defect else makers
        return replace(
            makers,
            shard_tables=partial(makers.shard_tables, make_store=self.make_store),
            report_store=NoReports,
        )

    @property
    def ask_store(self) -> AskStore:
        return partial(store_probe.stored, make_shard=self.make_store)

    def known(self) -> TableRecords:
        """Returns what an operator's command asks the tables."""
        assert isinstance(self.feed, ClickHouseFeed)
        return TableRecords(self.feed, CLUSTER, ASK_SECONDS, make_store=self.make_store)

    def make_store(self, *args: Any, **more: Any) -> ShardStore:
        """Returns a store whose servers are those of this world."""
        return ShardStore(*args, make_server=clickhouse_of(self.servers), **more)

    async def _clean(self) -> None:
        """Forgets hashes of old blocks, as the servers' cleaning threads do."""
        loop = self.world.loop
        while True:
            await asyncio.sleep(self.dice.uniform(0.5, 1.5) * CLEANING_SECONDS)
            for table in self.keeper.tables.values():
                self.keeper.zxid += 1
                table.forget_old(loop.time(), self.keeper.zxid)


def _settings(topics: list[str], servers: Iterable[str], quorum: int) -> dict[str, Any]:
    shard = {
        "topics": topics,
        "database": "air",
        "replicas": [f"clickhouse://{name}" for name in servers],
        "quorum": quorum,
    }
    return {
        "table_from": "header",
        "block_seconds": 0.5,
        "reference_seconds": 5.0,
        "insert_timeout_seconds": 5.0,
        "retry_seconds": 0.1,
        "retry_seconds_max": 2.0,
        "shards": [shard],
    }
