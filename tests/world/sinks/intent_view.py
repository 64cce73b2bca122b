"""View of a feed's intents from outside: each at the moment when it is committed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aggregator.intents.intent import Intent, decode
from aggregator.intents.intent_store import groups_of
from balancer.topic_partition import TopicPartition
from tests.world.checks.commit_view import CommitView
from tests.world.kafka.group_requests import CommitsExpired, TopicDeletion
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.kafka.partition import Partition

Seen = Callable[[TopicPartition, Intent], object]


class IntentView(CommitView):
    """Observer of a feed's intents.

    Args:
        seen: called with each intent once it is committed.
        gone: called with the partition of each intent that expires.
        deleted: called with each topic whose deletion removes intents from a coordinator's log.
    """

    def __init__(
        self,
        cluster: KafkaCluster,
        feed: str,
        seen: Seen,
        gone: Callable[[TopicPartition], object] = id,
        deleted: Callable[[str, Partition], object] | None = None,
    ) -> None:
        super().__init__(cluster, groups_of(feed))
        self._seen, self._gone, self._deleted = seen, gone, deleted
        self._of_feed = frozenset(groups_of(feed))

    def other_seen(self, partition: Partition, value: Any) -> None:
        if isinstance(value, CommitsExpired) and value.group in self._of_feed:
            self._gone(TopicPartition(*value.place))
        elif isinstance(value, TopicDeletion) and self._deleted:
            self._deleted(value.topic, partition)

    def offset_seen(self, topic: str, number: int, offset: int, metadata: str) -> None:
        # A fence confirms its coordinator by an offset without text, which it aborts.
        if metadata:
            self._seen(TopicPartition(topic, number), decode(offset, metadata))
