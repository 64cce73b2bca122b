"""The runs in Redis come back after a flush and follow the target's log start, by themselves."""

import logging
import time
import uuid

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import NewTopic
from redis import Redis

from replicator.config.topology import KafkaCluster, Region, Route
from replicator.offsets.offset_feed import OffsetFeed
from replicator.offsets.offset_keeper import OffsetKeeper
from replicator.offsets.offset_map import OffsetMap
from replicator.offsets.offset_store import OffsetStore
from replicator.offsets.runs_publisher import RunsPublisher
from replicator.offsets.runs_topic import RunsKey, runs_topic
from replicator.offsets.stretch import Run, Stretch
from replicator.topics.admin import Admin

STRETCH = Stretch(0, 100, (Run(0, 0, 60), Run(60, 80, 20)))


def learned(*stretches: Stretch) -> OffsetMap:
    offset_map = OffsetMap()
    for stretch in stretches:
        offset_map.learn(stretch)
    return offset_map


@pytest.fixture
def route(aggregate) -> Route:
    return Route("west", f"r{uuid.uuid4().hex[:8]}")


@pytest.fixture
def region(aggregate, redis, route) -> Region:
    cluster = KafkaCluster.model_validate(aggregate.topology_table())
    return Region(name=route.target, regional=cluster, aggregate=cluster, redis=redis.url)


def create(cluster, route: Route) -> None:
    topic, admin = runs_topic(route.key), cluster.admin()
    new = NewTopic(topic.name, topic.partitions, config=dict(topic.configs))
    admin.create_topics([new])[topic.name].result(30)


def id_of(region: Region, topic: str) -> str:
    """The topic's id, once all of the cluster knows it."""
    admin, deadline = Admin("target", region.aggregate), time.monotonic() + 30
    while not (found := admin.topics([topic])):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert found[0].topic_id is not None
    return found[0].topic_id.hex


async def tell(region: Region, route: Route, key: RunsKey) -> None:
    publisher = RunsPublisher(
        region.aggregate.bootstrap, route.key, region.aggregate.security.aiokafka_options()
    )
    await publisher.start()
    await publisher.publish([(key, STRETCH)])
    await publisher.flush()
    await publisher.stop()
    feed = OffsetFeed(region.redis_url(), route.key, 0)
    await feed.start()
    feed.append(key, [STRETCH])
    await feed.stop(drain_seconds=10)


async def test_runs_come_back_after_a_flush_and_are_cut_at_the_targets_log_start(
    aggregate, region, route, make_topic
):
    create(aggregate, route)
    topic = make_topic(aggregate)
    key = RunsKey(topic, 0, "5" * 32, id_of(region, topic))
    await tell(region, route, key)
    keeper = OffsetKeeper(region, [route])
    keeper.keep()
    with OffsetStore(region.redis_url(), route.key) as store:
        assert store.why_not_whole() is None
        assert store.load(key) == learned(STRETCH)
        with Redis.from_url(region.redis_url()) as client:
            client.flushall()
        keeper.keep()
        assert store.why_not_whole() is None
        assert store.load(key) == learned(STRETCH)

        producer = Producer(aggregate.librdkafka_options())
        for _ in range(100):
            producer.produce(topic, value=b"record")
        producer.flush(30)
        client = aggregate.admin()
        for deleted in client.delete_records([TopicPartition(topic, 0, 70)]).values():
            deleted.result(30)
        keeper.keep()
        trimmed = learned(STRETCH)
        trimmed.trim(70)
        assert store.load(key) == trimmed


async def test_runs_of_a_topic_made_anew_are_not_cut_by_the_new_ones_log_start(
    aggregate, region, route, make_topic
):
    create(aggregate, route)
    key = RunsKey(make_topic(aggregate), 0, "5" * 32, "0" * 32)
    await tell(region, route, key)
    OffsetKeeper(region, [route]).keep()
    with OffsetStore(region.redis_url(), route.key) as store:
        assert store.load(key) == learned(STRETCH)


def test_a_trouble_is_said_once_and_so_is_its_end(aggregate, region, route, caplog):
    keeper = OffsetKeeper(region, [route])
    with caplog.at_level(logging.INFO):
        keeper.keep()
        keeper.keep()
        create(aggregate, route)
        keeper.keep()
        keeper.keep()
    said = [record.getMessage() for record in caplog.records if "runs-" in record.getMessage()]
    assert [line.split()[0] for line in said] == [
        "event=runs-not-kept",
        "event=runs-read-back",
        "event=runs-kept",
    ]
    assert "no topic sluice.runs" in said[0]
