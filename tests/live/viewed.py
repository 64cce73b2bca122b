"""Region west with something of everything that a viewer can see, and its copies in region east."""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack
from dataclasses import replace

from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as AioPartition
from aiokafka.structs import OffsetAndMetadata
from confluent_kafka import Producer
from redis import Redis

from balancer.topic_partition import TopicPartition
from deploy.lab.kafka import KafkaCluster
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance, Route
from replicator.groups.copies.commit_store import CommitStore
from replicator.groups.copies.runs_copies import RunsCopies
from replicator.groups.copies.runs_tailer import runs_tailer
from replicator.groups.membership.primary_log import PrimaryLog
from replicator.groups.membership.primary_region import decided
from replicator.groups.membership.primary_store import PrimaryStore
from replicator.kafka.tail.consumer_offsets import commit_tailer
from replicator.mirror.ledger.entry import encode
from replicator.mirror.ledger.ledger import group_of
from replicator.mirror.offset_map.carrier_reports import reports_index
from replicator.mirror.offset_map.reports import PartitionReport, packed
from replicator.notices.event import Event
from replicator.notices.noting import note_events
from replicator.orders.balance_log import BalanceLog
from replicator.orders.order_records import Pause
from replicator.runtime import expiring_values
from tests.live.copying import copying, until_fresh
from tests.live.runs import create_runs_topic
from tests.live.topics import create
from tests.replicator.mirror.ledger.held import held

ROUTE = Route("west", "west")
TOPIC, GROUP = "orders", "billing"
ENTRY = held(source_offset=4, target_offset=4, sequence=4, transactional_id="sluice.west.west.0")
REPORT = PartitionReport(ROUTE.name, TOPIC, 0, 3, 20.0, 900.0, 10, 7, 3, 0.5, None, 0.0)
WHO = "ann@ops"


def fill(appliance: Appliance, regional: KafkaCluster, aggregate: KafkaCluster) -> None:
    """Makes a mirrored topic, a group, an order, a decision, an event, a report, and copies."""
    for cluster in (regional, aggregate):
        create(cluster, TOPIC, 1)
        producer = Producer(cluster.librdkafka_options())
        for number in range(10):
            producer.produce(TOPIC, str(number), partition=0)
        assert producer.flush(30) == 0
    create_runs_topic(aggregate, ROUTE.key)
    asyncio.run(_commit(appliance, group_of(ROUTE, TopicPartition(TOPIC, 0)), *encode(ENTRY)))
    asyncio.run(_commit(appliance, GROUP, 3, ""))
    _decide(appliance)
    _publish(appliance)
    _copy(appliance)


async def _commit(appliance: Appliance, group: str, offset: int, metadata: str) -> None:
    """Commits an offset of the topic's partition in the aggregate, with exactly this metadata."""
    cluster = appliance.region("west").aggregate
    consumer = AIOKafkaConsumer(
        bootstrap_servers=list(cluster.bootstrap),
        **cluster.security.aiokafka_options(),
        group_id=group,
        enable_auto_commit=False,
    )
    where = AioPartition(TOPIC, 0)
    consumer.assign([where])
    await consumer.start()
    await consumer.commit({where: OffsetAndMetadata(offset, metadata)})
    await consumer.stop()


def _decide(appliance: Appliance) -> None:
    """Records an order, and where the group lives."""
    name, region = ClusterName.aggregate("west"), appliance.region("west")
    now_ms = time.time_ns() // 1_000_000
    orders = BalanceLog(name, region.aggregate)
    orders.make_topic()
    orders.write([Pause(route=ROUTE.key, at_ms=now_ms, who=WHO, why="load test", topic=TOPIC)])
    record = decided(None, GROUP, "west", at_ms=now_ms, who=WHO, why="lives here")
    decisions = PrimaryLog(name, region.aggregate)
    decisions.make_topic()
    decisions.write([record])
    with PrimaryStore(region.redis_url()) as store:
        store.write([record])


def _publish(appliance: Appliance) -> None:
    """Publishes an event, and a carrier's report."""
    region, now = appliance.region("west"), time.time()
    at_ms = int(now * 1000)
    event = Event(at_ms=at_ms, kind="order", level="info", who=WHO, text="pause", result="recorded")
    assert note_events(region, [event])
    report = replace(REPORT, at=now)
    with Redis.from_url(region.redis_url()) as client:
        index = reports_index(ROUTE.key)
        expiring_values.put(client, index, "3", packed([report]), 3_600_000)


def _copy(appliance: Appliance) -> None:
    """Copies the commits and runs of west into the Redis of east, as `sluice offsets` does."""
    name, cluster = ClusterName.aggregate("west"), appliance.region("west").aggregate
    url = appliance.region("east").redis_url()
    with ExitStack() as stack:
        commits = stack.enter_context(CommitStore(url, "west"))
        runs = stack.enter_context(RunsCopies(url, ROUTE.key))
        stack.enter_context(copying(commit_tailer(name, cluster), commits))
        stack.enter_context(copying(runs_tailer(name, cluster, ROUTE.key), runs))
        for store in (commits, runs):
            until_fresh(store)
