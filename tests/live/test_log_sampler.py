"""Samples of real logs, and the traffic computed from two samples."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest
from confluent_kafka import TopicPartition as KafkaTopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from balancer.topic_partition import TopicPartition
from deploy.lab.credentials import USERNAME
from deploy.lab.kafka import KafkaCluster
from deploy.lab.traffic import Shape, TrafficRecord, send
from deploy.lab.wait import until
from replicator.config import topology
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Cluster
from replicator.placement.traffic.growth import DENSITY_DEFAULT, windows
from replicator.placement.traffic.log_sampler import LogSampler
from tests.live import acls
from tests.live.topics import create, delete, new_name

pytestmark = pytest.mark.timeout(180)

RECORD_BYTES = 1000
BATCH = Shape(batch_records=100)
WITHIN = 0.05
"""Relative tolerance for bytes of values: keys and headers of records and batches add 2 %."""


@pytest.fixture(scope="module")
def two_brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """Two brokers with fast retention; a test may stop them if it starts them again."""
    properties = {"log.initial.task.delay.ms": 100, "log.retention.check.interval.ms": 200}
    directory = tmp_path_factory.mktemp("two")
    with KafkaCluster("two", directory, brokers=2, properties=properties) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """A cluster whose users have all rights on topics and none on the cluster."""
    directory = tmp_path_factory.mktemp("guarded")
    cluster = KafkaCluster(
        "guarded", directory, properties=acls.AUTHORIZER, security="sasl_plaintext"
    )
    cluster.start()
    try:
        allow(cluster, ResourceType.TOPIC, "*", AclOperation.ALL)
        cluster.wait_ready()
        yield cluster
    finally:
        cluster.kill_all()


def allow(cluster, kind, name, operation):
    """Adds an ACL and returns a function that removes it."""
    literal, allowed = ResourcePatternType.LITERAL, AclPermissionType.ALLOW
    rule = AclBinding(kind, name, literal, f"User:{USERNAME}", "*", operation, allowed)
    acls.add(cluster, [rule])
    return lambda: acls.remove(cluster, [rule])


Opener = Callable[..., Awaitable[LogSampler]]


@pytest.fixture
async def open_sampler() -> AsyncIterator[Opener]:
    """`await open_sampler(cluster)`: a sampler whose connection is closed after the test."""
    opened = []

    async def open_sampler(cluster, timeout_ms=15_000, client=Cluster):
        settings = topology.KafkaCluster.model_validate(cluster.topology_table())
        opened.append(client("west regional", settings, request_timeout_ms=timeout_ms))
        await opened[-1].open()
        return LogSampler(opened[-1])

    yield open_sampler
    for cluster in opened:
        await cluster.close()
    await asyncio.sleep(0)  # transports close in the loop's next turn


def places_of(topic, partitions):
    return [TopicPartition(topic, number) for number in range(partitions)]


async def until_seen(sampler, partitions, is_enough=lambda look: not look.missing):
    """Returns the first sample with no partition missing. A broker learns of topics and elections a
    moment after the metadata show them."""
    async with asyncio.timeout(60):
        while True:
            look = await sampler.sample(partitions)
            if is_enough(look):
                return look
            await asyncio.sleep(0.05)


def fill(cluster, topic, records, origin=b"", shape=BATCH):
    """Sends the given number of distinct records, of RECORD_BYTES each, to each partition."""
    send(
        cluster,
        topic,
        (
            TrafficRecord(number, None, (b"%s %d " % (origin, at)).ljust(RECORD_BYTES, b"."))
            for number, count in records.items()
            for at in range(count)
        ),
        shape,
    )


def bytes_of(records):
    return pytest.approx(records * RECORD_BYTES, rel=WITHIN)


# -- traffic of a log


async def test_traffic_is_what_each_partition_took_in_in_bytes_and_records(open_sampler, regional):
    topic = new_name("looked-at")
    create(regional, topic, 3)
    sampler = await open_sampler(regional)
    fill(regional, topic, {0: 300, 1: 10, 2: 50})
    before = await until_seen(sampler, places_of(topic, 3))
    fill(regional, topic, {0: 2000, 1: 500})
    after = await sampler.sample(places_of(topic, 3))
    found = windows(before, after)
    assert [found[place].records for place in places_of(topic, 3)] == [2000, 500, 0]
    assert [found[p].bytes for p in places_of(topic, 3)] == [bytes_of(2000), bytes_of(500), 0]
    assert {w.begin_ms for w in found.values()} == {before.at_ms} and before.missing == 0


async def test_bytes_are_those_of_compressed_batches(open_sampler, regional):
    topic = new_name("compressed")
    create(regional, topic)
    sampler = await open_sampler(regional)
    before = await until_seen(sampler, places_of(topic, 1))
    fill(regional, topic, {0: 2000}, shape=Shape(codec="zstd", batch_records=100))
    after = await sampler.sample(places_of(topic, 1))
    (window,) = windows(before, after).values()
    assert window.records == 2000
    log = regional.directory / "node-1" / "data" / f"{topic}-0" / f"{0:020}.log"
    assert window.bytes == log.stat().st_size < 2000 * RECORD_BYTES / 4


async def test_records_of_aborted_transactions_are_traffic_too(open_sampler, regional):
    topic = new_name("transactional")
    create(regional, topic)
    place = TopicPartition(topic, 0)
    sampler = await open_sampler(regional)
    before = await until_seen(sampler, [place])
    fill(regional, topic, {0: 60}, shape=Shape(transaction_records=20, abort_every=2))
    with_markers = 60 + 3
    after = await until_seen(sampler, [place], lambda look: look.logs[place].end == with_markers)
    assert windows(before, after)[place].records == with_markers


async def test_deleted_records_are_no_traffic_and_what_comes_meanwhile_is(open_sampler, regional):
    topic = new_name("deleted")
    create(regional, topic)
    sampler = await open_sampler(regional)
    fill(regional, topic, {0: 1000})
    before = await sampler.sample(places_of(topic, 1))
    admin = regional.admin()
    for deleted in admin.delete_records([KafkaTopicPartition(topic, 0, 990)]).values():
        deleted.result(30)
    calm = await sampler.sample(places_of(topic, 1))
    fill(regional, topic, {0: 200})
    after = await sampler.sample(places_of(topic, 1))
    place = TopicPartition(topic, 0)
    assert calm.logs[place].start == 990
    assert windows(before, calm)[place].bytes == 0
    for earlier in (before, calm):
        window = windows(earlier, after)[place]
        assert (window.bytes, window.records) == (bytes_of(200), 200)


async def test_a_recreated_topic_starts_over(open_sampler, regional):
    topic = new_name("anew")
    create(regional, topic)
    fill(regional, topic, {0: 10})
    sampler = await open_sampler(regional)
    place = TopicPartition(topic, 0)
    before = await until_seen(sampler, [place])
    delete(regional, topic)
    gone = await sampler.sample([place])
    assert (gone.logs, gone.missing) == ({}, 1)
    create(regional, topic)
    fill(regional, topic, {0: 500})
    after = await until_seen(sampler, [place])
    assert before.logs[place].topic_id != after.logs[place].topic_id
    assert windows(before, after) == {}
    fill(regional, topic, {0: 100})
    (window,) = windows(after, await sampler.sample([place])).values()
    assert (window.bytes, window.records) == (bytes_of(100), 100)


async def test_partitions_that_there_are_not_are_left_out_and_counted(open_sampler, regional):
    topic = new_name("small")
    create(regional, topic, 2)
    sampler = await open_sampler(regional)
    await until_seen(sampler, places_of(topic, 2))
    look = await sampler.sample([*places_of(topic, 5), TopicPartition(new_name("none"), 0)])
    assert (set(look.logs), look.missing) == (set(places_of(topic, 2)), 4)
    assert (await sampler.sample([])).logs == {}


# -- several brokers


async def test_each_partition_is_seen_at_the_broker_that_leads_it(open_sampler, two_brokers):
    topic = new_name("led")
    create(two_brokers, topic, replicas=[[1, 2], [2, 1], [1, 2], [2, 1]])
    sampler = await open_sampler(two_brokers)
    before = await until_seen(sampler, places_of(topic, 4))
    fill(two_brokers, topic, {number: 100 * (number + 1) for number in range(4)})
    after = await sampler.sample(places_of(topic, 4))
    assert [after.logs[place].leader for place in places_of(topic, 4)] == [1, 2, 1, 2]
    found = windows(before, after)
    assert [found[p].bytes for p in places_of(topic, 4)] == [bytes_of(100 * n) for n in range(1, 5)]


async def test_a_snapshot_takes_three_requests_to_each_broker_however_many_partitions(
    open_sampler, two_brokers
):
    sent = []

    class CountedCluster(Cluster):
        """Client that notes the requests of the sampler."""

        async def send(self, node, request, purpose="control"):
            if purpose == "looks":
                sent.append((node, type(request).__name__))
            return await super().send(node, request, purpose)

    topic = new_name("many")
    create(two_brokers, topic, 200)
    sampler = await open_sampler(two_brokers, client=CountedCluster)
    await until_seen(sampler, places_of(topic, 200))
    sent.clear()
    assert len((await sampler.sample(places_of(topic, 200))).logs) == 200
    requests = ["LogDirsRequest", "OffsetRequest", "OffsetRequest"]
    assert sorted(sent) == [(node, name) for node in (1, 2) for name in requests]


async def test_segments_that_retention_takes_away_do_not_make_traffic_less(
    open_sampler, two_brokers
):
    topic = new_name("short")
    config = {"segment.bytes": str(1 << 20), "retention.bytes": str(2 << 20)}
    create(two_brokers, topic, config={**config, "file.delete.delay.ms": "100"}, replicas=[[1]])
    sampler = await open_sampler(two_brokers)
    place = TopicPartition(topic, 0)
    fill(two_brokers, topic, {0: 4000})
    assert until(lambda: log_start(two_brokers, topic) > 0, 60)
    before = await sampler.sample([place])
    started = log_start(two_brokers, topic)
    fill(two_brokers, topic, {0: 4000})
    assert until(lambda: log_start(two_brokers, topic) > max(started, 4000), 60)
    after = await sampler.sample([place])
    window = windows(before, after, {place: RECORD_BYTES * 1.02})[place]
    assert (window.bytes, window.records) == (bytes_of(4000), 4000)


def log_start(cluster, topic):
    (log, *_) = sorted(p.stem for p in log_of(cluster, topic).glob("*.log"))
    return int(log)


def log_of(cluster, topic):
    return cluster.directory / "node-1" / "data" / f"{topic}-0"


@pytest.mark.parametrize("how", ["killed", "paused"])
async def test_a_broker_that_does_not_answer_costs_only_its_partitions(
    open_sampler, two_brokers, how
):
    topic = new_name("dead")
    create(two_brokers, topic, replicas=[[1], [2], [1], [2]])
    sampler = await open_sampler(two_brokers, timeout_ms=3000)
    fill(two_brokers, topic, dict.fromkeys(range(4), 10))
    before = await until_seen(sampler, places_of(topic, 4))
    (two_brokers.kill if how == "killed" else two_brokers.pause)(2)
    try:
        fill(two_brokers, topic, {0: 100, 2: 100})
        look = await sampler.sample(places_of(topic, 4))
    finally:
        (two_brokers.restart if how == "killed" else two_brokers.resume)(2)
        two_brokers.wait_ready()
    assert (set(look.logs), look.missing) == ({(topic, 0), (topic, 2)}, 2)
    assert [w.bytes for w in windows(before, look).values()] == [bytes_of(100)] * 2
    again = await until_seen(sampler, places_of(topic, 4))
    assert set(windows(before, again)) == set(places_of(topic, 4))


async def test_a_cluster_of_which_no_broker_answers_is_named(open_sampler, two_brokers):
    topic = new_name("gone")
    create(two_brokers, topic, replicas=[[1], [2]])
    sampler = await open_sampler(two_brokers, timeout_ms=2000)
    await until_seen(sampler, places_of(topic, 2))
    try:
        for number in two_brokers.brokers:
            two_brokers.kill(number)
        with pytest.raises(Unreachable, match="west regional"):
            await sampler.sample(places_of(topic, 2))
    finally:
        for number in two_brokers.brokers:
            two_brokers.restart(number)
        two_brokers.wait_ready()
    assert (await until_seen(sampler, places_of(topic, 2))).logs


# -- rights


def unsized(look):
    return sum(log.size_bytes is None for log in look.logs.values())


async def test_without_the_right_to_sizes_bytes_follow_from_records(open_sampler, guarded):
    topic = new_name("guarded")
    create(guarded, topic, 2)
    sampler = await open_sampler(guarded)
    fill(guarded, topic, {0: 50})
    before = await until_seen(sampler, places_of(topic, 2))
    fill(guarded, topic, {0: 100})
    blind = await sampler.sample(places_of(topic, 2))
    place = TopicPartition(topic, 0)
    assert (blind.missing, unsized(blind), blind.logs[place].end) == (0, 2, 150)
    assert windows(before, blind)[place].bytes == 100 * DENSITY_DEFAULT
    take_back = allow(guarded, ResourceType.BROKER, "kafka-cluster", AclOperation.DESCRIBE)
    try:
        sighted = await until_seen(sampler, places_of(topic, 2), lambda look: not unsized(look))
        fill(guarded, topic, {0: 100})
        after = await sampler.sample(places_of(topic, 2))
    finally:
        take_back()
    assert sighted.logs[place].size_bytes == bytes_of(150)
    assert windows(sighted, after)[place].bytes == bytes_of(100)
