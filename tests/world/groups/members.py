"""Members of the groups of a world's cluster, and the coordinators' answers to commits beside them.

A consumer that is stopped leaves at once; one that is killed counts until its session is over.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

from replicator.groups.membership.groups import UNKNOWN_MEMBER_ID
from tests.world.kafka import group_requests
from tests.world.kafka.broker import Broker
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.kafka.requests import Asked

OFFSET_COMMIT = 8


@dataclass(slots=True)
class _Member:
    generation: int
    until: float = inf


class Members:
    """Members of one cluster's groups; a group has one at a time."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self._now = cluster.network.loop.time
        self._members: dict[str, _Member] = {}
        for broker in cluster.brokers.values():
            broker.handlers[OFFSET_COMMIT] = self._offset_commit

    def join(self, group: str) -> int:
        """Adds a member in place of the one before; returns its generation."""
        before = self._members.get(group)
        self._members[group] = _Member(before.generation + 1 if before else 1)
        return self._members[group].generation

    def end(self, group: str, session_seconds: float) -> None:
        """Ends the group's member: once its session is over."""
        if group in self._members:
            self._members[group].until = self._now() + session_seconds

    def active(self) -> dict[str, bool]:
        """Returns, by group, True if it has a member."""
        return {group: it.until > self._now() for group, it in self._members.items()}

    async def _offset_commit(self, broker: Broker, asked: Asked) -> Any:
        body = asked.body
        group, generation = body.consumer_group, body.consumer_group_generation_id
        is_member = generation >= 0 and generation == self._members[group].generation
        if self.active().get(group, False) == is_member:
            return await group_requests.offset_commit(broker, asked)
        answer = [
            (topic, [(row[0], UNKNOWN_MEMBER_ID) for row in some]) for topic, some in body.topics
        ]
        return (0, answer) if asked.version >= 3 else (answer,)
