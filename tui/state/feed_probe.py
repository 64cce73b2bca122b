"""Probe of clusters, Redis and ClickHouse for the status of feeds; an unreachable one becomes a
problem."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
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
from tui.state.problems import Answer, answer_or_none
from tui.state.shard_servers import ShardServers
from tui.state.table_probe import table_states

THREADS_MAX = 16

Topics = Mapping[str, list[Topic] | None]
"""Topics by cluster; None for a cluster that did not list them."""


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
        self._problems: dict[str, str] = {}

    def read(self) -> FeedStatus:
        """Returns the status of the feeds.

        The probe takes about as long as the slowest server, and raises nothing for an unreachable
        one.
        """
        regions = list(dict.fromkeys(feed.region for feed in self._feeds))
        with ThreadPoolExecutor(THREADS_MAX) as threads:
            logs = threads.map(self._order_log, regions)
            listed = threads.map(self._topics, self._admins)
            order_logs = dict(zip(regions, logs, strict=True))
            topics = dict(zip(map(str, self._admins), listed, strict=True))
            facts = threads.map(
                lambda feed: self._facts(feed, topics, order_logs[feed.region]), self._feeds
            )
            return feed_status(list(facts), time.time_ns() // 1_000_000)

    def _facts(self, feed: Feed, topics: Topics, order_log: OrderLog | None) -> FeedFacts:
        partitions = {
            str(cluster): loaded_partitions(feed, cluster, found)
            for cluster in feed.clusters
            if (found := topics[cluster]) is not None
        }
        shards = range(len(feed.shards))
        with ThreadPoolExecutor(THREADS_MAX) as threads:
            tables = threads.map(partial(self._tables, feed), shards)
            reports = threads.submit(self._reports, feed)
            read = threads.map(
                lambda cluster: self._progress(feed, ClusterName(cluster), partitions[cluster]),
                partitions,
            )
            progress = dict(zip(partitions, read, strict=True))
            now_ms = time.time_ns() // 1_000_000
            servers = (
                *feed.clusters,
                _orders(feed.region),
                _redis(feed.region),
                *(_shard(feed, number) for number in shards),
            )
            return FeedFacts(
                feed=feed,
                partitions=partitions,
                intents={name: found[0] for name, found in progress.items() if found},
                ends={
                    p: end for found in progress.values() if found for p, end in found[1].items()
                },
                reports=reports.result(),
                tables=dict(zip(shards, tables, strict=True)),
                orders=FeedOrders.of(order_log, feed.name, now_ms) if order_log else None,
                # The other answers are in by now, so that all problems are known.
                problems=tuple(self._problems[name] for name in servers if name in self._problems),
            )

    def _topics(self, cluster: ClusterName) -> list[Topic] | None:
        return self._answer(cluster, self._admins[cluster].topics)

    def _progress(
        self, feed: Feed, cluster: ClusterName, partitions: Sequence[FeedPartition]
    ) -> tuple[dict[FeedPartition, Intent], dict[FeedPartition, int]] | None:
        """Returns intents and, read after them, ends; so lag is never shown smaller than it is."""
        settings, admin = self._appliance.cluster(cluster), self._admins[cluster]

        def ask() -> tuple[dict[FeedPartition, Intent], dict[FeedPartition, int]]:
            intents = read_intents(cluster, settings, feed, partitions, self._timeout_seconds)
            ends = admin.offsets([(each.topic, each.partition) for each in partitions], "latest")
            return intents, {
                FeedPartition(str(cluster), *place): end for place, end in ends.items()
            }

        return self._answer(cluster, ask)

    def _reports(self, feed: Feed) -> dict[FeedPartition, LoaderReport] | None:
        url = self._appliance.region(feed.region).redis_url()

        def read() -> dict[FeedPartition, LoaderReport]:
            with ReportStore(url, timeout_seconds=self._timeout_seconds) as store:
                return store.read(feed.name)

        return self._answer(_redis(feed.region), read)

    def _tables(self, feed: Feed, number: int) -> dict[str, TableState] | None:
        shard = ShardServers(feed, number, self._timeout_seconds)
        return self._answer(_shard(feed, number), partial(table_states, shard))

    def _order_log(self, region: str) -> OrderLog | None:
        client = BalanceClient(self._appliance, region, self._timeout_seconds)
        return self._answer(_orders(region), client.order_log)

    def _answer(self, server: str, ask: Callable[[], Answer]) -> Answer | None:
        note = partial(self._problems.__setitem__, server)
        return answer_or_none(ask, note, Answered, Unreachable, ValueError)


def _orders(region: str) -> str:
    return f"orders of {region}"


def _redis(region: str) -> str:
    return f"{region} Redis"


def _shard(feed: Feed, number: int) -> str:
    return f"{feed.name} shard {number}"
