"""Driver played by a test: adopted topics, plans and driver commands."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from balancer.topic_partition import TopicPartition
from replicator.config.names import driver_id
from replicator.config.topology import Appliance
from replicator.kafka.admin.admin import Admin
from replicator.kafka.client.cluster import Cluster
from replicator.mirror.carrier.carrier_assignment import CarrierAssignment
from replicator.mirror.driver.adoption import merged
from replicator.mirror.driver.own_topics import make_own_topics
from replicator.mirror.ledger.entry import Entry
from replicator.mirror.ledger.ledger import Ledger, virgin
from replicator.spark.driver_command import Driver
from replicator.spark.reassignment_delta import ReassignmentDelta
from tests.live.loop_thread import LoopThread
from tests.live.regions import Regions

PATIENCE_SECONDS = 120.0


class PlayedDriver:
    """Driver leadership, acquired on construction and given up at the end of the `with` block.

    Args:
        max_message_bytes: by topic, where the target's limit differs from Kafka's default.
        replication_factor: of Sluice's own topics.
    """

    def __init__(
        self,
        regions: Regions,
        appliance: Appliance,
        *,
        max_message_bytes: Mapping[str, int] | None = None,
        replication_factor: int = 1,
    ) -> None:
        self.routes, self.appliance = regions.routes, appliance
        self.topics: dict[str, int] = {}
        self.plan_version = 0
        self._since = 0
        self._moved: dict[tuple[str, TopicPartition], int | None] = {}
        self.regions, self.home = regions, regions.home
        self._limits = tuple((max_message_bytes or {}).items())
        self._loop = LoopThread()
        self.wait = self._loop.wait
        self.cluster = Cluster("target", appliance.region(self.home).aggregate)
        self.ledgers = {name: Ledger(self.cluster, route) for name, route in self.routes.items()}
        make_own_topics(
            Admin(self.home, appliance.region(self.home).aggregate),
            self.routes.values(),
            replication_factor,
        )
        self.wait(self.cluster.open())
        self.driver = Driver(self.cluster, driver_id(self.home))
        self.wait(self.driver.open())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.wait(self.cluster.close())
            self._loop.settle()
            if self.regions.uses_tls:
                self.wait(asyncio.sleep(0.5))  # TLS connections close in the background
        finally:
            self._loop.close()

    def adopt(self, topic: str, partitions: int = 1) -> None:
        """Commits virgin entries, for all routes, of the partitions that have none yet."""
        begin = self.topics.get(topic, 0)
        new = [TopicPartition(topic, number) for number in range(begin, partitions)]
        self.cluster.watch([topic])
        self.wait(self.cluster.refresh())
        commits = []
        for ledger in self.ledgers.values():
            commits.append(ledger.offsets({place: virgin(ledger, 0) for place in new}))
            commits.append(ledger.witness(topic, partitions))
        self.wait(self.driver.commit(merged(commits)))
        self.topics[topic] = partitions

    def entries(self, name: str | None = None) -> dict[TopicPartition, Entry]:
        """Returns the ledger of a route (default: that of the first source)."""
        ledger = self.ledgers[name or next(iter(self.routes))]
        return self.wait(ledger.read(self._places()))

    def _follow(self, where: Mapping[tuple[str, TopicPartition], int | None]) -> None:
        """Publishes the next plan as a reassignment within the running epoch.

        Args:
            where: the carrier that now has a partition, by route name and partition; None for no
                carrier.
        """
        self._moved |= {(self.routes[name].key, place): at for (name, place), at in where.items()}
        self.plan_version += 1
        delta = ReassignmentDelta(self._since, dict(self._moved), dict(self._limits))
        self.wait(self.driver.publish(self.plan_version, delta=delta))

    def _plan(self, carriers: int) -> list[CarrierAssignment]:
        """Publishes the next plan: per route, `carriers` carriers share all adopted partitions."""
        self.plan_version += 1
        self._since, self._moved = self.plan_version, {}
        self.wait(self.driver.publish(self.plan_version))
        places = self._places()
        return [
            CarrierAssignment(
                route=route,
                number=number,
                partitions=tuple(places[number::carriers]),
                term=self.driver.term,
                plan_version=self.plan_version,
                deadline=time.monotonic() + PATIENCE_SECONDS,
                max_message_bytes=self._limits,
            )
            for route in self.routes.values()
            for number in range(carriers)
        ]

    def _places(self) -> list[TopicPartition]:
        return [TopicPartition(t, n) for t, count in self.topics.items() for n in range(count)]
