"""A topic of two partitions on both ends: a test loses one and expects the other to continue."""

from __future__ import annotations

from typing import Any

from deploy.lab.dump import dump
from deploy.lab.kafka import KafkaCluster
from deploy.lab.traffic import Shape, records, send
from tests.live.topics import create, new_name

SHAPE = Shape(codec="lz4", batch_records=50)


def both(source: KafkaCluster, target: KafkaCluster) -> str:
    """Creates a topic of two partitions on both ends."""
    topic = new_name()
    for cluster in (source, target):
        create(cluster, topic, 2)
    return topic


def fill(cluster: KafkaCluster, topic: str, origin: str, count: int = 500) -> None:
    send(cluster, topic, records(count, partitions=2, origin=f"{origin} "), SHAPE)


def ends(cluster: KafkaCluster, topic: str) -> dict[int, int]:
    return {p: int(d.offsets[-1]) + 1 if len(d.offsets) else 0 for p, d in dumped(cluster, topic)}


def dumped(cluster: KafkaCluster, topic: str) -> list[Any]:
    return list(dump(cluster, topic, "read_uncommitted").items())


def prints(cluster: KafkaCluster, topic: str, partition: int = 0) -> list[int]:
    return list(dump(cluster, topic, "read_uncommitted")[partition].prints.tolist())
