"""View of the ledger from outside: the entries that are committed, each at the moment it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from balancer.topic_partition import TopicPartition
from replicator.config.names import PLAN_TOPIC
from replicator.config.topology import Route
from replicator.mirror.ledger.entry import Entry, decode
from replicator.mirror.ledger.ledger import group_of, groups_of
from tests.world.checks.commit_view import CommitView
from tests.world.kafka.group_requests import CommitsExpired, TopicDeletion
from tests.world.kafka.kafka_cluster import GROUPS, KafkaCluster
from tests.world.kafka.partition import Partition

Seen = Callable[[TopicPartition, Entry], object]


class EntryView(CommitView):
    """Observer of a route's ledger.

    Args:
        seen: called with each entry once it is committed.
    """

    def __init__(self, cluster: KafkaCluster, route: Route, seen: Seen) -> None:
        super().__init__(cluster, groups_of(route))
        self.entries: dict[TopicPartition, Entry] = {}
        self._seen = seen
        self._cluster, self._route = cluster, route

    def offset_seen(self, topic: str, number: int, offset: int, metadata: str) -> None:
        if topic == PLAN_TOPIC:
            return  # an aborted confirmation whose marker was left out
        place, entry = TopicPartition(topic, number), decode(offset, metadata)
        self.entries[place] = entry
        self._seen(place, entry)

    def other_seen(self, partition: Partition, value: Any) -> None:
        """Forgets entries that expired, and those of a deleted topic in this log."""
        if isinstance(value, CommitsExpired) and value.group in groups_of(self._route):
            self.entries.pop(TopicPartition(*value.place), None)
        if not isinstance(value, TopicDeletion):
            return
        for place in [it for it in self.entries if it.topic == value.topic]:
            if self._cluster.internal(GROUPS, group_of(self._route, place)) is partition:
                del self.entries[place]
