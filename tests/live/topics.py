"""Topics of new names, made and deleted."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka.admin import NewTopic

from deploy.lab.kafka import KafkaCluster
from deploy.lab.wait import until


def new_name(name: str = "topic") -> str:
    return f"{name}-{uuid.uuid4().hex[:12]}"


def create(
    cluster: KafkaCluster,
    topic: str,
    partitions: int = 1,
    config: Mapping[str, str] | None = None,
    replicas: Sequence[Sequence[int]] | None = None,
) -> None:
    """A topic of this name; both ends may have it with other configs."""
    count = len(replicas) if replicas else partitions
    placed: Any = {"replica_assignment": replicas} if replicas else {}
    cluster.create_topics(NewTopic(topic, count, config=dict(config or {}), **placed))


def delete(cluster: KafkaCluster, topic: str) -> None:
    """Returns once the cluster no longer knows it."""
    admin = cluster.admin()
    admin.delete_topics([topic])[topic].result(30)
    assert until(lambda: topic not in admin.list_topics(timeout=30).topics, 30)
