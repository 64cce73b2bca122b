"""The runs topic on a real cluster: published runs are read back; foreign content is named."""

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import ConfigResource, ResourceType

from replicator.config.names import runs_topic_name
from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.mirror.offset_map.offset_store import OffsetStore
from replicator.mirror.offset_map.packed_map import UnknownVersion
from replicator.mirror.offset_map.runs_topic import (
    RunsTopicMissing,
    RunsTopicUnreadable,
    encode_key,
    read,
)
from tests.live.runs import KEY, keys, learned, loaded, publisher, stretches


async def test_reading_ends_at_the_end_it_found_though_carriers_write_on(aggregate, route_key):
    telling = await publisher(aggregate, route_key)
    await telling.publish((KEY, stretch) for stretch in stretches(0, 5))
    await telling.flush()
    # With larger portions, pieces after the end would be joined as well.
    reading = read(aggregate.librdkafka_options(), route_key, pieces_per_poll=1)
    offset_map = OffsetMap()
    offset_map.join([next(reading)[1]])
    await telling.publish((KEY, stretch) for stretch in stretches(5, 9))
    await telling.flush()
    offset_map.join(piece for _, piece in reading)
    assert offset_map == learned(stretches(0, 5))
    await telling.stop()


async def test_an_empty_topic_gives_no_maps(aggregate, route_key):
    assert list(read(aggregate.librdkafka_options(), route_key)) == []


async def test_a_missing_topic_is_named_and_never_made_up(aggregate):
    with pytest.raises(RunsTopicMissing, match=r"sluice\.runs\.west\.nowhere"):
        list(read(aggregate.librdkafka_options(), "west.nowhere"))
    with pytest.raises(RunsTopicMissing, match=r"sluice\.runs\.west\.nowhere"):
        await publisher(aggregate, "west.nowhere")
    assert "sluice.runs.west.nowhere" not in aggregate.admin().list_topics(timeout=10).topics


async def test_a_message_that_is_not_ours_is_named_by_its_place(aggregate, route_key):
    topic = runs_topic_name(route_key)
    producer = Producer(aggregate.librdkafka_options())
    producer.produce(topic, key=encode_key(KEY), value=b"\x01\x80", partition=2)
    producer.flush(30)
    with pytest.raises(RunsTopicUnreadable, match=rf"{topic}\[2\] at 0: .* inside a number"):
        list(read(aggregate.librdkafka_options(), route_key))


async def test_runs_of_a_newer_format_are_refused(aggregate, route_key):
    producer = Producer(aggregate.librdkafka_options())
    producer.produce(runs_topic_name(route_key), key=encode_key(KEY), value=b"\x02")
    producer.flush(30)
    with pytest.raises(UnknownVersion):
        list(read(aggregate.librdkafka_options(), route_key))


async def test_the_topic_keeps_its_messages_for_ever(aggregate, route_key):
    resource = ConfigResource(ResourceType.TOPIC, runs_topic_name(route_key))
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
        assert store.incomplete_reason() is not None
        assert store.rebuild(read(aggregate.librdkafka_options(), route_key))
        assert store.incomplete_reason() is None
        assert loaded(store) == {key: learned(stretches(0, 50)) for key in keys(5)}
