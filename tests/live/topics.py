"""Topics under unique names: creation, deletion and configuration."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from deploy.lab.kafka import KafkaCluster
from deploy.lab.wait import until
from replicator.kafka.admin.admin import ON_TOPIC, source_of


def new_name(name: str = "topic") -> str:
    return f"{name}-{uuid.uuid4().hex[:12]}"


def create(
    cluster: KafkaCluster,
    topic: str,
    partitions: int = 1,
    config: Mapping[str, str] | None = None,
    replicas: Sequence[Sequence[int]] | None = None,
) -> None:
    """Creates a topic of this name; its configs may differ between the two ends."""
    count = len(replicas) if replicas else partitions
    placed: Any = {"replica_assignment": replicas} if replicas else {}
    cluster.create_topics(NewTopic(topic, count, config=dict(config or {}), **placed))


def delete(cluster: KafkaCluster, topic: str) -> None:
    """Deletes a topic; returns once the cluster no longer knows it."""
    admin = cluster.admin()
    admin.delete_topics([topic])[topic].result(30)
    assert until(lambda: topic not in admin.list_topics(timeout=30).topics, 30)


def alter(cluster: KafkaCluster, topic: str, config: Mapping[str, str]) -> None:
    """Sets configs of a topic; returns once a broker reports them."""
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in config.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    admin = cluster.admin()
    admin.incremental_alter_configs([resource])[resource].result(30)
    asked = ConfigResource(ResourceType.TOPIC, topic)

    def is_set() -> bool:
        found = admin.describe_configs([asked])[asked].result(30)
        return all(found[name].value == value for name, value in config.items())

    assert until(is_set, 30)


def delete_configs(cluster: KafkaCluster, topic: str, *names: str) -> None:
    """Deletes configs of a topic; returns once a broker reports their defaults."""
    entries = [
        ConfigEntry(name, None, incremental_operation=AlterConfigOpType.DELETE) for name in names
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    admin = cluster.admin()
    admin.incremental_alter_configs([resource])[resource].result(30)
    asked = ConfigResource(ResourceType.TOPIC, topic)

    def are_gone() -> bool:
        found = admin.describe_configs([asked])[asked].result(30)
        return all(source_of(found[name]) != ON_TOPIC for name in names)

    assert until(are_gone, 30)
