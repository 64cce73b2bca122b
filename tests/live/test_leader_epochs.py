"""Leader epochs that grow: a client that asked for log ends gets new answers, a carrier goes on.

librdkafka's admin client (2.16) keeps stale metadata for a long time in three cases. It was refused
with the epoch that it knew (FENCED_LEADER_EPOCH), it asked while a partition had no leader
(LEADER_NOT_AVAILABLE), or the partition was created since.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import NewTopic

from deploy.lab.kafka import KafkaCluster as LabCluster
from deploy.lab.wait import until
from replicator.config.topology import KafkaCluster
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.topic_changes import Grow
from replicator.kafka.tail.topic_tailer import LogEnds
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.source_gaps import SourceGaps
from tests.live.conftest import StageMaker
from tests.live.stage import SELDOM

HELD_BY = 1
"""The only broker with the topic: while it is stopped, no follower takes over."""
PATIENCE_SECONDS = 60.0
INVALID_REPLICA_ASSIGNMENT = 39


@pytest.fixture(scope="module")
def two_brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabCluster]:
    with LabCluster("two", tmp_path_factory.mktemp("two"), brokers=2) as cluster:
        yield cluster


@pytest.fixture
def topic(two_brokers: LabCluster) -> str:
    made = NewTopic(f"fenced-{uuid.uuid4().hex[:8]}", 2, replica_assignment=[[HELD_BY], [HELD_BY]])

    def is_made() -> bool:
        """Returns False while the broker is fenced, as some time after a pause."""
        try:
            two_brokers.create_topics(made)
        except KafkaException as error:
            if error.args[0].code() != INVALID_REPLICA_ASSIGNMENT:
                raise
            return False
        return True

    assert until(is_made, PATIENCE_SECONDS)
    return str(made.topic)


def new_epoch(cluster: LabCluster, topic: str) -> None:
    """Fences the broker for a while; it then leads again in a newer epoch."""
    with nobody_leading(cluster, topic):
        pass


@contextmanager
def nobody_leading(cluster: LabCluster, topic: str) -> Iterator[None]:
    """Leaves the topic without a leader for a time, by pausing the broker until it is fenced."""
    with fenced(cluster, topic, HELD_BY):
        yield
    assert until(lambda: leaders(cluster, topic) == {HELD_BY}, PATIENCE_SECONDS)


@contextmanager
def fenced(cluster: LabCluster, topic: str, broker: int) -> Iterator[None]:
    """Pauses a broker, and waits until it no longer leads the topic."""
    cluster.pause(broker)
    try:
        assert until(lambda: broker not in leaders(cluster, topic), PATIENCE_SECONDS)
        yield
    finally:
        cluster.resume(broker)


def leaders(cluster: LabCluster, topic: str) -> set[int]:
    metadata = cluster.admin().list_topics(topic, timeout=10).topics[topic]
    return {row.leader for row in metadata.partitions.values()}


def told(ends: LogEnds) -> Mapping[int, int]:
    """Returns the next answer."""
    answers: list[Mapping[int, int]] = []

    def is_told() -> bool:
        if news := ends.poll():
            answers.append(news.ends)
        return bool(answers)

    assert until(is_told, PATIENCE_SECONDS)
    return answers[-1]


def test_ends_are_told_after_the_leaders_epoch_has_grown(
    two_brokers: LabCluster, topic: str
) -> None:
    admin = Admin("two", KafkaCluster.model_validate(two_brokers.topology_table()))
    places = [(topic, 0), (topic, 1)]
    for _ in range(4):  # until the client has cached the leaders
        assert admin.offsets(places, "latest") == dict.fromkeys(places, 0)
    new_epoch(two_brokers, topic)
    assert admin.offsets(places, "latest") == dict.fromkeys(places, 0)


def test_whoever_follows_a_log_hears_of_its_end_after_the_leaders_epoch_has_grown(
    two_brokers: LabCluster, topic: str
) -> None:
    ends = LogEnds(two_brokers.librdkafka_options(), topic, range(2))
    assert until(lambda: told(ends) == {0: 0, 1: 0}, PATIENCE_SECONDS)
    for _ in range(3):  # until the client has cached the leaders
        assert told(ends) == {0: 0, 1: 0}
    new_epoch(two_brokers, topic)
    assert until(lambda: told(ends) == {0: 0, 1: 0}, PATIENCE_SECONDS)


def test_ends_are_told_to_who_asked_while_nobody_led(two_brokers: LabCluster, topic: str) -> None:
    admin = Admin("two", KafkaCluster.model_validate(two_brokers.topology_table()))
    places = [(topic, 0), (topic, 1)]
    with nobody_leading(two_brokers, topic):
        assert admin.offsets(places, "latest") == {}
    assert admin.offsets(places, "latest") == dict.fromkeys(places, 0)


def test_whoever_began_to_follow_a_log_while_nobody_led_hears_of_its_end(
    two_brokers: LabCluster, topic: str
) -> None:
    ends = LogEnds(two_brokers.librdkafka_options(), topic, range(2))

    with nobody_leading(two_brokers, topic):
        assert told(ends) == {}
    assert until(lambda: told(ends) == {0: 0, 1: 0}, PATIENCE_SECONDS)


def test_the_end_of_a_partition_that_came_is_told_to_who_had_asked_before(
    two_brokers: LabCluster, topic: str
) -> None:
    admin = Admin("two", KafkaCluster.model_validate(two_brokers.topology_table()))
    assert admin.offsets([(topic, 0)], "latest") == {(topic, 0): 0}
    [outcome] = admin.apply([Grow(topic, 3)])
    assert outcome.error is None
    place = topic, 2
    assert until(lambda: admin.offsets([place], "latest") == {place: 0}, PATIENCE_SECONDS)


def test_the_end_of_a_topic_that_came_is_told_to_who_had_asked_before(
    two_brokers: LabCluster,
) -> None:
    admin = Admin("two", KafkaCluster.model_validate(two_brokers.topology_table()))
    place = f"came-{uuid.uuid4().hex[:8]}", 0
    assert admin.offsets([place], "latest") == {}
    two_brokers.create_topics(NewTopic(place[0], 1))
    assert until(lambda: admin.offsets([place], "latest") == {place: 0}, PATIENCE_SECONDS)


# -- carriers


class Heedless(SourceGaps):
    """Mutation: batches of a newer leader epoch wait for no entry."""

    def add(self, sequence: int, skipped: int) -> None:
        if skipped:
            super().add(sequence, skipped)


def heedless(pipeline: PartitionPipeline) -> None:
    pipeline.gaps = Heedless(pipeline.entry.sequence)


@pytest.mark.parametrize(
    "in_force",
    [pytest.param(True, marks=pytest.mark.core), False],
    ids=["in force", "taken out"],
)
def test_a_leader_epoch_that_grew_behind_the_last_entry_is_not_taken_for_a_cut(
    two_brokers: LabCluster, make_stage: StageMaker, in_force: bool
) -> None:
    stage = make_stage(source=two_brokers)
    stage.send(500)
    assert stage.to_the_end(0).finish()
    hand = stage.hand(1, adapt=None if in_force else heedless, **SELDOM).start()
    hand.until(lambda: stage.place in hand.pipelines)
    stage.send(500)
    hand.until_carried(stage.place)
    (leader,) = leaders(two_brokers, stage.topic)
    with fenced(two_brokers, stage.topic, leader):
        pass
    stage.send(500)
    hand.until_carried(stage.place)
    hand.kill()
    after = stage.hand(2).start()
    if in_force:
        after.until_carried(stage.place)
        stage.assert_exact()
    else:
        stage.until(lambda: stage.entry.parked is not None)
        assert "source log was truncated" in str(stage.entry.parked)
