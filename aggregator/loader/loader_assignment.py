"""Assignment of a loader: all that a loader needs for one epoch."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from aggregator.objects.schema_versions import bare
from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import Feed
from replicator.config.object_feed import ObjectFeed
from replicator.orders.feed_orders import FeedOrders
from replicator.spark.driver_command import Term


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderAssignment:
    """Partitions of one feed in one cluster, for one loader and one epoch.

    Args:
        number: of the loader, among those of its feed and cluster.
        orders: of operators about the feed.
        term: of the driver that made the plan, in this cluster.
        deadline: latest end of the epoch, in seconds of the monotonic clock of the process that
            loads; set once its task begins.
        has_condition: the store of a feed into objects keeps names that are taken.
    """

    feed: Feed
    cluster: ClusterName
    number: int
    partitions: tuple[TopicPartition, ...]
    orders: FeedOrders
    term: Term
    plan_version: int
    deadline: float = math.inf
    has_condition: bool = True

    @property
    def log_fields(self) -> str:
        """Beginning of the loader's log lines."""
        return (
            f"feed={self.feed.name} cluster={self.cluster.replace(' ', '-')} loader={self.number}"
        )

    def is_frozen(self, place: TopicPartition, table: str | None = None) -> bool:
        """Returns True if an operator has frozen the partition; with a table, that table in it."""
        now_ms = time.time_ns() // 1_000_000
        names = {table}
        if table is not None and isinstance(self.feed, ObjectFeed):
            # A folder that is frozen is so for each version of its records.
            names.add(bare(table))
        found = (self.orders.frozen(self.cluster, *place, each, now_ms=now_ms) for each in names)
        return any(found)
