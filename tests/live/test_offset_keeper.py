"""The runs in Redis come back after a flush and follow the target's log start, by themselves."""

import logging
import time
import uuid

import pytest
from confluent_kafka import Producer, TopicPartition
from redis import Redis

from replicator.config.topology import KafkaCluster, Region, Route
from replicator.offsets.offset_keeper import OffsetKeeper
from replicator.offsets.offset_store import OffsetStore
from replicator.offsets.runs_topic import RunsKey
from replicator.offsets.stretch import Run, Stretch
from replicator.topics.admin import Admin
from tests.live.runs import create_runs_topic, fed, learned, publisher

STRETCH = Stretch(0, 100, (Run(0, 0, 60), Run(60, 80, 20)))


@pytest.fixture
def route(aggregate) -> Route:
    return Route("west", f"r{uuid.uuid4().hex[:8]}")


@pytest.fixture
def region(aggregate, redis, route) -> Region:
    cluster = KafkaCluster.model_validate(aggregate.topology_table())
    return Region(name=route.target, regional=cluster, aggregate=cluster, redis=redis.url)


def id_of(region: Region, topic: str) -> str:
    """The topic's id, once all of the cluster knows it."""
    admin, deadline = Admin("target", region.aggregate), time.monotonic() + 30
    while not (found := admin.topics([topic])):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert found[0].topic_id is not None
    return found[0].topic_id.hex


async def tell(cluster, redis_url: str, route: Route, key: RunsKey) -> None:
    telling = await publisher(cluster, route.key)
    await telling.publish([(key, STRETCH)])
    await telling.flush()
    await telling.stop()
    await fed(redis_url, [STRETCH], key, route_key=route.key)


async def test_runs_come_back_after_a_flush_and_are_cut_at_the_targets_log_start(
    aggregate, region, route, make_topic
):
    create_runs_topic(aggregate, route.key)
    topic = make_topic(aggregate)
    key = RunsKey(topic, 0, "5" * 32, id_of(region, topic))
    await tell(aggregate, region.redis_url(), route, key)
    keeper = OffsetKeeper(region, [route])
    keeper.keep()
    with OffsetStore(region.redis_url(), route.key) as store:
        assert store.why_not_whole() is None
        assert store.load(key) == learned([STRETCH])
        with Redis.from_url(region.redis_url()) as client:
            client.flushall()
        keeper.keep()
        assert store.why_not_whole() is None
        assert store.load(key) == learned([STRETCH])

        producer = Producer(aggregate.librdkafka_options())
        for _ in range(100):
            producer.produce(topic, value=b"record")
        producer.flush(30)
        client = aggregate.admin()
        for deleted in client.delete_records([TopicPartition(topic, 0, 70)]).values():
            deleted.result(30)
        keeper.keep()
        trimmed = learned([STRETCH])
        trimmed.trim(70)
        assert store.load(key) == trimmed


async def test_runs_of_a_topic_made_anew_are_not_cut_by_the_new_ones_log_start(
    aggregate, region, route, make_topic
):
    create_runs_topic(aggregate, route.key)
    key = RunsKey(make_topic(aggregate), 0, "5" * 32, "0" * 32)
    await tell(aggregate, region.redis_url(), route, key)
    OffsetKeeper(region, [route]).keep()
    with OffsetStore(region.redis_url(), route.key) as store:
        assert store.load(key) == learned([STRETCH])


def test_a_trouble_is_said_once_and_so_is_its_end(aggregate, region, route, caplog):
    keeper = OffsetKeeper(region, [route])
    with caplog.at_level(logging.INFO):
        keeper.keep()
        keeper.keep()
        create_runs_topic(aggregate, route.key)
        keeper.keep()
        keeper.keep()
    said = [record.getMessage() for record in caplog.records if "runs-" in record.getMessage()]
    assert [line.split()[0] for line in said] == [
        "event=runs-not-kept",
        "event=runs-read-back",
        "event=runs-kept",
    ]
    assert "no topic sluice.runs" in said[0]
