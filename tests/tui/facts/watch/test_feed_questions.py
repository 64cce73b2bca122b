"""Questions about feeds: status, tables, intents."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from threading import Event
from uuid import UUID

import pytest

from aggregator.loader.reports import FeedPartition
from aggregator.upsert.query_mark import NEVER, TickTime
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import ClickHouseFeed
from replicator.config.topology import Appliance
from replicator.kafka.admin.topic import Configs, Topic
from replicator.notices.condition import Condition
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import Freeze
from replicator.runtime.store_errors import StoreUnreachable
from tests.addresses import refusing
from tests.replicator.config.any_feed import ANY_FEED, ANY_UPSERT_TABLE
from tests.replicator.config.test_feed_contradictions import feed, loaded
from tests.replicator.config.test_upsert_table import table
from tests.tui.commands.test_replicate import CONFIG
from tests.tui.facts.test_anomaly import anomaly
from tests.tui.facts.test_feed_status import INTENT, REPORT, TABLE
from tests.tui.facts.watch.told import NOW, NOW_MS, answered
from tui.facts.feed_status import UpsertTickView
from tui.facts.watch.admins import Admins
from tui.facts.watch.audit_questions import anomalies_key
from tui.facts.watch.balance_questions import orders_key
from tui.facts.watch.feed_intents import FeedProgress, loaded_partitions, upsert_partitions
from tui.facts.watch.feed_questions import (
    FINDINGS_MAX,
    claims_key,
    feed_fields,
    feed_look_questions,
    feed_questions,
    feed_topics_key,
    feeds_now,
    feeds_of,
    first_answer,
    loader_reports_key,
    progress_key,
    shard_tables,
    tables_key,
    with_findings,
)
from tui.facts.watch.notice_questions import Notices, notices_key
from tui.facts.watch.question import Answer, Answers

# --- Feeds from answers of clusters, Redis and ClickHouse that may be missing.

PLACE = FeedPartition("west regional", "flights", 0)
ROUTES_BOTH_WAYS = CONFIG.replace('["west>east"]', '["west>east", "east>west"]')


@pytest.fixture
def appliance(tmp_path: Path) -> Appliance:
    return loaded(tmp_path, CONFIG + feed())


def healthy(appliance: Appliance):
    """Returns the answers of all servers of the feed flights."""
    flights = appliance.feed("flights")
    (cluster,) = flights.clusters
    return {
        feed_topics_key(cluster): {"flights": (PLACE,)},
        progress_key(flights, cluster): FeedProgress({PLACE: INTENT}, {PLACE: 160}),
        loader_reports_key(flights): {PLACE: replace(REPORT, cluster=PLACE.cluster, at_ms=NOW_MS)},
        tables_key(flights, 0): {"flights": TABLE},
        orders_key("west"): OrderLog(),
        notices_key("west"): Notices(),
        anomalies_key("west"): (anomaly(), anomaly(of="feed other")),
    }


def view(appliance: Appliance, answers: Answers):
    (found,) = feeds_of(appliance, answers, NOW)
    return found


def test_a_feed_has_what_all_its_servers_say(appliance):
    found = view(appliance, answered(healthy(appliance)))
    (partition,) = found.partitions
    assert (partition.committed, partition.end, partition.lag_records) == (90, 160, 40)
    assert (partition.mode, partition.loader) == ("consume", 2)
    assert [each.table for each in found.shards[0].tables] == ["flights"]
    assert (found.orders, found.problems, found.conditions) == ((), (), ())
    assert found.findings == (anomaly(),)


def test_before_any_answer_everything_is_unknown(appliance):
    found = view(appliance, Answers({}))
    assert (found.unknown_clusters, found.partitions) == (("west regional",), ())
    assert (found.orders, found.conditions, found.findings) == (None, None, None)
    assert found.shards[0].tables is None
    assert feed_fields(appliance)(Answers({}), NOW) == {"feeds": (found,)}


def test_what_is_in_the_way_is_told_once_and_what_was_known_stays(appliance):
    values = healthy(appliance)
    flights = appliance.feed("flights")
    answers = dict(answered(values).by_key)
    text = "west regional: no answer within 5 s"
    for key in (feed_topics_key(*flights.clusters), progress_key(flights, *flights.clusters)):
        answers[key] = Answer(values[key], NOW - 99.0, text, NOW - 50.0)
    found = view(appliance, Answers(answers))
    assert found.problems == (text,)
    assert found.partitions[0].committed == 90


def test_conditions_of_the_feed_and_of_its_aggregator_are_its_own(appliance):
    own = Condition(kind="parked", who="loader 0", text="x", since_ms=1, feed="flights")
    all_feeds = Condition(
        kind="topics-unknown",
        who="aggregate west",
        text="x",
        since_ms=1,
        cluster="west regional",
    )
    others = (
        replace(own, feed="other"),
        replace(all_feeds, who="replicate west"),
        replace(all_feeds, cluster="east regional"),
    )
    values = healthy(appliance) | {notices_key("west"): Notices((own, all_feeds, *others))}
    assert view(appliance, answered(values)).conditions == (own, all_feeds)


def test_each_server_is_asked_with_its_cadence(appliance):
    flights = appliance.feed("flights")
    (cluster,) = flights.clusters
    cadences = {each.key: each.cadence_seconds for each in feed_questions(Admins(appliance, 1.0))}
    assert cadences == {
        feed_topics_key(cluster): 30.0,
        progress_key(flights, cluster): 10.0,
        loader_reports_key(flights): 2.0,
        tables_key(flights, 0): 10.0,
        # No route leads into west, so the questions about balancing leave its orders out.
        orders_key("west"): 10.0,
    }


def test_upsert_tables_have_their_newest_ticks_and_freezes(tmp_path):
    keeping = loaded(tmp_path, CONFIG + feed(topics='".*"') + table())
    key = claims_key(keeping.feed("flights"))
    assert key in [each.key for each in feed_questions(Admins(keeping, 1.0))]

    def shown(values):
        (found,) = view(keeping, answered(values)).upsert_tables
        return found

    assert shown({}) == UpsertTickView(table="status", tick=None, age_seconds=None, frozen=None)
    assert shown({key: {"status": NEVER}}).tick == 0
    known = shown({key: {"status": TickTime(7, NOW_MS - 2500)}})
    assert (known.tick, known.age_seconds, known.frozen) == (7, 2.5, None)
    for where, expected in (
        ({}, "by ann@ops: x"),
        ({"table": "status"}, "by ann@ops: x"),
        ({"table": "other"}, None),
        ({"topic": "status"}, None),
    ):
        freeze = Freeze(route="flights", at_ms=1, who="ann@ops", why="x", **where)
        orders = OrderLog().after([(b"key", freeze)])
        assert shown({orders_key("west"): orders}).frozen == expected


def test_orders_are_asked_for_once_where_routes_lead_into_the_region(tmp_path):
    both_ways = loaded(tmp_path, ROUTES_BOTH_WAYS + feed())
    keys = [each.key for each in feed_questions(Admins(both_ways, 1.0))]
    assert orders_key("west") not in keys


def test_without_feeds_nothing_is_asked(tmp_path):
    assert feed_questions(Admins(loaded(tmp_path, CONFIG), 1.0)) == []


def test_the_first_replica_that_answers_tells_the_tables():
    asked = []

    def ask(server):
        asked.append(server)
        if server == "away":
            raise StoreUnreachable("away: refused")
        return {"flights": TABLE}

    assert first_answer(["away", "one", "two"], ask, 30.0) == {"flights": TABLE}
    assert asked == ["away", "one"]
    with pytest.raises(StoreUnreachable, match="away: refused; away: refused"):
        first_answer(["away", "away"], ask, 30.0)


def test_a_silent_replica_does_not_keep_the_next_from_telling_the_tables():
    never = Event()

    def ask(server):
        if server == "silent":
            never.wait()
        return {server: TABLE}

    began = time.monotonic()
    try:
        assert first_answer(["silent", "other"], ask, 2.0) == {"other": TABLE}
    finally:
        never.set()
    assert time.monotonic() - began < 2.0


def test_intents_older_than_three_cadences_tell_no_lag(appliance):
    values = healthy(appliance)
    flights = appliance.feed("flights")
    key = progress_key(flights, *flights.clusters)
    answers = dict(answered(values).by_key)
    answers[key] = Answer(values[key], NOW - 31.0, "west regional: no answer", NOW - 25.0)
    (partition,) = view(appliance, Answers(answers)).partitions
    assert (partition.committed, partition.end, partition.lag_records) == (90, 160, None)
    answers[key] = replace(answers[key], asked_at=NOW - 29.0)
    (partition,) = view(appliance, Answers(answers)).partitions
    assert partition.lag_records == 40


def test_a_password_that_cannot_be_read_is_a_problem_of_its_shard(appliance, tmp_path):
    flights = appliance.feed("flights")
    shard = flights.shards[0].model_copy(update={"password_file": tmp_path / "missing"})
    broken = flights.model_copy(update={"shards": (shard,)})
    with pytest.raises(StoreUnreachable, match="flights shard 0"):
        shard_tables(broken, 0, 1.0)


def test_only_the_last_findings_about_the_feed_are_shown(appliance):
    found = view(appliance, Answers({}))
    many = [anomaly(partition=n) for n in range(FINDINGS_MAX + 5)]
    assert with_findings(found, None).findings is None
    assert with_findings(found, many).findings == tuple(many[:FINDINGS_MAX])


# --- Look at feeds: their servers are asked once, and no others.


def test_only_the_servers_of_the_feeds_are_asked_each_once(appliance: Appliance) -> None:
    flights = appliance.feed("flights")
    (cluster,) = flights.clusters
    keys = [each.key for each in feed_look_questions(appliance, [flights], 1.0)]
    assert len(keys) == len(set(keys))
    assert set(keys) == {
        feed_topics_key(cluster),
        progress_key(flights, cluster),
        loader_reports_key(flights),
        tables_key(flights, 0),
        orders_key("west"),
        notices_key("west"),
    }


def test_servers_that_refuse_are_problems_and_nothing_is_raised(appliance: Appliance) -> None:
    flights = appliance.feed("flights")
    nobody = {"bootstrap": (refusing(),)}
    region = appliance.region("west")
    away = region.model_copy(
        update={
            "redis": f"redis://{refusing()}",
            "regional": region.regional.model_copy(update=nobody),
            "aggregate": region.aggregate.model_copy(update=nobody),
        }
    )
    there = appliance.model_copy(update={"regions": {**appliance.regions, "west": away}})
    (found,) = feeds_now(there, [flights], 3.0).feeds
    assert (found.unknown_clusters, found.partitions) == (("west regional",), ())
    assert any("west regional" in text for text in found.problems)


# --- Partitions that a feed loads of the topics of a cluster.

WEST = ClusterName.regional("west")


def topic(name: str, partitions: int = 1, *, is_internal: bool = False) -> Topic:
    return Topic(name, UUID(int=1), partitions, Configs({}), is_internal)


def test_clusters_are_named_by_plain_texts_for_yaml():
    feed = ClickHouseFeed.model_validate(ANY_FEED)
    ((cluster, *_),) = loaded_partitions(feed, WEST, [topic("a")])
    assert type(cluster) is str


def test_topics_of_upsert_tables_are_no_ones_that_loaders_load():
    feed = ClickHouseFeed.model_validate({**ANY_FEED, "tables": {"b": ANY_UPSERT_TABLE}})
    topics = [topic("a"), topic("b", 2)]
    assert loaded_partitions(feed, WEST, topics) == (FeedPartition(WEST, "a", 0),)
    assert upsert_partitions(feed, WEST, topics) == tuple(
        FeedPartition(WEST, "b", number) for number in (0, 1)
    )


def test_only_partitions_of_topics_that_a_shard_has_are_loaded():
    shards = [{"topics": ["a.*"], "replicas": ["clickhouse://h"]}]
    feed = ClickHouseFeed.model_validate({**ANY_FEED, "shards": shards})
    topics = [topic("a", 2), topic("b"), topic("abc"), topic("a.x", is_internal=True)]
    assert loaded_partitions(feed, WEST, topics) == (
        FeedPartition(WEST, "a", 0),
        FeedPartition(WEST, "a", 1),
        FeedPartition(WEST, "abc", 0),
    )
