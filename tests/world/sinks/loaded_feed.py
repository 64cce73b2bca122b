"""Loaded feed: a feed of one cluster in a world, its driver, and loaders as processes."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from aggregator.driver.cluster_leadership import AskStore, ClusterLeadership
from aggregator.driver.feed_adoption import FeedAdoption
from aggregator.driver.feed_source import kept_loading
from aggregator.intents.intent import Intent
from aggregator.intents.intent_store import IntentStore
from aggregator.intents.stored import Stored
from aggregator.loader.known_records import KnownRecords
from aggregator.loader.loader import load
from aggregator.loader.loader_assembly import MAKERS, Makers, assemble
from aggregator.loader.loader_assignment import LoaderAssignment
from aggregator.loader.report_store import ReportStore
from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import Feed
from replicator.config.topology import Appliance
from replicator.config.topology import KafkaCluster as Settings
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered, Cluster, Fenced, ProducerStateLost
from replicator.notices.conditions import Conditions
from replicator.orders.feed_orders import FeedOrders
from replicator.spark.driver_command import TermSuperseded
from tests.world.kafka.admin import WorldAdmin
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.kafka.progress_retention import RETENTION, Retention, begin_retention
from tests.world.process import Process
from tests.world.world import World

T = TypeVar("T")
FEED, REGION = "air", "east"
CLUSTER = ClusterName.aggregate(REGION)
EPOCH_SECONDS = 3 * 3600.0
AHEAD_SECONDS = (15.0, 3600.0)
"""Seconds by which a clock is ahead or behind, at least and at most."""
DRIFT_MAX = 0.01
LOOK_SECONDS = 10.0
"""Longest pause between two looks of a driver for partitions."""


class NoReports(ReportStore):
    """Reports that nobody stores: they are no part of the truth."""

    def __init__(self, _: str) -> None:
        pass

    def write(self, reports: Any) -> None:
        pass

    def write_totals(self, loader_id: str, totals: Any) -> None:
        pass


def as_it_is(stored: Stored) -> Stored:
    """Returns what a store has told."""
    return stored


@dataclass(frozen=True, slots=True)
class Driving:
    """Driver that looks for partitions again and again, in a cluster that forgets progress.

    Args:
        make_adoption: makes its adoption.
        believed: returns what it makes of a store's answer about a partition.
        retention: of the cluster.
    """

    make_adoption: Callable[..., FeedAdoption] = FeedAdoption
    believed: Callable[[Stored], Stored] = as_it_is
    retention: Retention = RETENTION


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
        self.driving: Driving | None = None
        self.clock_dice: random.Random | None = None
        """Decides the clocks of loaders and drivers; None: they are those of the world."""
        self.driver_ended: Callable[[], object] = int
        """Called when a driver's process has ended by itself."""
        self.feed: Feed = appliance.feed(FEED)
        topics = list(topics)
        self.places = [TopicPartition(t, n) for t in topics for n in range(partitions)]
        for topic in topics:
            cluster.create(topic, partitions, min_in_sync=min(2, len(cluster.brokers)))
        self.client = Cluster("east aggregate", appliance.cluster(CLUSTER))
        self.intents = IntentStore(self.client, FEED)
        self.plan_version = 0
        self.loaders: list[Process] = []
        self.drivers: list[Process] = []

    def drive(self, driving: Driving, driver_ended: Callable[[], object]) -> None:
        """Has the cluster forget progress, and the driver look for partitions again and again."""
        self.driving, self.driver_ended = driving, driver_ended
        begin_retention(self.cluster, driving.retention)

    async def begin(self) -> None:
        """Leads in the cluster, and adopts all partitions."""
        await self.client.open({place.topic for place in self.places})
        await self.lead()
        found = await self._in_driver(self.leadership.partitions())
        assert found[FEED] == sorted(self.places)
        if self.driving:
            self.keep_looking()

    async def lead(self) -> None:
        """Leads in the cluster as a driver that knows nothing of the one before."""
        self.leadership = ClusterLeadership(
            self.appliance,
            REGION,
            CLUSTER,
            [self.feed],
            self._admin,
            self._asked,
            self.driving.make_adoption if self.driving else FeedAdoption,
        )
        if self.driving:
            driver = Process(f"driver {len(self.drivers) + 1}")
            self.set_clock(driver)
            self.drivers.append(driver)
        await self._in_driver(self._begin_term())

    async def _begin_term(self) -> None:
        await self.leadership.prepare()
        await self.leadership.acquire()

    async def _in_driver(self, work: Coroutine[Any, Any, T]) -> T:
        """Does something in the driver's process, if it has one: its connections belong to it."""
        if not self.drivers:
            return await work
        main = self.drivers[-1].start(work).main
        assert main is not None
        found: T = await main
        return found

    async def end_driver(self, *, is_killed: bool) -> None:
        """Ends the driver. One that is killed notes nothing."""
        driver = self.drivers[-1]
        if is_killed:
            driver.kill()
        elif driver.main is not None:
            driver.main.cancel()
        await asyncio.gather(*filter(None, [driver.main]), return_exceptions=True)
        await self._in_driver(self.leadership.close())
        driver.kill()

    def keep_looking(self) -> None:
        """Has the driver look for partitions again and again."""
        self.drivers[-1].start(self._keep_looking())

    async def _keep_looking(self) -> None:
        leadership = self.leadership
        keeping = asyncio.create_task(leadership.keep())
        with suppress(Fenced, ProducerStateLost, TermSuperseded):
            try:
                while not keeping.done():
                    try:
                        await leadership.partitions()
                    except (Fenced, ProducerStateLost):
                        break
                    except (AdminError, Answered, Unreachable, OSError):
                        pass
                    pause = min(LOOK_SECONDS, leadership.pause_seconds)
                    await asyncio.wait([keeping], timeout=pause)
            finally:
                keeping.cancel()
                await asyncio.gather(keeping, return_exceptions=True)
        self.driver_ended()

    async def _asked(self, *asked: Any) -> Mapping[TopicPartition, Stored]:
        found = await self.ask_store(*asked)
        believed = self.driving.believed if self.driving else as_it_is
        return {place: believed(each) for place, each in found.items()}

    async def plan(self) -> None:
        """Publishes the next plan, which begins a new epoch."""
        self.plan_version += 1
        if self.drivers and (self.drivers[-1].is_dead or self.drivers[-1].has_ended):
            await self.lead()
            self.keep_looking()
        while True:
            try:
                await self.leadership.publish(self.plan_version)
                self.leadership.want(self.plan_version)
                return
            except Fenced:
                # The broker aborted a transaction that took too long, under a newer epoch.
                await self.leadership.acquire()

    def set_clock(self, process: Process) -> None:
        """Sets the wall clock of a process, where the dice decide clocks."""
        if dice := self.clock_dice:
            shortest, longest = map(math.log, AHEAD_SECONDS)
            process.clock_ahead = dice.choice([-1, 1]) * math.exp(dice.uniform(shortest, longest))
            process.clock_drift = dice.uniform(-DRIFT_MAX, DRIFT_MAX)

    async def stop(self) -> None:
        """Has all loaders release what they hold, and end."""
        with suppress(Fenced):
            await self.leadership.publish(self.plan_version, stop=True)

    def known(self) -> KnownRecords:
        """Returns what an operator's command asks the store."""
        raise NotImplementedError

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
            deadline=time.monotonic() + EPOCH_SECONDS,
        )
        session = partial(assemble, makers=self.connected(makers))
        made = Process(f"loader {number} of plan {self.plan_version}")
        self.set_clock(made)
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

    @property
    def ask_store(self) -> AskStore:
        """Asks the store of this world what it has of partitions without an intent."""
        raise NotImplementedError

    async def read(self) -> dict[TopicPartition, Intent]:
        """Returns the intents of now."""
        return await self.intents.read(self.places)

    def kill_all(self) -> None:
        """Kills all loaders and drivers."""
        for process in (*self.loaders, *self.drivers):
            process.kill()

    async def close(self) -> None:
        self.kill_all()
        processes = (*self.loaders, *self.drivers)
        mains = [it.main for it in processes if it.main is not None]
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
