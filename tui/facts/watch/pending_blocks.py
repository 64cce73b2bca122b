"""Pending blocks of a feed: blocks that intents name, as their clusters hold them. Blocking."""

from __future__ import annotations

from replicator.config.feed_settings import Feed
from replicator.config.topology import Appliance
from replicator.kafka.admin.admin import Admin
from tui.facts.feed_scope import PendingBlock, Scope
from tui.facts.watch.feed_intents import loaded_partitions, read_intents


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
