"""What arrives is what was sent, whatever it looks like: both ends compared record by record."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient, NewPartitions

from balancer.plan import TopicPartition
from deploy.lab.dump import dump
from deploy.lab.kafka import KafkaCluster
from deploy.lab.redis import RedisServer
from deploy.lab.traffic import CODECS, Codec, Shape, TrafficRecord, records, send
from deploy.lab.wait import until
from tests.live.carrying import Carrying, Sending, create, new_name

OLD_MS = 1_357_000_000_000
"""Of January 2013: records keep their own times, however old."""
KEEP = {"retention.ms": "-1"}

Carry = Callable[..., Carrying]


@pytest.fixture
def carry_west(
    regional: KafkaCluster, aggregate: KafkaCluster, redis: RedisServer
) -> Iterator[Carry]:
    """`carry_west(start="latest")`: the regional cluster into the aggregate one."""
    with ExitStack() as open_ones:

        def carry(**settings: Any) -> Carrying:
            carrying = Carrying({"west": regional}, aggregate, redis, **settings)
            return open_ones.enter_context(carrying)

        yield carry


@pytest.fixture(scope="module")
def east(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """A second source, whose broker may be stopped and whose log cleaner is in a hurry."""
    directory = tmp_path_factory.mktemp("east")
    properties = {"log.cleaner.backoff.ms": 100, "log.retention.check.interval.ms": 200}
    with KafkaCluster("east", directory, properties=properties) as cluster:
        yield cluster


# -- what records look like


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_arrives_in_batches_of_any_size(
    regional: KafkaCluster, aggregate: KafkaCluster, carry_west: Carry, codec: Codec
) -> None:
    carrying = carry_west()
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
    regional: KafkaCluster, aggregate: KafkaCluster, make_topic: Any, carry_west: Carry
) -> None:
    topic = make_topic(regional, aggregate)
    shapes = [
        Shape(codec=codec, batch_records=size, linger_ms=1)
        for size in (1, 40, 1000)
        for codec in CODECS
    ]
    carrying = carry_west()
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
    carry_west: Carry,
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
    carrying = carry_west()
    carrying.adopt(topic)
    carrying.carry_all()

    consumer = Consumer({**aggregate.librdkafka_options(), "group.id": topic})
    consumer.assign([Place(topic, 0, 0)])
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
    carry_west: Carry,
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
    carrying = carry_west()
    carrying.adopt(topic)
    carrying.carry_all()
    assert carrying.assert_exact() == len(traffic)


@pytest.mark.parametrize("batch_records", [1, 10_000])
def test_a_log_append_time_topic_arrives_with_the_times_its_source_gave(
    regional: KafkaCluster, aggregate: KafkaCluster, carry_west: Carry, batch_records: int
) -> None:
    topic = new_name()
    create(regional, topic, config={"message.timestamp.type": "LogAppendTime"})
    create(aggregate, topic)
    shape = Shape(codec="snappy", batch_records=batch_records)
    send(regional, topic, records(2000, first_timestamp_ms=OLD_MS), shape)
    carrying = carry_west()
    carrying.adopt(topic)
    carrying.carry_all()
    assert carrying.assert_exact() == 2000


# -- transactions


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_of_a_transactional_source_only_committed_records_arrive(
    regional: KafkaCluster, aggregate: KafkaCluster, make_topic: Any, carry_west: Carry, codec: Any
) -> None:
    topic = make_topic(regional, aggregate, partitions=3)
    carrying = carry_west()
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


def test_interleaved_transactions_arrive_once_committed_and_never_when_aborted(
    regional: KafkaCluster, aggregate: KafkaCluster, make_topic: Any, carry_west: Carry
) -> None:
    topic = make_topic(regional, aggregate)
    carrying = carry_west()
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


def test_an_open_transaction_is_carried_when_it_commits_and_holds_back_what_follows_it(
    regional: KafkaCluster, aggregate: KafkaCluster, make_topic: Any, carry_west: Carry
) -> None:
    topic = make_topic(regional, aggregate, partitions=2)
    send(regional, topic, records(100, partitions=2, origin="before "))
    producer = _transactional(regional, topic)
    producer.begin_transaction()
    _produce(producer, topic, "open ", 50)
    send(regional, topic, [TrafficRecord(0, b"behind", b"the open one")])
    carrying = carry_west()
    carrying.adopt(topic, 2)
    carrying.carry_all()
    assert sum(len(d.prints) for d in dump(aggregate, topic, "read_uncommitted").values()) == 100

    producer.commit_transaction(30)
    carrying.carry_all()
    assert carrying.assert_exact() == 151


# -- holes


@pytest.mark.parametrize("codec", ["none", "lz4"])
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


# -- places


def test_sixty_four_partitions_arrive_each_in_its_own(
    regional: KafkaCluster, aggregate: KafkaCluster, make_topic: Any, carry_west: Carry
) -> None:
    topic = make_topic(regional, aggregate, partitions=64)
    send(regional, topic, records(10_000, partitions=64), Shape(codec="lz4", batch_records=50))
    carrying = carry_west()
    carrying.adopt(topic, 64)
    carrying.carry_all(carriers=2)
    assert carrying.assert_exact() == 10_000


def test_two_sources_share_one_target_topic_and_each_keeps_its_order(
    regional: KafkaCluster, aggregate: KafkaCluster, east: KafkaCluster, redis: RedisServer
) -> None:
    topic = new_name("shared")
    for cluster in (regional, aggregate, east):
        create(cluster, topic, 2)
    with Carrying({"west": regional, "east": east}, aggregate, redis) as carrying:
        carrying.adopt(topic, 2)
        carrying.begin()
        shape = Shape(codec="lz4", batch_records=20, linger_ms=1)
        with Sending(regional, topic, 2, shape) as west, Sending(east, topic, 2, shape) as other:
            for _ in range(3):
                west.until_sent(1000)
                other.until_sent(1000)
                carrying.next_plan()
        carrying.until_carried()
        carrying.stop()
        assert carrying.assert_exact() == west.sent + other.sent


@pytest.mark.parametrize("target_partitions", [2, 5])
def test_partitions_that_only_one_end_has_stop_nobody(
    regional: KafkaCluster, aggregate: KafkaCluster, carry_west: Carry, target_partitions: int
) -> None:
    topic, source_partitions = new_name(), 7 - target_partitions
    create(regional, topic, source_partitions)
    create(aggregate, topic, target_partitions)
    send(regional, topic, records(3000, partitions=source_partitions))
    carrying = carry_west()
    carrying.adopt(topic, 2)
    carrying.topics[topic] = 5
    carrying.begin()
    carrying.until_carried(west=range(2, 5))
    receipts = {receipt.partition: receipt for receipt in carrying.stop()}
    assert [receipts[number].state for number in (0, 1)] == ["released", "released"]
    assert all(receipts[number].reason for number in (2, 3, 4))
    assert carrying.assert_exact(but=range(2, 5))


# -- where it begins


def test_start_latest_carries_what_comes_after_it_was_taken(
    regional: KafkaCluster, aggregate: KafkaCluster, make_topic: Any, carry_west: Carry
) -> None:
    topic = make_topic(regional, aggregate)
    send(regional, topic, records(1000, origin="before "))
    carrying = carry_west(start="latest")
    carrying.adopt(topic)
    carrying.begin()
    carrying.until(lambda: carrying.entries()[TopicPartition(topic, 0)].custody == "held")
    send(regional, topic, records(1000, origin="after "))
    carrying.until_carried()
    carrying.stop()
    assert carrying.assert_exact(since={0: 1000}) == 1000


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_start_at_a_time_begins_with_its_record_even_inside_a_batch(
    regional: KafkaCluster, aggregate: KafkaCluster, make_topic: Any, carry_west: Carry, codec: Any
) -> None:
    topic = make_topic(regional, aggregate)
    traffic = (
        TrafficRecord(0, b"k", b"%d" % number, timestamp_ms=OLD_MS + number)
        for number in range(3000)
    )
    send(regional, topic, traffic, Shape(codec=codec))
    carrying = carry_west(start=OLD_MS + 1234)
    carrying.adopt(topic)
    carrying.carry_all()
    assert carrying.assert_exact(since={0: 1234}) == 3000 - 1234


# -- sizes


def test_a_batch_larger_than_a_fetch_arrives_unopened(
    regional: KafkaCluster, aggregate: KafkaCluster, make_topic: Any, carry_west: Carry
) -> None:
    topic = make_topic(regional, aggregate, partitions=2, config=LARGE)
    _send_large(regional, topic, batches=3)
    carrying = carry_west(fetch_mib=1, max_message_bytes={topic: 8 << 20})
    carrying.adopt(topic, 2)
    receipts = carrying.carry_all()
    assert sum(receipt.batches_opened for receipt in receipts) == 0
    assert carrying.assert_exact() == 3 * 2 * 20


def test_a_batch_larger_than_the_target_takes_arrives_in_pieces(
    regional: KafkaCluster, aggregate: KafkaCluster, carry_west: Carry
) -> None:
    topic = new_name()
    create(regional, topic, 2, LARGE)
    create(aggregate, topic, 2)
    _send_large(regional, topic, batches=3)
    carrying = carry_west()
    carrying.adopt(topic, 2)
    receipts = carrying.carry_all()
    assert sum(receipt.batches_opened for receipt in receipts) > 0
    assert carrying.assert_exact() == 3 * 2 * 20


def test_a_record_larger_than_the_target_takes_is_named_and_stops_only_its_partition(
    regional: KafkaCluster, aggregate: KafkaCluster, carry_west: Carry
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

    carrying = carry_west()
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


LARGE = {"max.message.bytes": str(8 << 20)}


def _send_large(cluster: KafkaCluster, topic: str, *, batches: int) -> None:
    """Batches of 2 MB that do not compress, to each of two partitions."""
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


# -- plans


def test_epochs_in_a_row_under_traffic_carry_every_record_once(
    regional: KafkaCluster, aggregate: KafkaCluster, make_topic: Any, carry_west: Carry
) -> None:
    topic = make_topic(regional, aggregate, partitions=6)
    carrying = carry_west()
    carrying.adopt(topic, 6)
    carrying.begin(carriers=2)
    with Sending(regional, topic, 6, Shape(codec="lz4", linger_ms=1)) as sending:
        for carriers in (1, 3, 2, 1, 2, 3):
            sending.until_sent(800)
            carrying.next_plan(carriers=carriers)
    carrying.until_carried()
    carrying.stop()
    assert carrying.assert_exact() == sending.sent
    assert sum(receipt.records for receipt in carrying.receipts) == sending.sent


def test_a_carrier_overtaken_by_the_next_epochs_repeats_nothing(
    regional: KafkaCluster, aggregate: KafkaCluster, make_topic: Any, carry_west: Carry
) -> None:
    topic = make_topic(regional, aggregate, partitions=3)
    carrying = carry_west()
    carrying.adopt(topic, 3)
    carrying.begin()
    with Sending(regional, topic, 3, Shape(codec="lz4", linger_ms=1)) as sending:
        for _ in range(5):
            sending.until_sent(800)
            carrying.overtake()
    carrying.until_carried()
    carrying.stop()
    assert carrying.assert_exact() == sending.sent


def test_a_transactional_source_is_carried_once_across_epochs(
    regional: KafkaCluster, aggregate: KafkaCluster, make_topic: Any, carry_west: Carry
) -> None:
    topic = make_topic(regional, aggregate, partitions=2)
    carrying = carry_west()
    carrying.adopt(topic, 2)
    carrying.begin()
    shape = Shape(transaction_records=20, abort_every=3, linger_ms=1)
    with Sending(regional, topic, 2, shape) as sending:
        for _ in range(4):
            sending.until_sent(600)
            carrying.next_plan()
    carrying.until_carried()
    carrying.stop()
    assert carrying.assert_exact() == sending.sent


def test_partitions_added_while_running_are_carried_from_their_first_record(
    regional: KafkaCluster, aggregate: KafkaCluster, make_topic: Any, carry_west: Carry
) -> None:
    topic = make_topic(regional, aggregate)
    carrying = carry_west()
    carrying.adopt(topic)
    carrying.begin()
    send(regional, topic, records(1000, origin="one "))
    for cluster in (aggregate, regional):
        admin = cluster.admin()
        admin.create_partitions([NewPartitions(topic, 4)])[topic].result(30)
        assert until(_has_partitions(admin, topic, 4), 30)
    send(regional, topic, records(1000, partitions=4, origin="four "))
    carrying.adopt(topic, 4)
    carrying.next_plan()
    carrying.until_carried()
    carrying.stop()
    assert carrying.assert_exact() == 2000


# -- the map after a kill


def test_after_a_kill_the_tail_is_found_and_both_maps_are_exact(
    regional: KafkaCluster, aggregate: KafkaCluster, make_topic: Any, carry_west: Carry
) -> None:
    topic = make_topic(regional, aggregate, partitions=2)
    # Entries and runs as rarely as they may be: what a takeover finds is all in the tail.
    carrying = carry_west(ledger_seconds=600.0, runs_seconds=60.0)
    carrying.adopt(topic, 2)
    shape = Shape(transaction_records=30, abort_every=4, batch_records=5, linger_ms=1)
    with Sending(regional, topic, 2, shape) as sending:
        for _ in range(3):
            process = carrying.begin_process()
            before = _arrived(aggregate, topic)
            sending.until_sent(600)
            carrying.until(lambda before=before: _arrived(aggregate, topic) > before + 200)
            process.kill()
    carrying.begin()
    carrying.until(lambda: _arrived(aggregate, topic) >= sending.sent)
    carrying.stop()
    assert carrying.assert_exact(redis_may_lack=True) == sending.sent


def _has_partitions(admin: AdminClient, topic: str, count: int) -> Callable[[], bool]:
    return lambda: len(admin.list_topics(topic).topics[topic].partitions) == count


def _arrived(cluster: KafkaCluster, topic: str) -> int:
    return sum(len(d.prints) for d in dump(cluster, topic, "read_committed").values())


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


def _log_of(cluster: KafkaCluster, topic: str, partition: int) -> Path:
    return cluster.directory / "node-1" / "data" / f"{topic}-{partition}"


def _until_cleaned(cluster: KafkaCluster, topic: str) -> None:
    """Until everything but the active segment was cleaned: then the log stays as it is."""
    directory = _log_of(cluster, topic, 0)

    def is_clean() -> bool:
        active = max(int(path.stem) for path in directory.glob("*.log"))
        checkpoint = (directory.parent / "cleaner-offset-checkpoint").read_text().splitlines()
        cleaned = {tuple(line.split()[:2]): int(line.split()[2]) for line in checkpoint[2:]}
        return active > 0 and cleaned.get((topic, "0"), 0) >= active

    assert until(is_clean, 60)


def _break_batch(directory: Path, number: int) -> tuple[int, int]:
    """Turns a bit in the payload of the log's nth batch: its first and last offset."""
    (log,) = directory.glob("*.log")
    data = bytearray(log.read_bytes())
    at = 0
    for _ in range(number):
        at += 12 + int.from_bytes(data[at + 8 : at + 12], "big")
    first = int.from_bytes(data[at : at + 8], "big")
    data[at + 70] ^= 1
    log.write_bytes(data)
    return first, first + int.from_bytes(data[at + 23 : at + 27], "big")
