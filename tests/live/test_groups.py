"""Consumer groups of real brokers: members, commits, and offsets set by an admin client."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as KafkaTopicPartition

from balancer.topic_partition import TopicPartition
from deploy.lab.kafka import KafkaCluster as LabCluster
from deploy.lab.process import free_port
from deploy.lab.wait import until
from replicator.config.topology import KafkaCluster
from replicator.groups.membership.groups import GroupActive, Groups
from replicator.groups.progress.vector_metadata import committed_text, decode
from replicator.kafka.admin.admin_error import AdminError, AdminUnreachable
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from tests.live.conftest import ClusterMaker, TopicMaker
from tests.live.group_heartbeats import ShareRequest, StreamsRequest, heartbeats

PATIENCE_SECONDS = 60.0


@pytest.fixture
def groups(aggregate: LabCluster) -> Groups:
    return Groups("aggregate", KafkaCluster.model_validate(aggregate.topology_table()))


@pytest.fixture
def name() -> str:
    return f"group-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def known_topic(aggregate: LabCluster, groups: Groups, make_topic: TopicMaker) -> TopicMaker:
    """A new topic that the group coordinators know; on a busy machine they learn of it late."""

    def make(partitions: int = 1) -> str:
        topic = make_topic(aggregate, partitions=partitions)
        last = {TopicPartition(topic, partitions - 1): (0, "")}
        asks = f"asks-{uuid.uuid4().hex[:12]}"
        assert until(lambda: groups.write(asks, last) == {}, PATIENCE_SECONDS)
        return topic

    return make


Joining = Callable[..., Consumer]


@pytest.fixture
def join(aggregate: LabCluster) -> Iterator[Joining]:
    """`join(group, topic)`: a consumer with its partitions; a test may close it early."""
    with ExitStack() as open_ones:

        def join(group: str, topic: str, protocol: str = "classic") -> Consumer:
            consumer = Consumer(
                {
                    **aggregate.librdkafka_options(),
                    "group.id": group,
                    "group.protocol": protocol,
                    "enable.auto.commit": False,
                }
            )
            open_ones.enter_context(closing(consumer))
            consumer.subscribe([topic])

            def is_in() -> bool:
                consumer.poll(0.1)
                return bool(consumer.assignment())

            assert until(is_in, PATIENCE_SECONDS)
            return consumer

        yield join


@pytest.mark.parametrize("protocol", [pytest.param("classic", marks=pytest.mark.core), "consumer"])
def test_a_group_with_members_keeps_its_offsets_and_one_that_has_stopped_takes_them(
    groups, name, join, known_topic: TopicMaker, protocol
):
    topic = known_topic(2)
    partition = TopicPartition(topic, 0)
    consumer = join(name, topic, protocol)
    consumer.commit(offsets=[KafkaTopicPartition(topic, 0, 3)], asynchronous=False)
    assert groups.members()[name]
    assert groups.active([name, "nobody"]) == {name}
    with pytest.raises(GroupActive, match=name):
        groups.write(name, {partition: (5, "")})
    assert groups.commits([name], [partition]) == {name: {partition: OffsetAndMetadata(3)}}

    consumer.close()
    assert until(lambda: not groups.active([name]), PATIENCE_SECONDS)
    assert not groups.members()[name]
    assert groups.write(name, {partition: (5, "")}) == {}
    assert groups.commits([name], [partition]) == {name: {partition: OffsetAndMetadata(5)}}
    # The group's next consumer begins at the offset that was set.
    consumer = join(name, topic, protocol)
    assert {
        row.offset for row in consumer.committed([KafkaTopicPartition(topic, 0)], timeout=30)
    } == {5}


@pytest.mark.parametrize(
    ("heartbeat", "type_"), [(StreamsRequest, "streams"), (ShareRequest, "share")]
)
def test_groups_that_are_no_consumers_are_listed_with_their_members(
    groups, name, aggregate, known_topic: TopicMaker, heartbeat, type_
):
    topic = known_topic()
    partition = TopicPartition(topic, 0)
    with heartbeats(aggregate, heartbeat, name, topic):
        assert groups.members()[name]
        assert groups.listed()[name].type == type_
        assert groups.active([name, "nobody"]) == {name}
        if type_ == "streams":
            with pytest.raises(GroupActive, match=name):
                groups.write(name, {partition: (5, "")})
    assert not groups.active([name])
    assert groups.listed()[name].type == type_
    if type_ == "streams":
        assert groups.write(name, {partition: (5, "")}) == {}


def test_hundreds_of_partitions_are_set_at_once_with_their_vectors(
    groups, name, aggregate, known_topic: TopicMaker
):
    topic = known_topic(300)
    vectors = {n: {"west": n, "east": 10**12 + n} for n in range(300)}
    offsets = {
        TopicPartition(topic, n): (n + 1, committed_text(vector)) for n, vector in vectors.items()
    }
    assert groups.write(name, offsets) == {}
    found = groups.commits([name], offsets)[name]
    assert found == {partition: OffsetAndMetadata(*it) for partition, it in offsets.items()}
    assert {partition.partition: decode(it.metadata) for partition, it in found.items()} == vectors
    # librdkafka reads metadata up to a zero byte, which vectors therefore end with.
    with closing(Consumer({**aggregate.librdkafka_options(), "group.id": name})) as consumer:
        places = [KafkaTopicPartition(topic, n) for n in range(300)]
        held = {row.partition: decode(row.metadata) for row in consumer.committed(places, 30)}
    assert held == vectors


def test_a_group_that_does_not_exist_has_nothing_and_is_made_by_writing(
    groups, name, known_topic: TopicMaker
):
    partition = TopicPartition(known_topic(), 0)
    assert name not in groups.members()
    assert groups.active([name]) == frozenset()
    assert groups.commits([name], [partition]) == {name: {}}
    assert groups.write(name, {partition: (7, "text")}) == {}
    assert not groups.members()[name]
    assert groups.commits([name], [partition]) == {name: {partition: OffsetAndMetadata(7, "text")}}


def test_nothing_to_read_or_to_write_needs_no_broker(name):
    nowhere = Groups("nowhere", KafkaCluster(bootstrap=(f"127.0.0.1:{free_port()}",)))
    assert nowhere.commits([name], []) == {name: {}}
    assert nowhere.commits([], [TopicPartition("t", 0)]) == {}
    assert nowhere.write(name, {}) == {}


def test_partitions_that_are_refused_are_named_and_the_others_are_set(
    groups, name, known_topic: TopicMaker
):
    topic = known_topic(2)
    kept, absent, nowhere = (
        TopicPartition(topic, 0),
        TopicPartition(topic, 9),
        TopicPartition(f"{topic}-nowhere", 0),
    )
    long = TopicPartition(topic, 1)
    refused = groups.write(
        name, {kept: (4, "beside"), absent: (4, ""), nowhere: (4, ""), long: (4, "x" * 5000)}
    )
    assert refused == {
        absent: "UNKNOWN_TOPIC_OR_PARTITION",
        nowhere: "UNKNOWN_TOPIC_OR_PARTITION",
        long: "OFFSET_METADATA_TOO_LARGE",
    }
    found = groups.commits([name], [kept, absent, nowhere, long])
    assert found == {name: {kept: OffsetAndMetadata(4, "beside")}}


def test_a_cluster_that_is_away_is_named(name):
    port = free_port()
    away = Groups("east aggregate", KafkaCluster(bootstrap=(f"127.0.0.1:{port}",)), 1.0)
    for ask in (
        away.members,
        lambda: away.active([name]),
        lambda: away.commits([name], [TopicPartition("t", 0)]),
        lambda: away.write(name, {TopicPartition("t", 0): (1, "")}),
    ):
        with pytest.raises(AdminUnreachable, match="east aggregate"):
            ask()


def test_a_broker_that_dies_during_requests_does_not_end_the_process(
    make_cluster: ClusterMaker, name
):
    """librdkafka's request to a coordinator that dies ends the whole process (librdkafka issue
    4605), so `Groups` sends none."""
    cluster = make_cluster("dying")
    groups = Groups("dying", KafkaCluster.model_validate(cluster.topology_table()), 5.0)
    assert until(lambda: groups.active([name]) == frozenset(), PATIENCE_SECONDS)
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            with suppress(AdminError):
                groups.members()

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        for _ in range(2):
            cluster.kill()
            cluster.restart()
            cluster.wait_ready()
    finally:
        over.set()
        asking.join()
    assert until(lambda: groups.active([name]) == frozenset(), PATIENCE_SECONDS)
