"""A partition led by the same broker as before, in another epoch: who asked before may ask again.

librdkafka's admin client asks with the epoch that it knows, is refused (FENCED_LEADER_EPOCH), and
never looks again by itself (2.16).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import NewTopic

from deploy.lab.kafka import KafkaCluster as LabCluster
from deploy.lab.wait import until
from replicator.config.topology import KafkaCluster
from replicator.copies.log_ends import LogEnds
from replicator.topics.admin import Admin

HELD_BY = 1
"""The broker that has the topic, alone: one that stands still has no follower to give it to."""
PATIENCE_SECONDS = 60.0


@pytest.fixture(scope="module")
def two_brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabCluster]:
    with LabCluster("two", tmp_path_factory.mktemp("two"), brokers=2) as cluster:
        yield cluster


@pytest.fixture
def topic(two_brokers: LabCluster) -> str:
    name = f"fenced-{uuid.uuid4().hex[:8]}"
    two_brokers.create_topics(NewTopic(name, 2, replica_assignment=[[HELD_BY], [HELD_BY]]))
    return name


def new_epoch(cluster: LabCluster, topic: str) -> None:
    """The broker is held to be dead for a while, and leads again."""

    def leaders() -> set[int]:
        metadata = cluster.admin().list_topics(topic, timeout=10).topics[topic]
        return {row.leader for row in metadata.partitions.values()}

    cluster.pause(HELD_BY)
    assert until(lambda: HELD_BY not in leaders(), PATIENCE_SECONDS)
    cluster.resume(HELD_BY)
    assert until(lambda: leaders() == {HELD_BY}, PATIENCE_SECONDS)


def test_ends_are_told_after_the_leaders_epoch_has_grown(
    two_brokers: LabCluster, topic: str
) -> None:
    admin = Admin("two", KafkaCluster.model_validate(two_brokers.topology_table()))
    places = [(topic, 0), (topic, 1)]
    for _ in range(4):  # by then the client has kept what it knows of the leaders
        assert admin.offsets(places, "latest") == dict.fromkeys(places, 0)
    new_epoch(two_brokers, topic)
    assert admin.offsets(places, "latest") == dict.fromkeys(places, 0)


def test_whoever_follows_a_log_hears_of_its_end_after_the_leaders_epoch_has_grown(
    two_brokers: LabCluster, topic: str
) -> None:
    ends = LogEnds(two_brokers.librdkafka_options(), topic, range(2))

    def are_told() -> bool:
        news = ends.news()
        return news is not None and news.ends == {0: 0, 1: 0}

    for _ in range(4):
        assert until(are_told, PATIENCE_SECONDS)
    new_epoch(two_brokers, topic)
    assert until(are_told, PATIENCE_SECONDS)
