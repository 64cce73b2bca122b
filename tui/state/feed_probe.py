"""Probe of clusters, Redis and ClickHouse for the status of feeds; an unreachable one becomes a
problem."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from aggregator.intents.intent import Intent
from aggregator.loader.report_store import ReportStore
from aggregator.loader.reports import FeedPartition, LoaderReport
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import Feed
from replicator.config.topology import Appliance
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.topic import Topic
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered
from replicator.orders.feed_orders import FeedOrders
from replicator.orders.order_log import OrderLog
from tui.state.balance_client import BalanceClient
from tui.state.feed_intents import loaded_partitions, read_intents
from tui.state.feed_status import FeedFacts, FeedStatus, TableState, feed_status
from tui.state.inquiry import Inquiry, Reply
from tui.state.shard_servers import ShardServers
from tui.state.table_probe import table_states

NEXT_REPLICA_PART = 0.3
"""Part of the timeout after which the next replica of a shard is asked as well."""


@dataclass(frozen=True, slots=True)
class _Progress:
    """Progress in one cluster: intents and, read after them, ends; so lag is never shown smaller
    than it is."""

    intents: dict[FeedPartition, Intent]
    ends: dict[FeedPartition, int]


@dataclass(frozen=True, slots=True)
class _Replies:
    """Replies about one feed; progress by cluster, tables by shard and replica."""

    progress: dict[str, Reply[_Progress]]
    reports: Reply[dict[FeedPartition, LoaderReport]]
    tables: list[list[Reply[dict[str, TableState]]]]


class FeedProbe:
    """Probe of feeds; each cluster is asked once for its topics."""

    def __init__(self, appliance: Appliance, feeds: Sequence[Feed], timeout_seconds: float) -> None:
        self._appliance = appliance
        self._feeds = tuple(feeds)
        self._timeout_seconds = timeout_seconds
        names = dict.fromkeys(cluster for feed in self._feeds for cluster in feed.clusters)
        self._admins = {
            name: Admin(name, appliance.cluster(name), timeout_seconds) for name in names
        }

    def read(self) -> FeedStatus:
        """Returns the status of the feeds after the timeout at the latest.

        Raises nothing for an unreachable server.
        """
        inquiry = Inquiry(self._timeout_seconds, Answered, Unreachable, ValueError)
        topics = {
            name: inquiry.ask_cluster(name, admin.cluster, admin.topics)
            for name, admin in self._admins.items()
        }
        clients = {
            feed.region: BalanceClient(self._appliance, feed.region, self._timeout_seconds)
            for feed in self._feeds
        }
        orders = {
            region: inquiry.ask(client.name, client.order_log) for region, client in clients.items()
        }
        asked = {feed.name: self._ask(inquiry, feed, topics) for feed in self._feeds}
        facts = [
            self._facts(inquiry, feed, asked[feed.name], topics, orders[feed.region].answer())
            for feed in self._feeds
        ]
        return feed_status(facts, time.time_ns() // 1_000_000)

    def _ask(
        self, inquiry: Inquiry, feed: Feed, topics: Mapping[ClusterName, Reply[list[Topic]]]
    ) -> _Replies:
        return _Replies(
            progress={
                str(cluster): inquiry.ask_cluster(
                    cluster,
                    self._appliance.cluster(cluster),
                    partial(self._progress, feed, cluster),
                    [topics[cluster]],
                )
                for cluster in feed.clusters
            },
            reports=inquiry.ask(_redis(feed.region), partial(self._reports, feed)),
            tables=[self._ask_tables(inquiry, feed, number) for number in range(len(feed.shards))],
        )

    def _ask_tables(
        self, inquiry: Inquiry, feed: Feed, number: int
    ) -> list[Reply[dict[str, TableState]]]:
        """Asks the replicas of a shard one after another until one answers."""
        replies: list[Reply[dict[str, TableState]]] = []
        for place in range(len(feed.shards[number].replicas)):
            ask = partial(self._tables, feed, number, place, tuple(replies))
            replies.append(inquiry.ask(_replica(feed, number, place), ask))
        return replies

    def _facts(
        self,
        inquiry: Inquiry,
        feed: Feed,
        replies: _Replies,
        topics: Mapping[ClusterName, Reply[list[Topic]]],
        order_log: OrderLog | None,
    ) -> FeedFacts:
        found = {name: reply.answer() for name, reply in replies.progress.items()}
        progress = {name: each for name, each in found.items() if each is not None}
        reports = replies.reports.answer()
        tables = {number: _first(shard) for number, shard in enumerate(replies.tables)}
        servers = [
            *feed.clusters,
            ClusterName.aggregate(feed.region),
            _redis(feed.region),
            # A replica that does not answer is no problem while another one tells the same.
            *(
                _replica(feed, number, place)
                for number, shard in enumerate(replies.tables)
                if tables[number] is None
                for place in range(len(shard))
            ),
        ]
        # All answers are in by now, so that all problems are known.
        problems = inquiry.problems
        now_ms = time.time_ns() // 1_000_000
        return FeedFacts(
            feed=feed,
            partitions={
                str(cluster): loaded_partitions(feed, cluster, listed)
                for cluster in feed.clusters
                if (listed := topics[cluster].answer()) is not None
            },
            intents={name: each.intents for name, each in progress.items()},
            ends={place: end for each in progress.values() for place, end in each.ends.items()},
            reports=reports,
            tables=tables,
            orders=FeedOrders.of(order_log, feed.name, now_ms) if order_log else None,
            problems=tuple(problems[name] for name in servers if name in problems),
        )

    def _progress(self, feed: Feed, cluster: ClusterName, topics: list[Topic]) -> _Progress:
        settings, admin = self._appliance.cluster(cluster), self._admins[cluster]
        partitions = loaded_partitions(feed, cluster, topics)
        intents = read_intents(cluster, settings, feed, partitions, self._timeout_seconds)
        ends = admin.offsets([(each.topic, each.partition) for each in partitions], "latest")
        return _Progress(
            intents, {FeedPartition(str(cluster), *place): end for place, end in ends.items()}
        )

    def _reports(self, feed: Feed) -> dict[FeedPartition, LoaderReport]:
        url = self._appliance.region(feed.region).redis_url()
        with ReportStore(url, timeout_seconds=self._timeout_seconds) as store:
            return store.read(feed.name)

    def _tables(
        self, feed: Feed, number: int, place: int, before: Sequence[Reply[dict[str, TableState]]]
    ) -> dict[str, TableState] | None:
        """Returns the tables of a replica; None if one before it tells them."""
        seconds = self._timeout_seconds * NEXT_REPLICA_PART
        if any(each.early(seconds) is not None for each in before):
            return None
        return table_states(ShardServers(feed, number, self._timeout_seconds).servers()[place])


def _first(
    replicas: Sequence[Reply[dict[str, TableState]]],
) -> dict[str, TableState] | None:
    """Returns the tables of the first replica that has told them."""
    # The last one has its turn only after the others, silent ones too.
    replicas[-1].answer()
    return next((it for reply in replicas if (it := reply.early(0.0)) is not None), None)


def _redis(region: str) -> str:
    return f"{region} Redis"


def _replica(feed: Feed, number: int, place: int) -> str:
    return f"{feed.name} shard {number} replica {place}"
