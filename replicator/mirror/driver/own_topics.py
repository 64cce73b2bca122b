"""Own topics of Sluice on a target: the plan's, and one of runs per route."""

from __future__ import annotations

from collections.abc import Iterable

from replicator.config.names import PLAN_TOPIC, runs_topic_name
from replicator.config.topology import Route
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.own_topics import make_topics
from replicator.kafka.admin.topic_changes import Create
from replicator.mirror.offset_map import runs_topic


def make_own_topics(target: Admin, routes: Iterable[Route], replication_factor: int) -> None:
    """Makes the topics that are missing, and waits until they are visible. Blocking.

    Raises AdminError.
    """
    wanted = {PLAN_TOPIC, *(runs_topic_name(route.key) for route in routes)}
    make_topics(target, [_create(name, replication_factor) for name in sorted(wanted)])


def _create(name: str, replication_factor: int) -> Create:
    if name == PLAN_TOPIC:
        return Create(name, 1, (), replication_factor)
    return Create(
        name, runs_topic.PARTITIONS, tuple(runs_topic.CONFIGS.items()), replication_factor
    )
