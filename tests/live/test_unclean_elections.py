"""Unclean elections that lose acknowledged records, which are named; other partitions continue."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import PartitionMetadata

from balancer.topic_partition import TopicPartition
from deploy.lab.dump import dump
from deploy.lab.kafka import KafkaCluster
from deploy.lab.redis import RedisServer
from deploy.lab.traffic import Shape, records, send
from deploy.lab.wait import until
from tests.live.carrying import Carrying
from tests.live.topics import create, new_name

UNCLEAN = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}
# Partition 0 is lost with broker 1; partition 1 keeps its leader.
REPLICAS = [[1, 2], [3, 2]]


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """Three brokers, all of which run again at the end of each test."""
    with KafkaCluster("three", tmp_path_factory.mktemp("three"), brokers=3) as cluster:
        yield cluster


class Loser:
    """Makes partition 0 of a topic lose the records that are written while broker 2 is down.

    All brokers run again at the end of the `with` block.
    """

    def __init__(self, cluster: KafkaCluster, topic: str) -> None:
        self._cluster, self._topic, self._admin = cluster, topic, cluster.admin()

    def __enter__(self) -> Loser:
        return self

    def __exit__(self, *_: object) -> None:
        for number in (1, 2):
            if number not in self._cluster.processes:
                self._cluster.restart(number)
        self._cluster.wait_ready()

    def leave_one_behind(self) -> None:
        self._cluster.kill(2)
        assert until(lambda: self._shown().isrs == [1], 60)

    def elect_the_one_left_behind(self) -> None:
        self._cluster.kill(1)
        self._cluster.restart(2)
        assert until(lambda: self._shown().leader == 2, 60)

    def _shown(self) -> PartitionMetadata:
        """Returns the metadata of partition 0; empty while no broker answers."""
        try:
            told = self._admin.list_topics(self._topic, timeout=2)
        except KafkaException:
            return PartitionMetadata()
        return told.topics[self._topic].partitions.get(0, PartitionMetadata())


def fill(cluster: KafkaCluster, topic: str, origin: str) -> None:
    traffic = records(500, partitions=2, origin=f"{origin} ")
    send(cluster, topic, traffic, Shape(codec="lz4", batch_records=50))


def prints(cluster: KafkaCluster, topic: str) -> list[int]:
    return list(dump(cluster, topic)[0].prints.tolist())


def test_what_an_unclean_election_took_from_the_source_is_named(
    three: KafkaCluster, aggregate: KafkaCluster, redis: RedisServer
) -> None:
    topic = new_name()
    create(three, topic, config=UNCLEAN, replicas=REPLICAS)
    create(aggregate, topic, 2)
    place = TopicPartition(topic, 0)
    with Loser(three, topic) as loser, Carrying({"west": three}, aggregate, redis) as carrying:
        carrying.adopt(topic, 2)
        carrying.begin()
        fill(three, topic, "kept")
        end = len(prints(three, topic))
        loser.leave_one_behind()
        fill(three, topic, "lost")
        carrying.until_carried()
        before = prints(three, topic)
        loser.elect_the_one_left_behind()
        fill(three, topic, "anew")
        reason = carrying.until_parked(place)
        assert f"source log was truncated: source offsets [{end}, {len(before)})" in reason
        carrying.until_carried(west=[0])
        assert prints(aggregate, topic) == before

        assert carrying.accept(place).source_offset == end
        carrying.until_carried()
        carrying.stop()
        assert prints(aggregate, topic) == before + prints(three, topic)[end:]
        assert carrying.assert_exact(but=[0])


@pytest.mark.core
def test_what_an_unclean_election_took_from_the_target_is_named(
    regional: KafkaCluster, three: KafkaCluster, redis: RedisServer
) -> None:
    topic = new_name()
    create(regional, topic, 2)
    create(three, topic, config=UNCLEAN, replicas=REPLICAS)
    place = TopicPartition(topic, 0)
    with (
        Loser(three, topic) as loser,
        Carrying({"west": regional}, three, redis, replication_factor=3) as carrying,
    ):
        carrying.adopt(topic, 2)
        carrying.begin()
        fill(regional, topic, "kept")
        carrying.until_carried()
        end = len(prints(three, topic))
        loser.leave_one_behind()
        fill(regional, topic, "lost")
        carrying.until_carried()
        landed = len(prints(regional, topic))
        loser.elect_the_one_left_behind()
        left = prints(three, topic)
        assert len(left) == end
        fill(regional, topic, "behind")
        reason = carrying.until_parked(place)
        assert f"target lost acknowledged records: target offsets [{end}, {landed})" in reason
        carrying.until_carried(west=[0])
        assert prints(three, topic) == left

        carrying.accept(place)
        carrying.until_carried()
        carrying.stop()
        assert prints(three, topic) == left + prints(regional, topic)[landed:]
        assert carrying.assert_exact(but=[0])
