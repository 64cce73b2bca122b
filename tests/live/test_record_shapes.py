"""Records of every kind, in batches of every codec and size, arrive as they were sent."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as KafkaTopicPartition

from balancer.topic_partition import TopicPartition
from deploy.lab.dump import dump
from deploy.lab.kafka import KafkaCluster
from deploy.lab.traffic import CODECS, Codec, Shape, TrafficRecord, records, send
from tests.live.conftest import Carry
from tests.live.topics import create, new_name

OLD_MS = 1_357_000_000_000
"""A timestamp in January 2013, in milliseconds: records keep their own times, however old."""
KEEP = {"retention.ms": "-1"}
LARGE = {"max.message.bytes": str(8 << 20)}


pytestmark = pytest.mark.core


# -- content


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_arrives_in_batches_of_any_size(
    regional: KafkaCluster, aggregate: KafkaCluster, carry: Carry, codec: Codec
) -> None:
    carrying = carry(regional, aggregate)
    for batch_records, count in ((1, 1000), (7, 3000), (10_000, 6000)):
        topic = new_name(f"by-{batch_records}")
        for cluster in (regional, aggregate):
            create(cluster, topic, 2, KEEP)
        traffic = records(count, partitions=2, first_timestamp_ms=OLD_MS)
        send(regional, topic, traffic, Shape(codec=codec, batch_records=batch_records))
        carrying.adopt(topic, 2)
    receipts = carrying.carry_all()
    assert {receipt.state for receipt in receipts} == {"released"}
    assert sum(receipt.records for receipt in receipts) == carrying.assert_exact() == 10_000


def test_codecs_and_sizes_mixed_in_one_partition_keep_their_order(
    regional: KafkaCluster, aggregate: KafkaCluster, make_topic: Any, carry: Carry
) -> None:
    topic = make_topic(regional, aggregate)
    shapes = [
        Shape(codec=codec, batch_records=size, linger_ms=1)
        for size in (1, 40, 1000)
        for codec in CODECS
    ]
    carrying = carry(regional, aggregate)
    carrying.adopt(topic)
    carrying.begin()
    for number, shape in enumerate(shapes):
        send(regional, topic, records(shape.batch_records * 3, origin=f"{number}."), shape)
    carrying.until_carried()
    carrying.stop()
    assert carrying.assert_exact() == 15 * 1041


@pytest.mark.parametrize("batch_records", [1, 10_000])
def test_null_and_empty_keys_values_and_headers_are_told_apart(
    regional: KafkaCluster,
    aggregate: KafkaCluster,
    make_topic: Any,
    carry: Carry,
    batch_records: int,
) -> None:
    topic = make_topic(regional, aggregate)
    some = (None, b"", b"x" * 300)
    headers: tuple[Any, ...] = (
        None,
        [],
        [("h", None)],
        [("h", b"")],
        [("", b"x"), ("h", b"y"), ("h", b"y")],
    )
    traffic = [
        TrafficRecord(0, key, value, header)
        for key, value, header in itertools.product(some, some, headers)
    ]
    send(regional, topic, traffic, Shape(codec="lz4", batch_records=batch_records))
    carrying = carry(regional, aggregate)
    carrying.adopt(topic)
    carrying.carry_all()

    consumer = Consumer({**aggregate.librdkafka_options(), "group.id": topic})
    consumer.assign([KafkaTopicPartition(topic, 0, 0)])
    messages = list(itertools.islice(iter(lambda: consumer.poll(30), None), len(traffic)))
    consumer.close()
    assert [(m.key(), m.value(), m.headers() or None) for m in messages] == [
        (r.key, r.value, r.headers or None) for r in traffic
    ]


@pytest.mark.parametrize("batch_records", [1, 10_000])
def test_records_keep_their_own_times_old_new_and_out_of_order(
    regional: KafkaCluster,
    aggregate: KafkaCluster,
    make_topic: Any,
    carry: Carry,
    batch_records: int,
) -> None:
    topic = make_topic(regional, aggregate)
    now_ms = int(time.time() * 1000)
    times_ms = (1, OLD_MS, now_ms, now_ms + 1_800_000, now_ms - 1, 2**31, 2**32 + 1, OLD_MS - 1)
    traffic = [
        TrafficRecord(0, None, b"%d" % number, timestamp_ms=at_ms)
        for number, at_ms in enumerate(times_ms * 40)
    ]
    send(regional, topic, traffic, Shape(codec="zstd", batch_records=batch_records))
    carrying = carry(regional, aggregate)
    carrying.adopt(topic)
    carrying.carry_all()
    assert carrying.assert_exact() == len(traffic)


@pytest.mark.parametrize("batch_records", [1, 10_000])
def test_a_log_append_time_topic_arrives_with_the_times_its_source_gave(
    regional: KafkaCluster, aggregate: KafkaCluster, carry: Carry, batch_records: int
) -> None:
    topic = new_name()
    create(regional, topic, config={"message.timestamp.type": "LogAppendTime"})
    create(aggregate, topic)
    shape = Shape(codec="snappy", batch_records=batch_records)
    send(regional, topic, records(2000, first_timestamp_ms=OLD_MS), shape)
    carrying = carry(regional, aggregate)
    carrying.adopt(topic)
    carrying.carry_all()
    assert carrying.assert_exact() == 2000


# -- sizes


def test_a_batch_larger_than_a_fetch_arrives_unopened(
    regional: KafkaCluster, aggregate: KafkaCluster, make_topic: Any, carry: Carry
) -> None:
    topic = make_topic(regional, aggregate, partitions=2, config=LARGE)
    _send_large(regional, topic, batches=3)
    carrying = carry(regional, aggregate, fetch_mib=1, max_message_bytes={topic: 8 << 20})
    carrying.adopt(topic, 2)
    receipts = carrying.carry_all()
    assert sum(receipt.batches_opened for receipt in receipts) == 0
    assert carrying.assert_exact() == 3 * 2 * 20


def test_a_batch_larger_than_the_target_takes_arrives_in_pieces(
    regional: KafkaCluster, aggregate: KafkaCluster, carry: Carry
) -> None:
    topic = new_name()
    create(regional, topic, 2, LARGE)
    create(aggregate, topic, 2)
    _send_large(regional, topic, batches=3)
    carrying = carry(regional, aggregate)
    carrying.adopt(topic, 2)
    receipts = carrying.carry_all()
    assert sum(receipt.batches_opened for receipt in receipts) > 0
    assert carrying.assert_exact() == 3 * 2 * 20


def test_a_record_larger_than_the_target_takes_is_named_and_stops_only_its_partition(
    regional: KafkaCluster, aggregate: KafkaCluster, carry: Carry
) -> None:
    topic = new_name()
    create(regional, topic, 2, LARGE)
    create(aggregate, topic, 2)
    send(regional, topic, records(500, partitions=2, origin="before "))
    offset = len(dump(regional, topic)[0].offsets)
    producer = Producer({**regional.librdkafka_options(), "message.max.bytes": 4 << 20})
    producer.produce(topic, bytes(2 << 20), b"large", 0)
    producer.flush(60)
    send(regional, topic, records(500, partitions=2, origin="behind "))

    carrying = carry(regional, aggregate)
    carrying.adopt(topic, 2)
    carrying.begin()
    reason = carrying.until_parked(TopicPartition(topic, 0))
    assert reason.startswith("record is larger than the target takes: source offsets ")
    assert f"[{offset}, {offset + 1})" in reason
    carrying.until_carried(west=[0])
    arrived = dump(aggregate, topic)
    assert arrived[0].prints.tolist() == dump(regional, topic)[0].prints[:offset].tolist()

    accepted = carrying.accept(TopicPartition(topic, 0))
    assert accepted.source_offset == offset + 1
    carrying.until_carried()
    carrying.stop()
    prints = dump(regional, topic)[0].prints.tolist()
    del prints[offset]
    assert dump(aggregate, topic)[0].prints.tolist() == prints
    assert carrying.assert_exact(but=[0])


def _send_large(cluster: KafkaCluster, topic: str, *, batches: int) -> None:
    """Sends batches of 2 MB that do not compress to each of two partitions."""
    producer = Producer(
        {
            **cluster.librdkafka_options(),
            "message.max.bytes": 4 << 20,
            "batch.size": 4 << 20,
            "linger.ms": 1000,
        }
    )
    noise = Path("/dev/urandom")
    for _ in range(batches):
        with noise.open("rb") as file:
            for record in range(20):
                for partition in range(2):
                    producer.produce(topic, file.read(100_000), b"%d" % record, partition)
        producer.flush(60)
