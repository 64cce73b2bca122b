"""Intent store of one feed in one cluster: its intents, kept as committed offsets.

For each topic a witness says how many partitions were ever adopted. It is committed under another
topic's name, so it outlives the topic, whose deletion removes the intents.
"""

from __future__ import annotations

import time
import zlib
from dataclasses import replace

from typing_extensions import override

from aggregator.intents.intent import Intent, UnreadableIntent, decode, encode, unreadable
from balancer.topic_partition import TopicPartition
from replicator.config.names import PLAN_TOPIC, feed_group, feed_witness_group
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.committed_entries import CommittedEntries
from replicator.kafka.client.fenced_committer import OffsetRows
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata

GROUPS = 4
"""Number of groups. Never changed once records were loaded: intents would be looked for in the
wrong group."""


def group_of(feed: str, partition: TopicPartition) -> str:
    """Returns the consumer group that keeps a partition's intent."""
    spread = zlib.crc32(f"{partition.topic}/{partition.partition}".encode()) % GROUPS
    return feed_group(feed, spread)


def groups_of(feed: str) -> tuple[str, ...]:
    """Returns all groups of a feed's intents."""
    return tuple(feed_group(feed, number) for number in range(GROUPS))


class IntentStore(CommittedEntries[Intent]):
    """Reads and commits the intents of a feed in one cluster."""

    def __init__(self, cluster: Cluster, feed: str):
        super().__init__(cluster)
        self._feed = feed

    @override
    def group_for(self, partition: TopicPartition) -> str:
        return group_of(self._feed, partition)

    @override
    def to_commit(self, entry: Intent) -> tuple[int, str]:
        """Returns an intent as an offset to commit now, with the time."""
        return encode(replace(entry, committed_ms=time.time_ns() // 1_000_000))

    @override
    def from_commit(self, commit: OffsetAndMetadata) -> Intent:
        """Returns the intent; one that cannot be read is returned as parked."""
        try:
            return decode(commit.offset, commit.metadata)
        except UnreadableIntent as error:
            return unreadable(commit.offset, error)

    async def witnessed(self, topic: str) -> int:
        """Returns how many partitions of a topic were adopted; each of them must have an intent."""
        group = feed_witness_group(self._feed, topic)
        found = await self._cluster.commits(group, [(PLAN_TOPIC, [0])])
        return found.get(TopicPartition(PLAN_TOPIC, 0), OffsetAndMetadata(0)).offset

    def witness(self, topic: str, partitions: int) -> dict[str, OffsetRows]:
        """Returns the witness as an offset to commit after the intents of an adoption."""
        return {feed_witness_group(self._feed, topic): [(PLAN_TOPIC, 0, partitions, "")]}
