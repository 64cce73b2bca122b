"""Ledger entries that no carrier renews, on a broker that expires commits after a minute."""

import asyncio
import time
import uuid

from balancer.plan import TopicPartition
from replicator.config.names import driver_id
from replicator.config.topology import KafkaCluster as Settings
from replicator.config.topology import Route
from replicator.kafka.admin.admin import Admin
from replicator.kafka.client.cluster import Cluster
from replicator.mirror.driver.adoption import Adoption
from replicator.mirror.driver.own_topics import make_own_topics
from replicator.mirror.ledger.entry import Custody, Entry
from replicator.mirror.ledger.ledger import Ledger
from replicator.mirror.topics.topic_plan import Carried
from replicator.spark.driver_command import Driver

LOOK_SECONDS = 2.0
FORGOTTEN_SECONDS_MAX = 180.0


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
