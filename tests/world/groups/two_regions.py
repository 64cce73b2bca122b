"""Two regions in a world: each aggregate has the records of both, by routes of its own."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Any

from balancer.topic_partition import TopicPartition
from replicator.config.names import PLAN_TOPIC, driver_id, runs_topic_name
from replicator.config.topology import Appliance, Route
from replicator.kafka.client.cluster import Cluster
from replicator.mirror.carrier.carrier import carry
from replicator.mirror.carrier.carrier_assignment import CarrierAssignment
from replicator.mirror.driver.adoption import merged
from replicator.mirror.ledger.ledger import Ledger, virgin
from replicator.spark.driver_command import Driver
from tests.replicator.batches.source_batches import Record
from tests.world.groups.clients import Clients
from tests.world.groups.members import Members
from tests.world.groups.primary_log import create_topic
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.mirror.source_load import Sender
from tests.world.process import Process
from tests.world.world import World

REGIONS = ("west", "east")
TOPIC = "orders"
EPOCH_SECONDS = 3600.0


class RegionSender(Sender):
    """Producer whose values tell its region: both regions fill the same partitions."""

    def _record(self, at: int, now: int) -> Record:
        region = self.cluster.name.removesuffix("-regional")
        value = f"{region}:{self.place.topic}-{self.place.partition}-{self.sent + at}"
        return Record(at, now, b"k%d" % at, value.encode())


class TwoRegions:
    """Clusters, drivers and carriers of two regions and four routes.

    Args:
        partitions: of the one topic.
    """

    def __init__(self, world: World, partitions: int) -> None:
        self.world = world
        self.regional = {name: world.cluster(f"{name}-regional", 3) for name in REGIONS}
        self.aggregate = {name: world.cluster(f"{name}-aggregate", 3) for name in REGIONS}
        self.redis = {name: world.redis_of(name) for name in REGIONS}
        self.places = [TopicPartition(TOPIC, number) for number in range(partitions)]
        self.appliance = Appliance.model_validate(
            {
                "regions": {name: self._settings(name) for name in REGIONS},
                "replicator": {"ledger_seconds": 1.0, "request_timeout_ms": 5000},
            }
        )
        self.members = {name: Members(cluster) for name, cluster in self.aggregate.items()}
        self.clients = {
            name: Clients(
                self.appliance,
                name,
                self.aggregate[name],
                self.members[name],
                random.Random(f"{world.seed} clients of {name}"),
            )
            for name in REGIONS
        }
        self.sides = {name: Side(self, name) for name in REGIONS}
        self.senders = [
            RegionSender(self.regional[name], place, random.Random(world.dice.random()))
            for name in REGIONS
            for place in self.places
        ]

    def _settings(self, name: str) -> dict[str, Any]:
        self.regional[name].create(TOPIC, len(self.places), min_in_sync=2)
        self.aggregate[name].create(TOPIC, len(self.places), min_in_sync=2)
        return {
            "redis": self.redis[name].url,
            "regional": {"bootstrap": self.regional[name].bootstrap},
            "aggregate": {"bootstrap": self.aggregate[name].bootstrap},
        }

    def routes(self) -> list[Route]:
        return [route for name in REGIONS for route in self.appliance.routes_into(name)]

    @property
    def clusters(self) -> list[KafkaCluster]:
        return [*self.regional.values(), *self.aggregate.values()]


class Side:
    """Driver of one region, and the carriers of the routes into its aggregate."""

    def __init__(self, regions: TwoRegions, name: str) -> None:
        self.name, self._regions = name, regions
        self.routes = regions.appliance.routes_into(name)
        target = regions.aggregate[name]
        target.create(PLAN_TOPIC, 1)
        create_topic(target)
        for route in self.routes:
            target.create(runs_topic_name(route.key), 4, min_in_sync=2)
        self._client = Cluster(f"{name} aggregate", regions.appliance.region(name).aggregate)
        self._driver = Driver(self._client, driver_id(name))
        self._version = 0
        self.carriers: list[Process] = []

    async def begin(self) -> None:
        """Adopts all partitions of both routes, and begins the first epoch."""
        await self._client.open({TOPIC})
        await self._driver.open()
        commits = []
        for route in self.routes:
            ledger = Ledger(self._client, route)
            first = {place: virgin(ledger, 0) for place in self._regions.places}
            commits += [ledger.offsets(first), ledger.witness(TOPIC, len(first))]
        await self._driver.commit(merged(commits))
        await self.plan()

    async def plan(self) -> None:
        """Begins a new epoch with a carrier for each route."""
        self._version += 1
        await self._driver.publish(self._version)
        for route in self.routes:
            assignment = CarrierAssignment(
                route=route,
                number=0,
                partitions=tuple(self._regions.places),
                term=self._driver.term,
                plan_version=self._version,
                deadline=time.monotonic() + EPOCH_SECONDS,
            )
            made = Process(f"carrier {route.name} {self._version}")
            self.carriers.append(made.start(carry(self._regions.appliance, assignment)))

    def running(self) -> list[Process]:
        """Returns the carriers that run and are not stopped."""
        return [it for it in self.carriers if not (it.is_dead or it.is_stopped or it.has_ended)]

    async def close(self) -> None:
        for carrier in self.carriers:
            carrier.kill()
        mains = [it.main for it in self.carriers if it.main is not None]
        await asyncio.gather(*mains, return_exceptions=True)
        await self._client.close()
