"""Maps in every Redis are trimmed to the log starts of the region that their runs lead into."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer, TopicPartition

from deploy.lab.wait import until
from replicator.config.topology import KafkaCluster, Region
from replicator.kafka.admin.admin import Admin
from replicator.mirror.offset_map.map_maintenance import MaintainedMap, MapMaintenance
from replicator.mirror.offset_map.offset_store import LOOSE_PIECES_MAX, OffsetStore
from replicator.mirror.offset_map.packed_map import pack_segment
from replicator.mirror.offset_map.run_columns import RunsContradict
from replicator.mirror.offset_map.run_segment import Run, RunSegment
from replicator.mirror.offset_map.runs_topic import RunsKey
from replicator.mirror.offset_map.spans import Span, Spans
from tests.live.runs import KEY, ROUTE, learned, stretches


@pytest.fixture
def region(aggregate, redis) -> Region:
    cluster = KafkaCluster.model_validate(aggregate.topology_table())
    return Region(name="east", regional=cluster, aggregate=cluster, redis=redis.url)


@pytest.fixture
def peer(make_redis):
    """The store of a region that only has copies."""
    with OffsetStore(make_redis().url, ROUTE) as store:
        yield store


def put(store: OffsetStore, key: RunsKey, parts: list[RunSegment]) -> None:
    store.copy(key, [pack_segment(part) for part in parts])


def test_a_copy_is_joined_and_cut_where_the_targets_log_begins(aggregate, region, peer, make_topic):
    topic = make_topic(aggregate)
    admin = Admin("east aggregate", region.aggregate)
    assert until(lambda: bool(admin.topics([topic])), 30)
    key = RunsKey(topic, 0, "5" * 32, admin.topics([topic])[0].topic_id.hex)
    parts = stretches(0, LOOSE_PIECES_MAX + 10)
    put(peer, key, parts)
    tending = MapMaintenance(region)
    assert tending.maintain(peer) == [MaintainedMap(key, Spans())]
    assert peer.load(key) == learned(parts)

    producer = Producer(aggregate.librdkafka_options())
    for _ in range(100):
        producer.produce(topic, value=b"record")
    producer.flush(30)
    client = aggregate.admin()
    client.delete_records([TopicPartition(topic, 0, 70)])[TopicPartition(topic, 0)].result(30)
    tending.maintain(peer)
    expected = learned(parts)
    expected.trim(70)
    assert peer.load(key) == expected


def test_what_a_map_misses_and_what_contradicts_itself_is_told_and_the_others_are_tended(
    region, peer
):
    holed, broken = (RunsKey("gone", number, "5" * 32, "0" * 32) for number in range(2))
    put(peer, KEY, stretches(0, 3))
    put(peer, holed, [*stretches(0, 1), *stretches(2, 3)])
    put(peer, broken, [RunSegment(0, 9, (Run(0, 0, 9),)), RunSegment(0, 9, (Run(0, 5, 9),))])
    told = {each.key: each for each in MapMaintenance(region).maintain(peer)}
    assert told[KEY].missing == Spans()
    assert told[holed].missing == Spans(Span(10, 20))
    assert isinstance(told[broken].contradiction, RunsContradict)
