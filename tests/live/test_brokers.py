"""Clusters of several brokers: leaders that move, and brokers that die, stop or lose answers."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import ElectionType, KafkaException
from confluent_kafka.admin import NewTopic

from deploy.lab.kafka import KafkaCluster
from deploy.lab.process import free_port
from deploy.lab.redis import RedisServer
from deploy.lab.traffic import Shape
from deploy.lab.wait import until
from tests.live.carrying import Carrying
from tests.live.conftest import StageMaker
from tests.live.proxy import Proxy
from tests.live.sending import Sending

PARTITIONS = 6
PATIENCE_SECONDS = 60.0
QUICK = {"request_timeout_ms": 3000, "drain_seconds": 2.0}
LZ4 = Shape(codec="lz4")
MORE = 1000
"""Records sent to the source after each disturbance."""


@pytest.fixture(scope="module")
def three_brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """Three brokers and three replicas of every partition; writes need two in sync."""
    properties = {"unclean.leader.election.enable": False, "auto.leader.rebalance.enable": False}
    directory = tmp_path_factory.mktemp("wide")
    cluster = KafkaCluster("wide", directory, brokers=3, properties=properties)
    with cluster:
        yield cluster


@pytest.fixture
def wide(three_brokers: KafkaCluster) -> Iterator[KafkaCluster]:
    """The three brokers; all of them run again after the test."""
    yield three_brokers
    for number in three_brokers.brokers:
        if number not in three_brokers.processes:
            three_brokers.restart(number)
    three_brokers.wait_ready()


def test_a_partition_with_too_few_replicas_in_sync_is_told_until_it_is_taken_again(
    make_stage: StageMaker, wide: KafkaCluster
) -> None:
    """The others go on meanwhile, so that the carrier itself does not wait."""
    config = {"min.insync.replicas": "2"}
    stage = make_stage(target=wide, target_replicas=[[1, 2]], target_config=config)
    hand = stage.hand(0).start()
    stage.send(100)
    hand.until_carried(stage.place)
    assert hand.conditions.current == ()
    wide.kill(2)
    stage.send(100)

    def found() -> list[tuple[str, str, int | None]]:
        some = [each for each in hand.conditions.current if "NOT_ENOUGH_REPLICAS" in each.text]
        return [(each.kind, each.topic, each.partition) for each in some]

    # The answer is REQUEST_TIMED_OUT until the dead broker is out of sync.
    assert until(found, PATIENCE_SECONDS)
    assert found() == [("refused", stage.topic, 0)]
    wide.restart(2)
    hand.until_carried(stage.place)
    assert until(lambda: not hand.conditions.current, PATIENCE_SECONDS)
    stage.assert_exact()


def fresh(name: str) -> str:
    return f"{name}-{uuid.uuid4().hex[:8]}"


def make_topic(name: str, *clusters: KafkaCluster) -> None:
    for cluster in clusters:
        cluster.create_topics(NewTopic(name, PARTITIONS))


def leaders(cluster: KafkaCluster, topic: str) -> dict[int, int]:
    metadata = cluster.admin().list_topics(topic, timeout=30).topics[topic]
    return {number: row.leader for number, row in metadata.partitions.items()}


def until_in_sync(cluster: KafkaCluster, topic: str) -> None:
    """Waits until every replica of the topic is in sync."""

    def are_in_sync() -> bool:
        try:
            metadata = cluster.admin().list_topics(topic, timeout=5).topics[topic]
        except KafkaException:
            return False
        return all(len(p.isrs) == len(p.replicas) for p in metadata.partitions.values())

    assert until(are_in_sync, PATIENCE_SECONDS)


@pytest.mark.parametrize(
    "end",
    [
        pytest.param("target", marks=pytest.mark.core),
        pytest.param("source", marks=pytest.mark.soak),
    ],
)
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
        with Sending(source, topic, PARTITIONS, LZ4) as sending:
            sending.until_sent(MORE)
            wide.kill(1)
            wide.restart(1)
            wide.wait_ready()
            until_in_sync(wide, topic)
            sending.until_sent(MORE)
            wide.pause(2)
            assert until(lambda: 2 not in leaders(wide, topic).values(), PATIENCE_SECONDS)
            wide.resume(2)
            until_in_sync(wide, topic)
            sending.until_sent(MORE)
            wide.restart(3)
            wide.wait_ready()
            until_in_sync(wide, topic)
            sending.until_sent(MORE)
            moved = leaders(wide, topic)
            admin = wide.admin()
            admin.elect_leaders(ElectionType.PREFERRED, None).result(30)
            assert until(lambda: leaders(wide, topic) != moved, PATIENCE_SECONDS)
            sending.until_sent(MORE)
        carrying.until_carried()
        carrying.stop()
        carrying.assert_exact()


API_KEYS = {"Produce": 0, "InitProducerId": 22, "AddPartitionsToTxn": 24, "AddOffsetsToTxn": 25}
API_KEYS |= {"EndTxn": 26, "TxnOffsetCommit": 28, "OffsetFetch": 9, "DescribeProducers": 61}
WHILE_IT_CARRIES = ("Produce", "EndTxn", "Produce", "TxnOffsetCommit")


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
                (route,) = carrying.routes.values()
                carrier = f"sluice.{route.key}.0"

                def lose_answer(name: str) -> None:
                    proxy.lose_answer(API_KEYS[name], carrier)

                def until_lost(count: int) -> None:
                    assert until(lambda: proxy.lost == count, PATIENCE_SECONDS)
                    sending.until_sent(MORE)

                carrying.begin()
                with Sending(regional, topic, PARTITIONS, LZ4) as sending:
                    sending.until_sent(MORE)
                    for count, name in enumerate(API_KEYS, 1):
                        # A cancelled carrier leaves a takeover to the next one.
                        carrying.cut_off()
                        lose_answer(name)
                        carrying.begin()
                        until_lost(count)
                    for count, name in enumerate(WHILE_IT_CARRIES, len(API_KEYS) + 1):
                        lose_answer(name)
                        until_lost(count)
                carrying.until_carried()
                carrying.stop()
                carrying.assert_exact()
    finally:
        proxy.close()
