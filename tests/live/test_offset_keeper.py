"""Runs in Redis are restored after a flush and trimmed to the target's log start automatically."""

import logging
import time
import uuid

import pytest
from confluent_kafka import Producer, TopicPartition
from redis import Redis

from replicator.config.topology import KafkaCluster, Region, Route
from replicator.kafka.admin.admin import Admin
from replicator.mirror.offset_map.offset_keeper import OffsetKeeper
from replicator.mirror.offset_map.offset_store import OffsetStore
from replicator.mirror.offset_map.run_segment import Run, RunSegment
from replicator.mirror.offset_map.runs_topic import RunsKey
from replicator.mirror.offset_map.spans import Span, Spans
from tests.live.runs import create_runs_topic, fed, learned, publisher, stretches

STRETCH = RunSegment(0, 100, (Run(0, 0, 60), Run(60, 80, 20)))


@pytest.fixture
def route(aggregate) -> Route:
    return Route("west", f"r{uuid.uuid4().hex[:8]}")


@pytest.fixture
def region(aggregate, redis, route) -> Region:
    cluster = KafkaCluster.model_validate(aggregate.topology_table())
    return Region(name=route.target, regional=cluster, aggregate=cluster, redis=redis.url)


def id_of(region: Region, topic: str) -> str:
    """Waits until the cluster knows the topic and returns its id."""
    admin, deadline = Admin("target", region.aggregate), time.monotonic() + 30
    while not (found := admin.topics([topic])):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert found[0].topic_id is not None
    return found[0].topic_id.hex


async def tell_topic(cluster, route: Route, key: RunsKey, parts: list[RunSegment]) -> None:
    telling = await publisher(cluster, route.key)
    await telling.publish((key, stretch) for stretch in parts)
    await telling.flush()
    await telling.stop()


async def tell(cluster, redis_url: str, route: Route, key: RunsKey) -> None:
    await tell_topic(cluster, route, key, [STRETCH])
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
        assert store.incomplete_reason() is None
        assert store.load(key) == learned([STRETCH])
        with Redis.from_url(region.redis_url()) as client:
            client.flushall()
        keeper.keep()
        assert store.incomplete_reason() is None
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


async def test_runs_of_a_recreated_topic_are_not_cut_by_the_new_ones_log_start(
    aggregate, region, route, make_topic
):
    create_runs_topic(aggregate, route.key)
    key = RunsKey(make_topic(aggregate), 0, "5" * 32, "0" * 32)
    await tell(aggregate, region.redis_url(), route, key)
    OffsetKeeper(region, [route]).keep()
    with OffsetStore(region.redis_url(), route.key) as store:
        assert store.load(key) == learned([STRETCH])


async def test_runs_that_only_the_topic_has_come_back_by_themselves(
    aggregate, region, route, make_topic
):
    create_runs_topic(aggregate, route.key)
    key = RunsKey(make_topic(aggregate), 0, "5" * 32, "0" * 32)
    keeper = OffsetKeeper(region, [route])
    keeper.keep()
    # Three segments of a carrier that died before Redis had the second one.
    told = stretches(0, 3)
    await tell_topic(aggregate, route, key, told)
    await fed(region.redis_url(), [told[0], told[2]], key, route_key=route.key)
    with OffsetStore(region.redis_url(), route.key) as store:
        keeper.keep()
        assert store.load(key).missing == Spans(Span(10, 20))
        # The missing segment may only be late.
        assert store.incomplete_reason() is None
        keeper.keep()
        assert store.incomplete_reason() is not None
        keeper.keep()
        assert store.incomplete_reason() is None
        assert store.load(key) == learned(told)


async def test_runs_that_the_topic_misses_too_are_asked_for_once(
    aggregate, region, route, make_topic, caplog
):
    create_runs_topic(aggregate, route.key)
    key = RunsKey(make_topic(aggregate), 0, "5" * 32, "0" * 32)
    keeper = OffsetKeeper(region, [route])
    keeper.keep()
    told = stretches(0, 9)
    await fed(region.redis_url(), [told[0], told[2]], key, route_key=route.key)
    caplog.clear()
    with caplog.at_level(logging.INFO):
        for _ in range(6):
            keeper.keep()
        assert events(caplog) == ["runs-missing", "runs-read-back"]
        # Another gap causes another read, which may fill the first gap as well.
        await tell_topic(aggregate, route, key, told)
        await fed(region.redis_url(), [told[4]], key, route_key=route.key)
        for _ in range(6):
            keeper.keep()
    assert events(caplog) == ["runs-missing", "runs-read-back"] * 2
    with OffsetStore(region.redis_url(), route.key) as store:
        assert store.load(key) == learned(told)


def events(caplog) -> list[str]:
    said = [record.getMessage() for record in caplog.records]
    return [line.split()[0].removeprefix("event=") for line in said if line.startswith("event=")]


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
