"""Intents of feeds, the blocks that they name, and ends of their logs, read from outside the
loaders. Blocking."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from aggregator.intents.intent import Intent
from aggregator.intents.intent_store import IntentStore
from aggregator.loader.reports import FeedPartition
from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import Feed
from replicator.config.topology import Appliance, KafkaCluster
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.topic import Topic
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Cluster
from tui.facts.feed_scope import PendingBlock, Scope


def loaded_partitions(
    feed: Feed, cluster: ClusterName, topics: Iterable[Topic]
) -> tuple[FeedPartition, ...]:
    """Returns the partitions that a feed loads, of the topics of a cluster."""
    return _partitions(cluster, topics, feed.takes)


def upsert_partitions(
    feed: Feed, cluster: ClusterName, topics: Iterable[Topic]
) -> tuple[FeedPartition, ...]:
    """Returns the partitions of a feed's upsert tables, of the topics of a cluster."""
    return _partitions(cluster, topics, lambda topic: feed.upsert_table(topic) is not None)


def _partitions(
    cluster: ClusterName, topics: Iterable[Topic], is_wanted: Callable[[str], bool]
) -> tuple[FeedPartition, ...]:
    # YAML takes no subclass of str.
    return tuple(
        FeedPartition(str(cluster), topic.name, number)
        for topic in topics
        if not topic.is_internal and is_wanted(topic.name)
        for number in range(topic.partitions)
    )


@dataclass(frozen=True, slots=True)
class FeedProgress:
    """Progress of a feed in one cluster: intents and, read after them, ends; so lag is never shown
    smaller than it is."""

    intents: dict[FeedPartition, Intent]
    ends: dict[FeedPartition, int]


def read_progress(
    feed: Feed,
    cluster: ClusterName,
    settings: KafkaCluster,
    admin: Admin,
    partitions: Sequence[FeedPartition],
    timeout_seconds: float,
) -> FeedProgress:
    """Returns the progress of these partitions of a feed in one cluster.

    Raises:
        Unreachable, Answered, AdminError: no answer, or a refusal.
    """
    intents = read_intents(cluster, settings, feed, partitions, timeout_seconds)
    ends = admin.offsets([(each.topic, each.partition) for each in partitions], "latest")
    return FeedProgress(
        intents, {FeedPartition(str(cluster), *place): end for place, end in ends.items()}
    )


def read_intents(
    cluster: ClusterName,
    settings: KafkaCluster,
    feed: Feed,
    partitions: Iterable[FeedPartition],
    timeout_seconds: float,
) -> dict[FeedPartition, Intent]:
    """Returns the intents that exist in one cluster; one that cannot be read is a parked one.

    Must not be called from an event loop.

    Raises:
        Unreachable: no broker answers, or the timeout is over.
        Answered: a broker refuses the request.
    """
    asked = [TopicPartition(each.topic, each.partition) for each in partitions]
    try:
        found = asyncio.run(_read(cluster, settings, feed, asked, timeout_seconds))
    except TimeoutError:
        text = f"{cluster}: reading the intents took longer than {timeout_seconds:g} s"
        raise Unreachable(text) from None
    return {FeedPartition(str(cluster), *partition): intent for partition, intent in found.items()}


async def _read(
    name: ClusterName,
    settings: KafkaCluster,
    feed: Feed,
    asked: list[TopicPartition],
    timeout_seconds: float,
) -> dict[TopicPartition, Intent]:
    cluster = Cluster(name, settings, client_id="sluice-status")
    async with asyncio.timeout(timeout_seconds):
        await cluster.open()
        try:
            return await IntentStore(cluster, feed.name).read(asked)
        finally:
            await cluster.close()


def pending_blocks(
    appliance: Appliance, feed: Feed, scope: Scope, timeout_seconds: float
) -> list[PendingBlock]:
    """Returns the blocks within the scope that a loader which takes over has to repeat.

    Raises:
        AdminError, Unreachable, Answered: a cluster gives no answer.
    """
    found = []
    for cluster in feed.clusters:
        if scope.cluster not in (None, cluster):
            continue
        settings = appliance.cluster(cluster)
        topics = Admin(cluster, settings, timeout_seconds, needs_configs=False).topics()
        partitions = [
            partition
            for partition in loaded_partitions(feed, cluster, topics)
            if scope.has(partition)
        ]
        intents = read_intents(cluster, settings, feed, partitions, timeout_seconds)
        found += [
            PendingBlock(partition, table, block, intent.incarnation_at(block.begin))
            for partition, intent in sorted(intents.items())
            for table, block in sorted(intent.blocks.items())
            if scope.table in (None, table)
        ]
    return found
