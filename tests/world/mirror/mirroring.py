"""Mirroring of one route in a world: its clusters, its driver, and carriers as processes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from balancer.plan import TopicPartition
from replicator.config.names import PLAN_TOPIC, driver_id, runs_topic_name
from replicator.config.topology import Appliance, Route
from replicator.kafka.client.cluster import Cluster
from replicator.mirror.carrier.assembly import MAKERS, Makers, assemble
from replicator.mirror.carrier.assignment import Assignment
from replicator.mirror.carrier.carrier import carry
from replicator.mirror.driver.adoption import merged
from replicator.mirror.ledger.entry import Entry
from replicator.mirror.ledger.ledger import Ledger, virgin
from replicator.spark.driver_command import Driver
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.process import Process
from tests.world.world import World

ROUTE = Route("west", "east")
EPOCH_SECONDS = 3600.0


class Mirroring:
    """Mirroring of one route, from west's regional cluster to east's aggregate.

    Its driver is played: each plan begins a new epoch, with carriers that start at once.

    Args:
        partitions: of each topic.
        settings: of the [replicator] table.
    """

    def __init__(
        self,
        world: World,
        topics: Sequence[str],
        partitions: int,
        brokers: int = 3,
        **settings: Any,
    ) -> None:
        self.world = world
        self.source = world.cluster("west-regional", brokers)
        self.target = world.cluster("east-aggregate", brokers)
        others = [world.cluster(name, 1) for name in ("west-aggregate", "east-regional")]
        self.appliance = _appliance(self.source, self.target, *others, settings)
        self.places = [TopicPartition(t, n) for t in topics for n in range(partitions)]
        self.plan_version = 0
        in_sync = min(2, brokers)
        for topic in topics:
            self.source.create(topic, partitions, min_in_sync=in_sync)
            self.target.create(topic, partitions, min_in_sync=in_sync)
        self.target.create(PLAN_TOPIC, 1)
        self.target.create(runs_topic_name(ROUTE.key), 4, min_in_sync=in_sync)
        self.client = Cluster("east aggregate", self.appliance.target_of(ROUTE))
        self.ledger = Ledger(self.client, ROUTE)
        self.driver = Driver(self.client, driver_id(ROUTE.target))
        self.carriers: list[Process] = []

    async def begin(self) -> None:
        """Adopts all partitions, as the driver of the region."""
        await self.client.open({place.topic for place in self.places})
        await self.driver.open()
        commits = [self.ledger.offsets({place: virgin(self.ledger, 0) for place in self.places})]
        topics = {place.topic for place in self.places}
        partitions = len(self.places) // len(topics)
        commits += [self.ledger.witness(topic, partitions) for topic in topics]
        await self.driver.commit(merged(commits))

    async def plan(self) -> None:
        """Publishes the next plan, which begins a new epoch."""
        self.plan_version += 1
        await self.driver.publish(self.plan_version)

    async def place(
        self, loads: Mapping[int, Iterable[TopicPartition]], makers: Makers = MAKERS
    ) -> None:
        """Lets carriers have these partitions from now on, by their numbers."""
        await self.plan()
        for number, places in loads.items():
            self.carrier(number, places, makers)

    def carrier(
        self, number: int, places: Iterable[TopicPartition], makers: Makers = MAKERS
    ) -> Process:
        """Starts a carrier process of the present plan."""
        assignment = Assignment(
            route=ROUTE,
            number=number,
            partitions=tuple(places),
            term=self.driver.term,
            plan_version=self.plan_version,
            deadline=time.time() + EPOCH_SECONDS,
        )
        made = Process(f"carrier {number}")
        made.start(carry(self.appliance, assignment, partial(assemble, makers=makers)))
        self.carriers.append(made)
        return made

    def mend(self) -> None:
        """Lets every stopped process go on."""
        for carrier in self.carriers:
            if carrier.is_stopped:
                carrier.resume()

    def outdated(self) -> list[str]:
        """Returns the carriers that run and should have ended; a played driver has none."""
        return []

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
    replicator: dict[str, Any],
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
        }
    )
