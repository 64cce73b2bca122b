"""Dumps of real traffic of every kind are complete, and tell a damaged copy from a correct one."""

import itertools
from dataclasses import replace

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import NewTopic

from deploy.lab.dump import BOTH, compare_topic, dump
from deploy.lab.traffic import CODECS, Shape, records, send


@pytest.mark.parametrize("codec", CODECS)
def test_traffic_in_each_codec_reaches_two_clusters_alike(regional, aggregate, make_topic, codec):
    topic = make_topic(regional, aggregate, partitions=3)
    for cluster in (regional, aggregate):
        traffic = records(600, partitions=3, first_timestamp_ms=1_357_000_000_000)
        assert send(cluster, topic, traffic, Shape(codec=codec, batch_records=7)) == 600
    for comparison in compare_topic({"a>b": regional}, aggregate, topic).values():
        comparison.assert_exact()
        assert comparison.total.sent == 600


def test_each_kind_of_damage_is_seen(regional, aggregate, make_topic):
    topic = make_topic(regional, aggregate)
    traffic = list(records(100, first_timestamp_ms=1_357_000_000_000))
    send(regional, topic, traffic)
    damaged = [
        *traffic[:10],
        *traffic[11:30],
        traffic[31],
        traffic[30],
        *traffic[32:],
        traffic[50],
        next(records(1, origin="elsewhere")),
    ]
    send(aggregate, topic, damaged)
    for comparison in compare_topic({"a>b": regional}, aggregate, topic).values():
        total = comparison.total
        assert (total.lost, total.reordered, total.duplicated) == (1, 1, 1)
        assert (total.changed, comparison.foreign) == (0, 1)
        assert f"lost: a>b {topic}[0] source offset 10" in comparison.examples


def test_null_and_empty_arrive_as_null_and_empty(regional, make_topic):
    topic = make_topic(regional)
    traffic = list(records(200))
    send(regional, topic, traffic)
    consumer = Consumer({**regional.librdkafka_options(), "group.id": "traffic"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    messages = list(itertools.islice(iter(lambda: consumer.poll(30), None), 200))
    consumer.close()
    got = [(m.key(), m.value(), m.headers()) for m in messages]
    assert got == [(r.key, r.value, r.headers) for r in traffic]
    assert {None, b""} < {r.key for r in traffic}
    assert {None, b""} < {r.value for r in traffic}


def test_aborted_records_are_there_for_uncommitted_readers_only(regional, make_topic):
    topic = make_topic(regional, partitions=2)
    shape = Shape(transaction_records=50, abort_every=3)
    assert send(regional, topic, records(450, partitions=2), shape) == 300
    counts = {
        isolation: sum(len(d.prints) for d in dump(regional, topic, isolation).values())
        for isolation in BOTH
    }
    assert counts == {"read_committed": 300, "read_uncommitted": 450}


def test_a_target_that_stamps_its_own_times_is_seen_even_where_they_are_the_same(
    regional, aggregate, make_topic
):
    stamping = make_topic(aggregate, config={"message.timestamp.type": "LogAppendTime"})
    regional.create_topics(NewTopic(stamping, num_partitions=1))
    send(aggregate, stamping, list(records(100)))
    consumer = Consumer({**aggregate.librdkafka_options(), "group.id": "stamped"})
    consumer.assign([TopicPartition(stamping, 0, 0)])
    messages = list(itertools.islice(iter(lambda: consumer.poll(30), None), 100))
    consumer.close()
    times_ms = [message.timestamp()[1] for message in messages]
    sent = [
        replace(record, timestamp_ms=at_ms)
        for record, at_ms in zip(records(100), times_ms, strict=True)
    ]
    send(regional, stamping, sent)
    for comparison in compare_topic({"a>b": regional}, aggregate, stamping).values():
        assert comparison.total.changed == 100
    # In the opposite direction the times are those of the source, and stay.
    for comparison in compare_topic({"b>a": aggregate}, regional, stamping).values():
        comparison.assert_exact()
