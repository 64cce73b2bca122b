"""Two clusters of the configuration that are the same: every daemon and carrier refuses them."""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from copy import copy
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as KafkaTopicPartition

from balancer.topic_partition import TopicPartition
from deploy.lab.kafka import KafkaCluster
from deploy.lab.process import Process, free_port
from deploy.lab.redis import RedisServer
from deploy.lab.traffic import PLAIN, records, send
from replicator.config.topology import Appliance
from replicator.kafka.client.cluster_ids import ClusterIds, SameCluster
from tests.live.hand import Hand
from tests.live.proxy import Proxy

SLUICE = Path(sys.executable).with_name("sluice")
AWAY = "127.0.0.1:1"
MISCONFIGURED = 2
PATIENCE_SECONDS = 60.0


def by_another_name(cluster: KafkaCluster) -> str:
    return cluster.bootstrap.replace("127.0.0.1", "localhost")


def tables(redis: str, addresses: Mapping[str, tuple[str, str]]) -> dict[str, dict]:
    """Returns regions by name, each with the addresses of its two clusters."""
    return {
        name: {
            "redis": redis,
            "regional": {"bootstrap": [regional]},
            "aggregate": {"bootstrap": [aggregate]},
        }
        for name, (regional, aggregate) in addresses.items()
    }


@pytest.fixture
def config(tmp_path: Path, redis: RedisServer, aggregate: KafkaCluster) -> Path:
    """A route from a cluster onto itself, under another address."""
    found = tables(
        redis.url,
        {"west": (by_another_name(aggregate), AWAY), "east": ("127.0.0.1:2", aggregate.bootstrap)},
    )
    lines = ['routes = ["west>east"]']
    for name, table in found.items():
        lines += [f"[regions.{name}]", f'redis = "{table["redis"]}"']
        lines += [
            f"{role}.bootstrap = {table[role]['bootstrap']}" for role in table if role != "redis"
        ]
    lines += ["[topics]", f'allow = ["none-{uuid.uuid4().hex}"]']
    path = tmp_path / "appliance.toml"
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize(
    "daemon", [pytest.param("replicate", marks=pytest.mark.core), "balance", "offsets"]
)
def test_a_daemon_refuses_a_route_onto_itself_by_another_address(
    daemon: str, config: Path, tmp_path: Path, opened: ExitStack, aggregate: KafkaCluster
) -> None:
    command = [str(SLUICE), daemon, "--config", str(config), "--region", "east"]
    process = Process(daemon, command, tmp_path / "log")
    opened.callback(process.kill_family)
    assert process.wait(PATIENCE_SECONDS) == MISCONFIGURED
    said = process.log.read_text()
    assert f"regions.west.regional ({by_another_name(aggregate)})" in said
    assert f"regions.east.aggregate ({aggregate.bootstrap}) are one cluster" in said
    assert "route west>east would lead onto itself. Give each its own bootstrap" in said
    assert "Traceback" not in said


def compare(ids: ClusterIds) -> None:
    asyncio.run(ids.compare())


def ids_of(addresses: Mapping[str, tuple[str, str]]) -> ClusterIds:
    return ClusterIds(Appliance.model_validate({"regions": tables("redis://127.0.0.1", addresses)}))


@pytest.mark.parametrize(
    "addresses",
    [
        lambda one, other: {"west": (one, other), "east": (AWAY, "127.0.0.1:2")},
        lambda one, other: {"west": (one, AWAY), "east": (other, "127.0.0.1:2")},
        lambda one, other: {"west": (AWAY, one), "east": ("127.0.0.1:2", other)},
    ],
)
def test_any_two_clusters_of_the_configuration_that_are_one_are_refused(
    regional: KafkaCluster, addresses: Callable[[str, str], Mapping[str, tuple[str, str]]]
) -> None:
    with pytest.raises(SameCluster, match="are one cluster"):
        compare(ids_of(addresses(regional.bootstrap, by_another_name(regional))))


def test_clusters_of_their_own_are_not_refused(
    regional: KafkaCluster, aggregate: KafkaCluster
) -> None:
    ids = ids_of({"west": (regional.bootstrap, aggregate.bootstrap)})
    compare(ids)
    assert ids.unknown == []


def test_a_cluster_that_was_away_is_compared_once_it_answers(
    regional: KafkaCluster, opened: ExitStack
) -> None:
    port = free_port()
    ids = ids_of({"west": (regional.bootstrap, f"127.0.0.1:{port}")})
    compare(ids)
    assert ids.unknown == ["west aggregate"]
    opened.callback(Proxy(port, int(regional.bootstrap.rpartition(":")[2])).close)
    with pytest.raises(SameCluster, match="regions.west.aggregate"):
        compare(ids)


@pytest.mark.core
def test_a_carrier_leaves_a_topic_alone_that_is_the_same_on_both_ends(
    aggregate: KafkaCluster, carry, make_topic, opened: ExitStack
) -> None:
    topic = make_topic(aggregate)
    source = copy(aggregate)
    source.bootstrap = by_another_name(aggregate)
    carrying = carry(source, aggregate)
    carrying.adopt(topic, 1)
    send(aggregate, topic, records(10), PLAIN)
    place = TopicPartition(topic, 0)
    hand = Hand(carrying)
    opened.callback(hand.close)
    hand.start()
    hand.until(
        lambda: bool(hand.session.acquisition.waiting.get(place)) or end(aggregate, topic) > 10
    )
    assert "the same topic id" in hand.session.acquisition.waiting[place]
    assert end(aggregate, topic) == 10
    assert carrying.entries()[place].custody == "virgin"


def end(cluster: KafkaCluster, topic: str) -> int:
    consumer = Consumer({**cluster.librdkafka_options(), "group.id": "end"})
    try:
        return int(consumer.get_watermark_offsets(KafkaTopicPartition(topic, 0), timeout=30)[1])
    finally:
        consumer.close()
