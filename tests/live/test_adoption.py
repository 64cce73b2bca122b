"""Ledger entries that no carrier has acquired yet."""

import asyncio
import json
import time
import uuid
from dataclasses import replace

from confluent_kafka import Producer
from confluent_kafka.admin import NewPartitions

from balancer.topic_partition import TopicPartition
from replicator.config.names import carrier_id, driver_id, unheld_id
from replicator.config.topology import KafkaCluster as Settings
from replicator.config.topology import Route, load
from replicator.kafka.admin.admin import Admin
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.driver.adoption import Adoption
from replicator.mirror.driver.driver_leadership import DriverLeadership
from replicator.mirror.driver.own_topics import make_own_topics
from replicator.mirror.driver.planner import Planner
from replicator.mirror.ledger.entry import Custody, Entry
from replicator.mirror.ledger.ledger import Ledger
from replicator.mirror.topics.topic_plan import Carried
from replicator.notices.conditions import Conditions
from replicator.spark.driver_command import Driver
from tests.live.topics import alter

LOOK_SECONDS = 0.5
PATIENCE_SECONDS = 60.0
FORGOTTEN_SECONDS_MAX = 180.0

PARTITIONS = 3
"""A partition that its source does not have, one whose carrier has released it and is not to carry
it again, and one that is parked."""
WAITING, RELEASED, PARKED = range(PARTITIONS)


class Postings:
    """Place in which plans are left, and nobody reads them."""

    def write(self, posting: object) -> None:
        pass


class AdoptingDriver:
    """A driver that adopts one topic of one route, of which no carrier carries a partition."""

    def __init__(self, cluster: Cluster, admin: Admin, topic: str) -> None:
        target = f"east-{uuid.uuid4().hex[:6]}"
        self._route, self._cluster = Route("west", target), cluster
        self._driver = Driver(cluster, driver_id(target))
        self._ledger = Ledger(cluster, self._route)
        self._carried = Carried(self._route, topic, PARTITIONS, uuid.uuid4(), uuid.uuid4())
        self._places = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        make_own_topics(admin, [self._route], 1)
        self._adoption = Adoption(
            cluster=cluster,
            admin=admin,
            driver=self._driver,
            routes=[self._route],
        )

    async def adopt(self, *, first: bool = False) -> None:
        if first:
            await self._driver.open()
        await self._adoption.adopt([self._carried])

    async def carry(self) -> None:
        """Releases one partition and parks another one, as a carrier does."""
        id_of = carrier_id(self._route.key, 0)
        adopted = await FencedCommitter(self._cluster, unheld_id(self._route.key)).open()
        places = [self._places[number] for number in (RELEASED, PARKED)]
        before = await self._ledger.read_as_holder(adopted, places)
        carrier = await FencedCommitter(self._cluster, id_of).open()
        held = {
            place: replace(
                entry,
                custody=Custody.HELD,
                source_offset=7,
                producer_id=carrier.producer_id,
                epoch=carrier.epoch,
                transactional_id=id_of,
            )
            for place, entry in before.items()
        }
        released = replace(
            held[places[0]], custody=Custody.RELEASED, transactional_id=f"{id_of}.free"
        )
        parked = held[places[1]].park(Loss(LossKind.SOURCE_CORRUPT, 7, 8, "bad"))
        await self._ledger.replace(adopted, before, {places[0]: released, places[1]: parked})

    async def entries(self) -> dict[int, Entry]:
        found = await self._ledger.read(self._places)
        return {place.partition: entry for place, entry in found.items()}

    async def is_forgotten(self) -> bool:
        """Returns True once neither the entries nor the witness are there."""
        return not await self.entries() and not await self._ledger.witnessed(self._places[0].topic)


async def test_latest_is_a_moment_and_a_lowered_retention_waits_for_the_ledger(
    regional, aggregate, make_topic, tmp_path, redis
):
    """A driver without carriers: two partitions with records, later a third, and lower retention
    of this topic and of an empty one."""
    name = make_topic(regional, partitions=2, config={"retention.ms": "9000000"})
    empty = make_topic(regional, config={"retention.ms": "9000000"})
    producer = Producer(regional.librdkafka_options())
    for number in range(5):
        producer.produce(name, str(number), partition=1)
    producer.flush()
    # Under a region of its own: the ledger of "east" in this cluster has entries of other tests.
    region = f"r{uuid.uuid4().hex[:8]}"
    file = tmp_path / "appliance.toml"
    file.write_text(
        f"""
routes = ["west>{region}"]
[topics]
allow = ["{name}", "{empty}"]
refresh_seconds = 1.0
start = "latest"
[regions.west]
redis = "{redis.url}"
regional.bootstrap = {json.dumps(regional.bootstrap.split(","))}
aggregate.bootstrap = ["127.0.0.1:1"]
[regions.{region}]
redis = "{redis.url}"
regional.bootstrap = ["127.0.0.1:2"]
aggregate.bootstrap = {json.dumps(aggregate.bootstrap.split(","))}
"""
    )
    appliance = load(file)
    (route,) = appliance.routes_into(region)
    target = Cluster("target", appliance.region(region).aggregate)
    admin = Admin("target", appliance.region(region).aggregate)
    leadership = DriverLeadership(appliance, region, Planner(), Postings(), Conditions("test"))
    await target.open()
    await leadership.prepare()
    await leadership.acquire((), lambda: 1)
    keeping = asyncio.create_task(leadership.keep())
    try:
        client = regional.admin()
        client.create_partitions([NewPartitions(name, 3)])[name].result(30)
        for topic in (name, empty):
            await asyncio.to_thread(alter, regional, topic, {"retention.ms": "8000000"})
        places = [TopicPartition(name, number) for number in range(3)]

        def retention():
            topics = admin.topics([name, empty])
            return {topic.name: topic.configs.values["retention.ms"] for topic in topics}

        async def is_done():
            adopted = len(await Ledger(target, route).read(places)) == len(places)
            return adopted and (await asyncio.to_thread(retention))[empty] == "8000000"

        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await is_done():  # noqa: ASYNC110
                await asyncio.sleep(0.2)
        assert (await asyncio.to_thread(retention))[name] == "9000000"
        entries = await Ledger(target, route).read(places)
        begins = [entries[place].begin for place in places]
        assert [begin and begin.source_offset for begin in begins] == [0, 5, 0]
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        await leadership.close()
        await target.close()


async def test_entries_that_no_carrier_renews_outlive_the_brokers_retention(forgetful, make_topic):
    """Two drivers adopt, of which only one lives on; the broker keeps offsets for a minute."""
    topic = make_topic(forgetful, partitions=PARTITIONS)
    settings = Settings(bootstrap=(forgetful.bootstrap,))
    cluster, admin = Cluster("east aggregate", settings), Admin("east aggregate", settings)
    await cluster.open([topic])
    try:
        kept, left = (
            AdoptingDriver(cluster, admin, topic),
            AdoptingDriver(cluster, admin, topic),
        )
        for each in (kept, left):
            await each.adopt(first=True)
            await each.carry()
        before = await kept.entries()
        give_up_at = time.monotonic() + FORGOTTEN_SECONDS_MAX
        while not await left.is_forgotten():
            assert time.monotonic() < give_up_at, "this broker forgets nothing"
            await asyncio.sleep(LOOK_SECONDS)
            await kept.adopt()
        assert await kept.entries() == before
        assert before[WAITING].custody is Custody.VIRGIN
        assert before[RELEASED].custody is Custody.RELEASED
        assert before[PARKED].parked is not None
    finally:
        await cluster.close()
