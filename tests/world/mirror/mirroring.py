"""Mirroring of one route in a world: its clusters, its ledger, and its carriers' processes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from balancer.topic_partition import TopicPartition
from replicator.config.names import PLAN_TOPIC, runs_topic_name
from replicator.config.topology import Appliance, Route
from replicator.kafka.client.cluster import Cluster
from replicator.mirror.ledger.entry import Entry
from replicator.mirror.ledger.ledger import Ledger
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.process import Process
from tests.world.world import World

ROUTE = Route("west", "east")
EPOCH_SECONDS = 3600.0


class Mirroring:
    """Clusters, ledger and carriers of one route, from west's regional to east's aggregate.

    Args:
        partitions: of each topic.
        balance: settings of the [balance] table.
        topic_settings: settings of the [topics] table.
        settings: of the [replicator] table.
    """

    def __init__(
        self,
        world: World,
        topics: Sequence[str],
        partitions: int,
        brokers: int = 3,
        balance: Mapping[str, Any] | None = None,
        topic_settings: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        self.world = world
        self.source = world.cluster("west-regional", brokers)
        self.target = world.cluster("east-aggregate", brokers)
        others = [world.cluster(name, 1) for name in ("west-aggregate", "east-regional")]
        self.other_source = others[1]
        """Cluster of the second route into the region, without topics unless a history has some."""
        self.appliance = _appliance(
            self.source, self.target, *others, settings, balance or {}, topic_settings or {}
        )
        self.places = [TopicPartition(t, n) for t in topics for n in range(partitions)]
        in_sync = min(2, brokers)
        for topic in topics:
            self.source.create(topic, partitions, min_in_sync=in_sync)
            self.target.create(topic, partitions, min_in_sync=in_sync)
        self.target.create(PLAN_TOPIC, 1)
        self.target.create(runs_topic_name(ROUTE.key), 4, min_in_sync=in_sync)
        self.client = Cluster("east aggregate", self.appliance.target_of(ROUTE))
        self.ledger = Ledger(self.client, ROUTE)
        self.carriers: list[Process] = []

    def mend(self) -> None:
        """Lets every stopped process go on."""
        for carrier in self.carriers:
            if carrier.is_stopped:
                carrier.resume()

    async def entries(self) -> dict[TopicPartition, Entry]:
        return await self.ledger.read(self.places)

    async def close(self) -> None:
        for carrier in self.carriers:
            carrier.kill()
        mains = [it.main for it in self.carriers if it.main is not None]
        await asyncio.gather(*mains, return_exceptions=True)
        await self.client.close()


def _appliance(
    source: KafkaCluster,
    target: KafkaCluster,
    other_aggregate: KafkaCluster,
    other_regional: KafkaCluster,
    replicator: Mapping[str, Any],
    balance: Mapping[str, Any],
    topics: Mapping[str, Any],
) -> Appliance:
    def region(regional: KafkaCluster, aggregate: KafkaCluster) -> dict[str, Any]:
        return {
            "redis": f"redis://{regional.name.removesuffix('-regional')}-redis:6379/0",
            "regional": {"bootstrap": regional.bootstrap},
            "aggregate": {"bootstrap": aggregate.bootstrap},
        }

    return Appliance.model_validate(
        {
            "regions": {
                "west": region(source, other_aggregate),
                "east": region(other_regional, target),
            },
            "replicator": replicator,
            "balance": balance,
            "topics": topics,
        }
    )
