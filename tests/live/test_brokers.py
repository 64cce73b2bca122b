"""Clusters of several brokers: leaders that move, brokers that die, stand still, lose answers."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import ElectionType, KafkaException
from confluent_kafka.admin import NewTopic

from balancer.plan import TopicPartition
from deploy.lab.kafka import KafkaCluster
from deploy.lab.process import free_port
from deploy.lab.redis import RedisServer
from deploy.lab.traffic import Shape, records, send
from deploy.lab.wait import until
from tests.live.carrying import Carrying
from tests.live.proxy import Proxy

PARTITIONS = 6
PATIENCE_SECONDS = 60.0
QUICK = {"request_timeout_ms": 3000, "drain_seconds": 2.0}


@pytest.fixture(scope="module")
def three_brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """Three brokers, every partition on all of them, two needed to write."""
    properties = {"unclean.leader.election.enable": False, "auto.leader.rebalance.enable": False}
    directory = tmp_path_factory.mktemp("wide")
    cluster = KafkaCluster("wide", directory, brokers=3, properties=properties)
    with cluster:
        yield cluster


@pytest.fixture
def wide(three_brokers: KafkaCluster) -> Iterator[KafkaCluster]:
    """The three brokers, all of them up again for the next test, whatever this one did to them."""
    yield three_brokers
    for number in three_brokers.brokers:
        if number not in three_brokers.processes:
            three_brokers.restart(number)
    three_brokers.wait_ready()


@contextmanager
def traffic(cluster: KafkaCluster, topic: str, rounds: int) -> Iterator[None]:
    """Records all the while, in rounds of 2 000."""
    failures: list[BaseException] = []

    def flow() -> None:
        try:
            for number in range(rounds):
                origin = f"round {number}"
                made = records(2000, partitions=PARTITIONS, seed=number, origin=origin)
                send(cluster, topic, made, Shape(batch_records=100, codec="lz4"))
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=flow)
    thread.start()
    try:
        yield
    finally:
        thread.join()
    assert not failures, failures


def fresh(name: str) -> str:
    return f"{name}-{uuid.uuid4().hex[:8]}"


def make_topic(name: str, *clusters: KafkaCluster) -> None:
    for cluster in clusters:
        admin = cluster.admin()
        admin.create_topics([NewTopic(name, PARTITIONS)])[name].result(30)


def leaders(cluster: KafkaCluster, topic: str) -> dict[int, int]:
    metadata = cluster.admin().list_topics(topic, timeout=30).topics[topic]
    return {number: row.leader for number, row in metadata.partitions.items()}


def until_in_sync(cluster: KafkaCluster, topic: str) -> None:
    """Until every replica of the topic is in sync again."""

    def are_in_sync() -> bool:
        try:
            metadata = cluster.admin().list_topics(topic, timeout=5).topics[topic]
        except KafkaException:
            return False
        return all(len(p.isrs) == len(p.replicas) for p in metadata.partitions.values())

    assert until(are_in_sync, PATIENCE_SECONDS)


@pytest.mark.parametrize("end", ["target", "source"])
def test_killed_stopped_and_restarted_brokers_lose_and_repeat_nothing(
    regional: KafkaCluster,
    aggregate: KafkaCluster,
    redis: RedisServer,
    wide: KafkaCluster,
    end: str,
) -> None:
    source, target = (regional, wide) if end == "target" else (wide, aggregate)
    topic = fresh("shaken")
    make_topic(topic, source, target)
    with Carrying({"west": source}, target, redis, **QUICK) as carrying:
        carrying.adopt(topic, PARTITIONS)
        carrying.begin(carriers=2)
        with traffic(source, topic, rounds=20):
            wide.kill(1)
            wide.restart(1)
            wide.wait_ready()
            until_in_sync(wide, topic)
            wide.pause(2)
            assert until(lambda: 2 not in leaders(wide, topic).values(), PATIENCE_SECONDS)
            wide.resume(2)
            until_in_sync(wide, topic)
            wide.restart(3)
            wide.wait_ready()
            until_in_sync(wide, topic)
            moved = leaders(wide, topic)
            admin = wide.admin()
            admin.elect_leaders(ElectionType.PREFERRED, None).result(30)
            assert until(lambda: leaders(wide, topic) != moved, PATIENCE_SECONDS)
        carrying.until_carried()
        carrying.stop()
        carrying.assert_exact()


@pytest.mark.parametrize("end", ["target", "source"])
def test_an_unclean_election_is_a_loss_with_a_name(
    regional: KafkaCluster,
    aggregate: KafkaCluster,
    redis: RedisServer,
    wide: KafkaCluster,
    end: str,
) -> None:
    source, target = (regional, wide) if end == "target" else (wide, aggregate)
    topic = fresh("unclean")
    place = TopicPartition(topic, 0)
    other = source if end == "target" else target
    admin = other.admin()
    admin.create_topics([NewTopic(topic, 1)])[topic].result(30)
    config = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}
    new = NewTopic(topic, 1, replica_assignment=[[1, 2]], config=config)
    admin = wide.admin()
    admin.create_topics([new])[topic].result(30)
    # Our own topics outlive any one broker: what stands still without them is not at stake here.
    factor = 3 if end == "target" else 1
    with Carrying({"west": source}, target, redis, replication_factor=factor, **QUICK) as carrying:
        carrying.adopt(topic)
        carrying.begin()
        send(source, topic, records(1000))
        carrying.until_carried()
        wide.kill(2)
        # Acknowledged by one broker alone: what it holds by itself, an unclean election loses.
        send(source, topic, records(500, seed=1, origin="alone"))
        carrying.until_carried()
        wide.kill(1)
        wide.restart(2)
        assert until(lambda: leaders(wide, topic) == {0: 2}, PATIENCE_SECONDS)
        if end == "source":
            reason = carrying.until_parked(place)
            assert reason.startswith("source log was truncated: source offsets [1000, 1500)")
        else:
            send(source, topic, records(100, seed=2, origin="after"))
            reason = carrying.until_parked(place)
            assert reason.startswith("target lost acknowledged records: target offsets [")
        wide.restart(1)
        wide.wait_ready()
        until_in_sync(wide, topic)
        assert carrying.entries()[place].parked is not None
        carrying.stop()


def end_without_release(carrying: Carrying) -> None:
    """Its carriers end where they stand: others take over."""
    carriers, carrying._running = carrying._running, []
    for carrier in carriers:
        carrier.cancel()


API_KEYS = {"Produce": 0, "InitProducerId": 22, "AddPartitionsToTxn": 24, "AddOffsetsToTxn": 25}
API_KEYS |= {"EndTxn": 26, "TxnOffsetCommit": 28, "OffsetFetch": 9, "DescribeProducers": 61}


def test_a_lost_answer_of_any_kind_loses_and_repeats_nothing(
    regional: KafkaCluster, redis: RedisServer, tmp_path: Path
) -> None:
    cluster = KafkaCluster("behind-a-proxy", tmp_path)
    (node,) = cluster.nodes
    port = free_port()
    cluster.properties["advertised.listeners"] = (
        f"CLIENT://127.0.0.1:{port},INTERNAL://127.0.0.1:{node.internal_port}"
    )
    proxy = Proxy(port, node.client_port)
    topic = fresh("answers")
    try:
        with cluster:
            make_topic(topic, regional, cluster)
            with Carrying({"west": regional}, cluster, redis, **QUICK) as carrying:
                carrying.adopt(topic, PARTITIONS)
                carrying.begin()
                with traffic(regional, topic, rounds=20):
                    for count, key in enumerate([*API_KEYS.values(), 0, 26, 0, 28], 1):
                        proxy.lose_answer(key)
                        # A carrier that dies leaves a takeover to the next.
                        end_without_release(carrying)
                        carrying.begin()
                        assert until(lambda count=count: proxy.lost >= count, PATIENCE_SECONDS)
                carrying.until_carried()
                carrying.stop()
                carrying.assert_exact()
    finally:
        proxy.close()
