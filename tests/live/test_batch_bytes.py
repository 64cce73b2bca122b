"""Batches written by librdkafka, repacked by Sluice, appended by a broker, read by librdkafka.

The broker decompresses and checks every record that it appends, so Java reads our compression
framings.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import pytest
from aiokafka.client import AIOKafkaClient
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.protocol.produce import ProduceRequest
from aiokafka.structs import TopicPartition as AioPartition
from confluent_kafka import Consumer, Message, Producer, TopicPartition

from deploy.lab.kafka import KafkaCluster
from replicator.batches.outgoing_batch import Reason
from replicator.batches.packer import Packed, PackingRule, pack

MIB = 1 << 20
READ_COMMITTED = 1
UNOPENED = PackingRule(max_bytes=MIB, merge_below_records=0)
MERGED = PackingRule(max_bytes=MIB, merge_below_records=1000, merge_batches_min=1)
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

Fields = tuple[Any, ...]


async def with_client(
    cluster: KafkaCluster, topic: str, work: Callable[[AIOKafkaClient, int], Awaitable[Any]]
) -> Any:
    client = AIOKafkaClient(bootstrap_servers=cluster.bootstrap)
    await client.bootstrap()
    try:
        await client.set_topics([topic])
        leader = client.cluster.leader_for_partition(AioPartition(topic, 0))
        return await work(client, leader)
    finally:
        await client.close()


async def packed(
    cluster: KafkaCluster, topic: str, rule: PackingRule, position: int = 0
) -> list[Packed]:
    """Returns everything that read_committed fetches return from partition 0, fetch by fetch."""

    async def fetch(client: AIOKafkaClient, leader: int) -> list[Packed]:
        found: list[Packed] = []
        at = position
        while True:
            wanted = [(topic, [(0, at, MIB)])]
            request = FetchRequest(500, 1, 8 * MIB, READ_COMMITTED, wanted)
            answer = await client.send(leader, request)
            partition = answer.topics[0][1][0]
            assert partition[1] == 0
            one = pack(partition[-1], position=at, aborted=partition[5], rule=rule)
            assert one.trouble is None
            if one.next_offset == at:
                return found
            found.append(one)
            at = one.next_offset

    result: list[Packed] = await with_client(cluster, topic, fetch)
    return result


async def produced(cluster: KafkaCluster, topic: str, fetches: Iterable[Packed]) -> None:
    """Sends all batches with a producer id and sequences of the test, one after the other."""

    async def send(client: AIOKafkaClient, leader: int) -> None:
        sequence = 0
        for outgoing in (outgoing for one in fetches for outgoing in one.batches):
            outgoing.stamp(producer_id=987_654, producer_epoch=0, base_sequence=sequence)
            sequence += outgoing.count
            request = ProduceRequest(None, -1, 15_000, [(topic, [(0, outgoing.data)])])
            answer = await client.send(leader, request)
            assert answer.topics[0][1][0][1] == 0

    await with_client(cluster, topic, send)


def fields(message: Message) -> Fields:
    return message.timestamp()[1], message.key(), message.value(), message.headers()


def consumed(cluster: KafkaCluster, topic: str, isolation: str = "read_committed") -> list[Fields]:
    options = {"group.id": "bytes", "isolation.level": isolation, "enable.partition.eof": True}
    consumer = Consumer({**cluster.librdkafka_options(), **options})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = []
    while (message := consumer.poll(30)) is not None and message.error() is None:
        found.append(fields(message))
    consumer.close()
    return found


def odd_records(count: int) -> Iterable[dict[str, Any]]:
    """Yields records with null and empty keys and values, repeated, empty and null headers, and
    unordered timestamps."""
    keys = [None, b"", b"key", b"k" * 300]
    values = [b"value", None, b"", b"repetitive " * 90]
    headers: list[list[tuple[str, bytes | None]]] = [
        [],
        [("a", b"1"), ("b", None), ("a", b""), ("a", b"1")],
    ]
    for index in range(count):
        yield {
            "key": keys[index % 4],
            "value": values[index // 4 % 4],
            "headers": headers[index // 16 % 2],
            "timestamp": 1_700_000_000_000 + (index * 7919) % 100_000,
        }


def write(cluster: KafkaCluster, topic: str, codec: str, count: int, *, one_by_one: bool) -> None:
    options = {"compression.type": codec, "linger.ms": 0 if one_by_one else 200}
    producer = Producer({**cluster.librdkafka_options(), **options})
    for record in odd_records(count):
        producer.produce(topic, partition=0, **record)
        if one_by_one:
            producer.flush(30)
    assert producer.flush(30) == 0


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("rule", [UNOPENED, MERGED], ids=["unopened", "merged"])
async def test_what_librdkafka_wrote_it_reads_again_behind_us(
    regional, aggregate, make_topic, codec, rule
):
    topic = make_topic(regional, aggregate)
    write(regional, topic, codec, 300, one_by_one=False)
    write(regional, topic, codec, 60, one_by_one=True)
    fetches = await packed(regional, topic, rule)
    await produced(aggregate, topic, fetches)
    expected = consumed(regional, topic)
    assert len(expected) == 360
    assert consumed(aggregate, topic, "read_uncommitted") == expected


async def test_tiny_batches_arrive_as_one(regional, aggregate, make_topic):
    topic = make_topic(regional, aggregate)
    write(regional, topic, "lz4", 60, one_by_one=True)
    fetches = await packed(regional, topic, PackingRule(max_bytes=MIB))
    assert sum(len(one.batches) for one in fetches) < 10
    await produced(aggregate, topic, fetches)
    assert consumed(aggregate, topic) == consumed(regional, topic)


@pytest.mark.parametrize("rule", [UNOPENED, MERGED], ids=["unopened", "merged"])
async def test_only_what_was_committed_arrives_and_outside_any_transaction(
    regional, aggregate, make_topic, rule
):
    topic = make_topic(regional, aggregate)
    producer = Producer({**regional.librdkafka_options(), "transactional.id": topic})
    producer.init_transactions(30)
    for number in range(12):
        producer.begin_transaction()
        for index in range(3):
            producer.produce(topic, b"%d-%d" % (number, index), partition=0)
        producer.flush(30)
        if number % 3:
            producer.commit_transaction(30)
        else:
            producer.abort_transaction(30)
    fetches = await packed(regional, topic, rule)
    await produced(aggregate, topic, fetches)
    arrived = consumed(aggregate, topic, "read_uncommitted")
    assert arrived == consumed(regional, topic)
    assert len(arrived) == 24


async def test_times_set_by_the_source_broker_stay(regional, aggregate, make_topic):
    by_broker = {"message.timestamp.type": "LogAppendTime"}
    topic = make_topic(regional, config=by_broker)
    there = make_topic(aggregate)
    write(regional, topic, "zstd", 40, one_by_one=False)
    fetches = await packed(regional, topic, UNOPENED)
    assert all(set(one.opened) == {Reason.LOG_APPEND_TIME} for one in fetches)
    await produced(aggregate, there, fetches)
    assert consumed(aggregate, there) == consumed(regional, topic)


async def test_a_batch_is_cut_at_the_position(regional, aggregate, make_topic):
    topic = make_topic(regional, aggregate)
    write(regional, topic, "snappy", 100, one_by_one=False)
    fetches = await packed(regional, topic, UNOPENED, position=37)
    assert fetches[0].batches[0].first_offset == 37
    await produced(aggregate, topic, fetches)
    assert consumed(aggregate, topic) == consumed(regional, topic)[37:]


async def test_a_batch_too_large_for_the_target_arrives_in_pieces(regional, aggregate, make_topic):
    topic = make_topic(regional)
    there = make_topic(aggregate, config={"max.message.bytes": "3000"})
    write(regional, topic, "none", 100, one_by_one=False)
    fetches = await packed(regional, topic, PackingRule(max_bytes=3000))
    assert fetches[0].opened[Reason.TOO_LARGE] >= 1
    await produced(aggregate, there, fetches)
    assert consumed(aggregate, there) == consumed(regional, topic)
