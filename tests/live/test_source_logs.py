"""Source logs with transactions, gaps and damage: every record visible to readers arrives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from balancer.topic_partition import TopicPartition
from deploy.lab.dump import dump
from deploy.lab.kafka import KafkaCluster
from deploy.lab.redis import RedisServer
from deploy.lab.traffic import Codec, Shape, TrafficRecord, records, send
from deploy.lab.wait import until
from tests.live.carrying import Carrying
from tests.live.conftest import Carry
from tests.live.topics import create, new_name

# -- transactions


@pytest.mark.parametrize("codec", ["none", pytest.param("zstd", marks=pytest.mark.core)])
def test_of_a_transactional_source_only_committed_records_arrive(
    regional: KafkaCluster, aggregate: KafkaCluster, make_topic: Any, carry: Carry, codec: Any
) -> None:
    topic = make_topic(regional, aggregate, partitions=3)
    carrying = carry(regional, aggregate)
    carrying.adopt(topic, 3)
    carrying.begin()
    shapes = (Shape(transaction_records=40, abort_every=3), Shape(), Shape(transaction_records=7))
    committed = 0
    for number, shape in enumerate(shapes):
        odd = Shape(**{**_fields(shape), "codec": codec, "batch_records": 20})
        committed += send(regional, topic, records(1500, partitions=3, origin=f"{number}."), odd)
    carrying.until_carried()
    carrying.stop()
    assert carrying.assert_exact() == committed


@pytest.mark.core
def test_interleaved_transactions_arrive_once_committed_and_never_when_aborted(
    regional: KafkaCluster, aggregate: KafkaCluster, make_topic: Any, carry: Carry
) -> None:
    topic = make_topic(regional, aggregate)
    carrying = carry(regional, aggregate)
    carrying.adopt(topic)
    carrying.begin()
    producers = [_transactional(regional, f"{topic}.{number}") for number in range(4)]
    committed = 0
    for turn in range(12):
        for number, producer in enumerate(producers):
            producer.begin_transaction()
            _produce(producer, topic, f"{turn}.{number}.a.", 5)
        for number, producer in enumerate(producers):
            _produce(producer, topic, f"{turn}.{number}.b.", 5)
        for number, producer in enumerate(producers):
            if (turn + number) % 2:
                producer.abort_transaction(30)
            else:
                producer.commit_transaction(30)
                committed += 10
        if turn % 4 == 3:
            carrying.until_carried()
            carrying.next_plan()
    carrying.until_carried()
    carrying.stop()
    assert carrying.assert_exact() == committed


@pytest.mark.core
def test_an_open_transaction_is_carried_when_it_commits_and_holds_back_what_follows_it(
    regional: KafkaCluster, aggregate: KafkaCluster, make_topic: Any, carry: Carry
) -> None:
    topic = make_topic(regional, aggregate, partitions=2)
    send(regional, topic, records(100, partitions=2, origin="before "))
    producer = _transactional(regional, topic)
    producer.begin_transaction()
    _produce(producer, topic, "open ", 50)
    send(regional, topic, [TrafficRecord(0, b"behind", b"the open one")])
    carrying = carry(regional, aggregate)
    carrying.adopt(topic, 2)
    carrying.carry_all()
    assert sum(len(d.prints) for d in dump(aggregate, topic, "read_uncommitted").values()) == 100

    producer.commit_transaction(30)
    carrying.carry_all()
    assert carrying.assert_exact() == 151


def _transactional(cluster: KafkaCluster, name: str) -> Producer:
    producer = Producer(
        {
            **cluster.librdkafka_options(),
            "transactional.id": name,
            "transaction.timeout.ms": 300_000,
            "linger.ms": 0,
            "log_level": 3,
        }
    )
    producer.init_transactions(30)
    return producer


def _produce(producer: Producer, topic: str, origin: str, count: int) -> None:
    for record in records(count, origin=origin):
        producer.produce(topic, record.value, record.key, 0, headers=record.headers)
    producer.flush(30)


def _fields(shape: Shape) -> dict[str, Any]:
    return {name: getattr(shape, name) for name in shape.__slots__}


# -- gaps


@pytest.mark.parametrize("codec", ["none", pytest.param("lz4", marks=pytest.mark.core)])
def test_a_compacted_source_arrives_as_its_cleaner_left_it_with_tombstones(
    east: KafkaCluster, aggregate: KafkaCluster, redis: RedisServer, codec: Codec
) -> None:
    topic = new_name("compacted")
    config = {
        "cleanup.policy": "compact",
        "segment.bytes": str(1 << 20),
        "min.cleanable.dirty.ratio": "0.01",
        "delete.retention.ms": "86400000",
    }
    create(east, topic, config=config)
    create(aggregate, topic)
    plain = records(30_000, value_bytes=300)
    traffic = (
        TrafficRecord(
            0,
            b"key %d" % (number * 7919 % 3001),
            None if number % 11 == 0 else b"%d " % number + (record.value or b""),
            record.headers,
        )
        for number, record in enumerate(plain)
    )
    send(east, topic, traffic, Shape(codec=codec, batch_records=400))
    _until_cleaned(east, topic)
    left = sum(len(d.prints) for d in dump(east, topic).values())
    assert left < 15_000, "the cleaner took nothing out"
    with Carrying({"east": east}, aggregate, redis) as carrying:
        carrying.adopt(topic)
        carrying.begin()
        carrying.until(lambda: carrying.entries()[TopicPartition(topic, 0)].source_offset > 0)
        carrying.next_plan()
        carrying.until_carried()
        carrying.stop()
        assert carrying.assert_exact() == left


def _log_of(cluster: KafkaCluster, topic: str, partition: int) -> Path:
    return cluster.directory / "node-1" / "data" / f"{topic}-{partition}"


def _until_cleaned(cluster: KafkaCluster, topic: str) -> None:
    """Waits until everything but the active segment is cleaned; the log then stays unchanged."""
    directory = _log_of(cluster, topic, 0)

    def is_clean() -> bool:
        active = max(int(path.stem) for path in directory.glob("*.log"))
        checkpoint = (directory.parent / "cleaner-offset-checkpoint").read_text().splitlines()
        cleaned = {tuple(line.split()[:2]): int(line.split()[2]) for line in checkpoint[2:]}
        return active > 0 and cleaned.get((topic, "0"), 0) >= active

    assert until(is_clean, 60)


# -- damage


def test_a_batch_broken_on_the_sources_disk_is_named_and_stops_only_its_partition(
    east: KafkaCluster, aggregate: KafkaCluster, redis: RedisServer
) -> None:
    topic = new_name("broken")
    create(east, topic, 2)
    create(aggregate, topic, 2)
    shape = Shape(codec="lz4", batch_records=100)
    for origin in ("a", "b", "c"):
        traffic = (TrafficRecord(n % 2, b"%d" % n, origin.encode() * 200) for n in range(400))
        send(east, topic, traffic, shape)
    east.stop()
    first, last = _break_batch(_log_of(east, topic, 0), 3)
    east.restart()
    east.wait_ready()
    with Carrying({"east": east}, aggregate, redis) as carrying:
        carrying.adopt(topic, 2)
        carrying.begin()
        reason = carrying.until_parked(TopicPartition(topic, 0))
        assert f"source batch cannot be read: source offsets [{first}, {last + 1})" in reason
        carrying.until_carried(east=[0])
        assert len(dump(aggregate, topic)[0].prints) == first

        accepted = carrying.accept(TopicPartition(topic, 0))
        assert accepted.source_offset == last + 1
        carrying.until_carried()
        carrying.stop()
        assert len(dump(aggregate, topic)[0].prints) == 600 - (last + 1 - first)
        assert len(dump(aggregate, topic)[1].prints) == 600


def test_a_source_that_answers_no_fetch_of_an_offset_is_read_on_where_the_operator_says(
    east: KafkaCluster, aggregate: KafkaCluster, redis: RedisServer
) -> None:
    """A broker that cannot skip a batch reports no end of the unreadable range."""
    topic = new_name("unreadable")
    place = TopicPartition(topic, 0)
    for cluster in (east, aggregate):
        create(cluster, topic)
    traffic = (TrafficRecord(0, b"%d" % n, b"%d" % n * 50) for n in range(600))
    send(east, topic, traffic, Shape(batch_records=60))
    source = dump(east, topic)[0].prints.tolist()
    east.stop()
    first, behind = _shorten_batch(_log_of(east, topic, 0), 3)
    east.restart()
    east.wait_ready()
    with Carrying({"east": east}, aggregate, redis) as carrying:
        carrying.adopt(topic)
        carrying.begin()
        reason = carrying.until_parked(place)
        assert reason.startswith(f"source batch cannot be read: source offsets [{first}, ?)")
        for wrong, why in (
            (None, "to continue at with --restart-at"),
            (first, "not behind"),
            (601, "at 600"),
        ):
            with pytest.raises(ValueError, match=why):
                carrying.accept(place, restart_at=wrong)
        accepted = carrying.accept(place, restart_at=behind)
        assert accepted.source_offset == behind
        assert f"source offsets [{first}, {behind})" in accepted.losses[0]
        carrying.until_carried()
        carrying.stop()
    assert dump(aggregate, topic)[0].prints.tolist() == source[:first] + source[behind:]


def _shorten_batch(directory: Path, number: int) -> tuple[int, int]:
    """Makes the log's nth batch too short to be valid.

    Returns its first offset, and the first offset behind it that the log's index leads to.
    """
    (log,) = directory.glob("*.log")
    data = bytearray(log.read_bytes())
    starts = [0]
    while starts[-1] < len(data):
        starts.append(
            starts[-1] + 12 + int.from_bytes(data[starts[-1] + 8 : starts[-1] + 12], "big")
        )
    first, behind = (
        int.from_bytes(data[at : at + 8], "big") for at in starts[number : number + 3 : 2]
    )
    data[starts[number] + 8 : starts[number] + 12] = (5).to_bytes(4, "big")
    log.write_bytes(data)
    return first, behind


def _break_batch(directory: Path, number: int) -> tuple[int, int]:
    """Flips a bit in the payload of the log's nth batch; returns its first and last offset."""
    (log,) = directory.glob("*.log")
    data = bytearray(log.read_bytes())
    at = 0
    for _ in range(number):
        at += 12 + int.from_bytes(data[at + 8 : at + 12], "big")
    first = int.from_bytes(data[at : at + 8], "big")
    data[at + 70] ^= 1
    log.write_bytes(data)
    return first, first + int.from_bytes(data[at + 23 : at + 27], "big")
