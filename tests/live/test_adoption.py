"""Ledger entries that no carrier has acquired yet."""

import asyncio
import json
import time
import uuid

from confluent_kafka import Producer
from confluent_kafka.admin import NewPartitions

from balancer.plan import TopicPartition
from replicator.config.names import driver_id
from replicator.config.topology import KafkaCluster as Settings
from replicator.config.topology import Route, load
from replicator.kafka.admin.admin import Admin
from replicator.kafka.client.cluster import Cluster
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

LOOK_SECONDS = 2.0
PATIENCE_SECONDS = 60.0
FORGOTTEN_SECONDS_MAX = 180.0


class Postings:
    """Place in which plans are left, and nobody reads them."""

    def write(self, posting: object) -> None:
        pass


class AdoptingDriver:
    """A driver that adopts one topic of one route, whose source does not have the topic."""

    def __init__(self, cluster: Cluster, admin: Admin, topic: str) -> None:
        target = f"east-{uuid.uuid4().hex[:6]}"
        self._route = Route("west", target)
        self._driver = Driver(cluster, driver_id(target))
        self._ledger = Ledger(cluster, self._route)
        self._carried = Carried(self._route, topic, 1, uuid.uuid4(), uuid.uuid4())
        self._place = TopicPartition(topic, 0)
        make_own_topics(admin, [self._route], 1)
        self._adoption = Adoption(
            cluster=cluster,
            admin=admin,
            driver=self._driver,
            routes=[self._route],
            renew_seconds=1.0,
        )

    async def adopt(self, *, first: bool = False) -> None:
        if first:
            await self._driver.open()
        await self._adoption.adopt([self._carried])

    async def entry(self) -> Entry | None:
        return (await self._ledger.read([self._place])).get(self._place)


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


async def test_an_entry_that_waits_for_its_source_outlives_the_brokers_retention(
    forgetful, make_topic
):
    """Adopts two entries, of which only one has a driver that renews it; the broker keeps offsets
    for a minute."""
    topic = make_topic(forgetful)
    settings = Settings(bootstrap=(forgetful.bootstrap,))
    cluster, admin = Cluster("east aggregate", settings), Admin("east aggregate", settings)
    await cluster.open([topic])
    try:
        kept, left = (
            AdoptingDriver(cluster, admin, topic),
            AdoptingDriver(cluster, admin, topic),
        )
        await kept.adopt(first=True)
        await left.adopt(first=True)
        was_there = False
        give_up_at = time.monotonic() + FORGOTTEN_SECONDS_MAX
        # EndTxn is answered before its marker is written, so the entry may be visible only later.
        while await left.entry() or not was_there:
            was_there |= await left.entry() is not None
            assert time.monotonic() < give_up_at, "this broker forgets nothing"
            await asyncio.sleep(LOOK_SECONDS)
            await kept.adopt()
        entry = await kept.entry()
        assert entry is not None
        assert entry.custody is Custody.VIRGIN
    finally:
        await cluster.close()
