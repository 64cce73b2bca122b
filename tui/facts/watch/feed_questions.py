"""Questions about the feeds of all regions, and the views that their answers make."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TypeVar

from clickhouse_driver import Client

from aggregator.loader.report_store import ReportStore
from aggregator.loader.reports import FeedPartition, LoaderReport
from aggregator.store.identifier import quoted
from aggregator.store.schema_reader import TableFacts, read_tables
from aggregator.upsert.query_mark import NEVER, TickTime
from aggregator.upsert.table_names import ticks_table
from replicator.clickhouse.server import ClickHouse
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import ClickHouseFeed, Feed
from replicator.config.topology import Appliance
from replicator.orders.feed_orders import FeedOrders
from replicator.orders.order_log import OrderLog
from replicator.runtime.store_errors import StoreUnreachable
from tui.facts.anomaly import Anomaly
from tui.facts.feed_status import (
    FeedFacts,
    FeedStatus,
    FeedView,
    TableState,
    conditions_of,
    feed_status,
    feed_view,
)
from tui.facts.part import Part, each_once
from tui.facts.watch.admins import Admins
from tui.facts.watch.audit_questions import anomalies_key
from tui.facts.watch.balance_questions import order_question, orders_key
from tui.facts.watch.feed_intents import FeedProgress, loaded_partitions, read_progress
from tui.facts.watch.inquiry import Inquiry, Reply
from tui.facts.watch.kept_client import kept_question
from tui.facts.watch.look import look
from tui.facts.watch.notice_questions import (
    known_conditions,
    notice_questions,
    notices_key,
    redis_name,
)
from tui.facts.watch.question import Answers, Key, Question
from tui.facts.watch.shard_servers import ShardServers

TOPICS_SECONDS = 30.0
PROGRESS_SECONDS = 10.0
REPORTS_SECONDS = 2.0
TABLES_SECONDS = 10.0
NEXT_REPLICA_PART = 0.3
"""Part of the timeout after which the next replica of a shard is asked as well."""
Server = TypeVar("Server")
T = TypeVar("T")
FINDINGS_MAX = 20
"""Last verdicts of the verifier that a feed is shown with."""


Listed = Mapping[str, Sequence[FeedPartition]]
"""Partitions that a cluster has of each feed, by the feed's name."""
LOOK_BACK_SECONDS = 60
"""Time over which the rate of blocks is taken. Replaced parts stay visible for eight minutes."""
# A partition of a table numbers its blocks, and the name of a part has the numbers of the blocks
# that were merged into it. A part that was changed earlier holds no later block.
PARTS = """
SELECT table, max(active_parts), sum(blocks) FROM (
    SELECT table, partition, sum(active) AS active_parts,
        max(max_block_number)
            - maxIf(max_block_number, modification_time < now() - %(seconds)s) AS blocks
    FROM system.parts WHERE database = %(database)s GROUP BY table, partition
) GROUP BY table
"""


CLAIM = """
SELECT tick, time_ms FROM {table} WHERE what = 'claim' ORDER BY generation DESC, tick DESC LIMIT 1
"""


def feed_topics_key(cluster: ClusterName) -> Key:
    return Key(str(cluster), "topics of feeds")


def progress_key(feed: Feed, cluster: ClusterName) -> Key:
    return Key(str(cluster), f"intents of {feed.name}")


def loader_reports_key(feed: Feed) -> Key:
    return Key(redis_name(feed.region), f"loaders of {feed.name}")


def tables_key(feed: Feed, shard: int) -> Key:
    return Key(f"{feed.name} shard {shard}", "tables")


def claims_key(feed: Feed) -> Key:
    return Key(f"{feed.name} upsert tables", "ticks")


def feed_questions(admins: Admins) -> list[Question]:
    """Returns the questions about all feeds; nothing is asked yet, and nothing without feeds.

    Orders are asked for by the questions about balancing, where routes lead into the region.
    """
    appliance = admins.appliance
    feeds = tuple(appliance.feeds.values())
    regions = dict.fromkeys(feed.region for feed in feeds)
    return [
        *questions_of(admins, feeds),
        *(order_question(admins, it) for it in regions if not appliance.routes_into(it)),
    ]


def questions_of(admins: Admins, feeds: Sequence[Feed]) -> list[Question]:
    """Returns the questions about some feeds, those about orders left out."""
    clusters = dict.fromkeys(cluster for feed in feeds for cluster in feed.clusters)
    return [
        *(_topics(admins, cluster) for cluster in clusters),
        *(each for feed in feeds for each in _of_feed(admins, feed)),
    ]


def _topics(admins: Admins, cluster: ClusterName) -> Question:
    admin = admins.of(cluster)
    feeds = [feed for feed in admins.appliance.feeds.values() if cluster in feed.clusters]

    def listed() -> Listed:
        topics = admin.topics()
        return {feed.name: loaded_partitions(feed, cluster, topics) for feed in feeds}

    return Question(
        key=feed_topics_key(cluster),
        cadence_seconds=TOPICS_SECONDS,
        ask=listed,
        cluster=admins.cluster(cluster),
    )


def _of_feed(admins: Admins, feed: Feed) -> list[Question]:
    region, timeout_seconds = admins.appliance.region(feed.region), admins.timeout_seconds
    return [
        *(_progress(admins, feed, cluster) for cluster in feed.clusters),
        kept_question(
            loader_reports_key(feed),
            REPORTS_SECONDS,
            lambda: ReportStore(region.redis_url(), timeout_seconds=timeout_seconds),
            lambda store: store.read(feed.name),
        ),
        *(
            Question(
                key=tables_key(feed, number),
                cadence_seconds=TABLES_SECONDS,
                ask=partial(shard_tables, feed, number, timeout_seconds),
            )
            for number in range(len(feed.shards))
        ),
        *(
            Question(
                key=claims_key(feed),
                cadence_seconds=TABLES_SECONDS,
                ask=partial(newest_claims, feed, timeout_seconds),
            )
            for _ in feed.upsert_tables[:1]
        ),
    ]


def _progress(admins: Admins, feed: Feed, cluster: ClusterName) -> Question:
    settings, admin = admins.cluster(cluster), admins.of(cluster)

    def progress(listed: Listed) -> FeedProgress:
        partitions = listed[feed.name]
        return read_progress(feed, cluster, settings, admin, partitions, admins.timeout_seconds)

    return Question(
        key=progress_key(feed, cluster),
        cadence_seconds=PROGRESS_SECONDS,
        ask=progress,
        needs=(feed_topics_key(cluster),),
        cluster=settings,
    )


def shard_tables(feed: Feed, number: int, timeout_seconds: float) -> dict[str, TableState]:
    """Returns the tables of a shard by its first replica that answers. Raises StoreUnreachable."""
    return first_answer(_servers(feed, number, timeout_seconds), table_states, timeout_seconds)


def _servers(feed: Feed, number: int, timeout_seconds: float) -> Sequence[ClickHouse]:
    try:
        return ShardServers(feed, number, timeout_seconds).servers()
    except (OSError, ValueError) as error:
        raise StoreUnreachable(f"{feed.name} shard {number}: {error}") from error


def newest_claims(feed: Feed, timeout_seconds: float) -> dict[str, TickTime]:
    """Returns the newest tick that may be read of each upsert table; tick 0 without any.

    Each is told by the first replica of its shard that answers. Raises StoreUnreachable.
    """
    assert isinstance(feed, ClickHouseFeed)
    found: dict[str, TickTime] = {}
    for table in feed.upsert_tables:
        number = feed.shard_number_of(table)
        servers = _servers(feed, number, timeout_seconds)
        ask = partial(_newest_claim, database=feed.shards[number].database, table=table.name)
        found[table.name] = first_answer(servers, ask, timeout_seconds)
    return found


def _newest_claim(server: ClickHouse, *, database: str, table: str) -> TickTime:
    with server.connected() as client:
        rows = client.execute(CLAIM.format(table=quoted(database, ticks_table(table))))
    return TickTime(*rows[0]) if rows else NEVER


def first_answer(
    servers: Sequence[Server],
    ask: Callable[[Server], T],
    timeout_seconds: float,
) -> T:
    """Returns the answer of the first server that gives one.

    A server is asked once those before it have failed, or are silent for a part of the timeout.
    Raises StoreUnreachable.
    """
    inquiry = Inquiry(timeout_seconds)
    replies: list[Reply[T]] = []
    for place, server in enumerate(servers):
        in_turn = partial(_in_turn, tuple(replies), timeout_seconds, partial(ask, server))
        replies.append(inquiry.ask(f"replica {place}", in_turn))
    # The last one has its turn only after the others, silent ones too.
    replies[-1].answer()
    found = next((it for each in replies if (it := each.early(0.0)) is not None), None)
    if found is None:
        raise StoreUnreachable("; ".join(inquiry.problems.values()))
    return found


def _in_turn(
    before: Iterable[Reply[T]],
    timeout_seconds: float,
    ask: Callable[[], T],
) -> T | None:
    """Returns the answer; None if one before gave it."""
    seconds = timeout_seconds * NEXT_REPLICA_PART
    return None if any(each.early(seconds) is not None for each in before) else ask()


def feed_fields(appliance: Appliance) -> Callable[[Answers, float], dict[str, object]]:
    """Returns the builder of the snapshot's field `feeds`."""
    return lambda answers, now: {"feeds": feeds_of(appliance, answers, now)}


def feeds_of(appliance: Appliance, answers: Answers, now: float) -> tuple[FeedView, ...]:
    """Returns all feeds by name, with what is known of each."""
    now_ms = int(now * 1000)
    return tuple(
        with_findings(
            feed_view(facts_of(feed, answers, now_ms), now_ms),
            answers.value(anomalies_key(feed.region)),
        )
        for _, feed in sorted(appliance.feeds.items())
    )


def facts_of(feed: Feed, answers: Answers, now_ms: int) -> FeedFacts:
    """Returns the facts about one feed, as the last answers tell them."""
    progress: dict[str, FeedProgress] = {
        str(cluster): found
        for cluster in feed.clusters
        if (found := answers.value(progress_key(feed, cluster))) is not None
    }
    listed: dict[ClusterName, Listed | None] = {
        cluster: answers.value(feed_topics_key(cluster)) for cluster in feed.clusters
    }
    reports: Mapping[FeedPartition, LoaderReport] | None = answers.value(loader_reports_key(feed))
    orders: OrderLog | None = answers.value(orders_key(feed.region))
    conditions = known_conditions(answers, feed.region, now_ms / 1000)
    return FeedFacts(
        feed=feed,
        partitions={
            str(cluster): found[feed.name] for cluster, found in listed.items() if found is not None
        },
        intents={name: each.intents for name, each in progress.items()},
        ends={place: end for each in progress.values() for place, end in each.ends.items()},
        stale_clusters=frozenset(
            str(cluster)
            for cluster in feed.clusters
            if _is_stale(answers, progress_key(feed, cluster), now_ms)
        ),
        reports=reports,
        tables={
            number: answers.value(tables_key(feed, number)) for number in range(len(feed.shards))
        },
        claims=(answers.value(claims_key(feed)) or {}) if feed.upsert_tables else {},
        orders=None if orders is None else FeedOrders.of(orders, feed.name, now_ms),
        conditions=None if conditions is None else conditions_of(feed, conditions),
        problems=_problems(feed, answers),
    )


def _is_stale(answers: Answers, progress: Key, now_ms: int) -> bool:
    asked_at = answers.answer(progress).asked_at
    part = Part(
        server=progress.server,
        about=progress.about,
        asked_at=asked_at,
        cadence_seconds=PROGRESS_SECONDS,
    )
    return part.is_stale(now_ms / 1000)


def _problems(feed: Feed, answers: Answers) -> tuple[str, ...]:
    keys = [
        *(feed_topics_key(cluster) for cluster in feed.clusters),
        *(progress_key(feed, cluster) for cluster in feed.clusters),
        orders_key(feed.region),
        loader_reports_key(feed),
        notices_key(feed.region),
        *(tables_key(feed, number) for number in range(len(feed.shards))),
        *(claims_key(feed) for _ in feed.upsert_tables[:1]),
    ]
    return each_once(answers.answer(key).problem for key in keys)


def with_findings(view: FeedView, anomalies: Iterable[Anomaly] | None) -> FeedView:
    """Returns a feed with the verifier's last findings about it.

    Args:
        anomalies: of the feed's region, the newest first; None: not known.
    """
    if anomalies is None:
        return view
    own = (each for each in anomalies if each.feed == view.feed)
    return replace(view, findings=tuple(islice(own, FINDINGS_MAX)))


def table_states(server: ClickHouse) -> dict[str, TableState]:
    """Returns the tables of a replica. Raises StoreUnreachable."""
    with server.connected() as client:
        return read_states(client, server.address.database)


def read_states(client: Client, database: str) -> dict[str, TableState]:
    """Returns the state of each table of a database. Raises the errors of the driver."""
    asked = {"database": database, "seconds": LOOK_BACK_SECONDS}
    counts = {table: (parts, blocks) for table, parts, blocks in client.execute(PARTS, asked)}
    return {
        name: _state(facts, *counts.get(name, (0, 0)))
        for name, facts in read_tables(client, database).items()
        if not facts.kind.is_view
    }


def _state(facts: TableFacts, parts: int, blocks: int) -> TableState:
    return TableState(
        parts=parts,
        window_blocks=facts.schema.deduplication_window,
        window_seconds_max=facts.window_seconds,
        blocks_per_second=max(0, blocks) / LOOK_BACK_SECONDS,
        has_coordinates=facts.schema.has_coordinates,
    )


def feeds_now(appliance: Appliance, feeds: Sequence[Feed], timeout_seconds: float) -> FeedStatus:
    """Returns the status of feeds after the timeout at the latest.

    Raises nothing for an unreachable server.
    """
    answers = look(feed_look_questions(appliance, feeds, timeout_seconds), timeout_seconds)
    now_ms = time.time_ns() // 1_000_000
    return feed_status([facts_of(feed, answers, now_ms) for feed in feeds], now_ms)


def feed_look_questions(
    appliance: Appliance, feeds: Sequence[Feed], timeout_seconds: float
) -> list[Question]:
    """Returns the questions to all servers of these feeds, and to no others."""
    admins = Admins(appliance, timeout_seconds)
    regions = tuple(dict.fromkeys(feed.region for feed in feeds))
    return [
        *questions_of(admins, feeds),
        *(order_question(admins, region) for region in regions),
        *notice_questions(appliance, regions, timeout_seconds),
    ]
