"""The runs topic on a real cluster: what is published is read back, whatever happens meanwhile."""

import uuid

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import ConfigResource, NewTopic, ResourceType

from replicator.config.security import Security
from replicator.offsets.offset_map import OffsetMap
from replicator.offsets.offset_store import OffsetStore
from replicator.offsets.packed_map import UnknownVersion
from replicator.offsets.runs_publisher import RunsPublisher
from replicator.offsets.runs_topic import (
    RunsKey,
    RunsTopicMissing,
    RunsTopicUnreadable,
    encode_key,
    read,
    rebuild,
    runs_topic,
)
from replicator.offsets.stretch import Run, Stretch


def keys(partitions: int) -> list[RunsKey]:
    return [RunsKey("flights", at, "c291cmNl", "dGFyZ2V0") for at in range(partitions)]


def stretches(begin: int, end: int) -> list[Stretch]:
    """Two runs a stretch, another region's records between all runs."""
    return [
        Stretch(
            10 * at, 10 * at + 10, (Run(10 * at, 20 * at, 5), Run(10 * at + 5, 20 * at + 10, 5))
        )
        for at in range(begin, end)
    ]


def learned(told: list[Stretch]) -> OffsetMap:
    offset_map = OffsetMap()
    for stretch in told:
        offset_map.learn(stretch)
    return offset_map


def create(cluster, route_key: str) -> None:
    topic = runs_topic(route_key)
    new = NewTopic(topic.name, topic.partitions, config=dict(topic.configs))
    admin = cluster.admin()
    admin.create_topics([new])[topic.name].result(30)


@pytest.fixture
def route_key(aggregate) -> str:
    """A route of its own with its runs topic."""
    name = f"west.{uuid.uuid4().hex[:8]}"
    create(aggregate, name)
    return name


def options(cluster):
    return cluster.librdkafka_options()


async def publisher(cluster, route_key: str, **more) -> RunsPublisher:
    security = Security.model_validate(cluster.credentials.security_table())
    bootstrap = cluster.bootstrap.split(",")
    made = RunsPublisher(bootstrap, route_key, security.aiokafka_options(), **more)
    await made.start()
    return made


async def test_reading_ends_at_the_end_it_found_though_carriers_write_on(aggregate, route_key):
    telling = await publisher(aggregate, route_key)
    (key,) = keys(1)
    await telling.publish((key, stretch) for stretch in stretches(0, 5))
    await telling.flush()
    told = read(options(aggregate), route_key)
    offset_map = OffsetMap()
    offset_map.join([next(told)[1]])
    await telling.publish((key, stretch) for stretch in stretches(5, 9))
    await telling.flush()
    offset_map.join(piece for _, piece in told)
    assert offset_map.source_end >= 50
    assert offset_map.complete
    await telling.stop()


async def test_an_empty_topic_gives_no_maps(aggregate, route_key):
    assert rebuild(options(aggregate), route_key) == {}


async def test_a_missing_topic_is_named_and_never_made_up(aggregate):
    with pytest.raises(RunsTopicMissing, match=r"sluice\.runs\.west\.nowhere"):
        rebuild(options(aggregate), "west.nowhere")
    with pytest.raises(RunsTopicMissing, match=r"sluice\.runs\.west\.nowhere"):
        await publisher(aggregate, "west.nowhere")
    assert "sluice.runs.west.nowhere" not in aggregate.admin().list_topics(timeout=10).topics


async def test_a_message_that_is_not_ours_is_named_by_its_place(aggregate, route_key):
    topic = runs_topic(route_key).name
    producer = Producer(options(aggregate))
    producer.produce(topic, key=encode_key(keys(1)[0]), value=b"\x01\x80", partition=2)
    producer.flush(30)
    with pytest.raises(RunsTopicUnreadable, match=rf"{topic}\[2\] at 0: .* inside a number"):
        rebuild(options(aggregate), route_key)


async def test_runs_of_a_newer_format_are_refused(aggregate, route_key):
    producer = Producer(options(aggregate))
    producer.produce(runs_topic(route_key).name, key=encode_key(keys(1)[0]), value=b"\x02")
    producer.flush(30)
    with pytest.raises(UnknownVersion):
        rebuild(options(aggregate), route_key)


async def test_the_topic_keeps_its_messages_for_ever(aggregate, route_key):
    resource = ConfigResource(ResourceType.TOPIC, runs_topic(route_key).name)
    admin = aggregate.admin()
    configs = admin.describe_configs([resource])[resource].result(30)
    assert configs["retention.ms"].value == "-1"
    assert configs["cleanup.policy"].value == "delete"


async def test_after_flushall_the_store_is_read_back_from_the_topic(aggregate, route_key, redis):
    telling = await publisher(aggregate, route_key)
    for key in keys(5):
        await telling.publish((key, stretch) for stretch in stretches(0, 50))
    await telling.flush()
    await telling.stop()
    with OffsetStore(redis.url, route_key) as store:
        assert store.why_not_whole() is not None
        assert store.rebuild(read(options(aggregate), route_key))
        assert store.why_not_whole() is None
        assert store.load_all() == {key: learned(stretches(0, 50)) for key in keys(5)}
