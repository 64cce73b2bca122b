"""Output of `sluice aggregate status`, for people and programs."""

from __future__ import annotations

import json
from dataclasses import replace

from aggregator.intents.table_range import Manifest, TableRange
from aggregator.loader.reports import TableReport
from replicator.config.object_feed import ObjectFeed
from replicator.kafka.client.loss import Loss, LossKind
from replicator.notices.condition import Condition
from replicator.orders.feed_orders import FeedOrders
from replicator.orders.order_records import Freeze
from tests.replicator.config.any_feed import ANY_FEED, ANY_OBJECT_FEED
from tests.tui.facts.test_feed_status import (
    CLUSTER,
    FACTS,
    FIRST,
    INTENT,
    NOW_MS,
    REPORT,
    SECOND,
    TABLE,
    status_of,
)
from tui.commands.aggregate_status import status_text
from tui.commands.output import plain_values
from tui.facts.feed_status import FeedStatus, feed_status
from tui.facts.snapshot import Snapshot

OLD = replace(INTENT, tables={"flights": TableRange(90, 120, 30, "h", NOW_MS - 40_000)})
PARKED = INTENT.park(Loss(LossKind.RETENTION_PASSED, 5, 90, "the log begins at 90"))
WAITS = Condition(
    kind="loader-waits",
    who="loader 2 of flights in region regional",
    text="no broker answers",
    since_ms=NOW_MS - 60_000,
    feed="flights",
    cluster=CLUSTER,
)
UNKNOWN = replace(
    WAITS, kind="topics-unknown", who="aggregate region", text="no answer", feed="", cluster=""
)
TOLD = replace(WAITS, kind="parked", text="by its partition", topic="flights", partition=1)
FREEZE = Freeze(route="flights", at_ms=NOW_MS - 5000, who="ann@ops", why="merge", topic="flights")
LAKE = ObjectFeed.model_validate(
    {**ANY_FEED, **ANY_OBJECT_FEED, "name": "lake", "shards": (), "topics": ["flights"]}
)
SEALED = Manifest(90, 120, 30, "", NOW_MS - 20_000, size_bytes=700, crc32c=1)
LOADING = {"month=7": TableReport("loading", NOW_MS - 20_000)}
OPENED = replace(REPORT, tables=LOADING, open_objects=3, open_since_ms=NOW_MS - 61_000)
IDLE = replace(REPORT, tables={}, partition=1, open_objects=0)


def example() -> FeedStatus:
    known = replace(
        FACTS,
        intents={CLUSTER: {FIRST: OLD, SECOND: PARKED}},
        tables={0: {"flights": TABLE, "plain": replace(TABLE, window_blocks=0)}, 1: None},
        orders=FeedOrders(feed="flights", freezes=(FREEZE,)),
        conditions=(UNKNOWN, WAITS, TOLD),
        problems=("ClickHouse at two: no answer",),
    )
    away = replace(
        FACTS,
        feed=FACTS.feed.model_copy(update={"name": "away", "shards": FACTS.feed.shards[:1]}),
        partitions={},
        tables={0: {}},
        conditions=(UNKNOWN,),
        problems=("region regional: no answer",),
    )
    return feed_status([known, away], NOW_MS)


def lake() -> FeedStatus:
    facts = replace(
        FACTS,
        feed=LAKE,
        intents={
            CLUSTER: {
                FIRST: replace(INTENT, tables={"month=7": SEALED}),
                SECOND: replace(INTENT, tables={}),
            }
        },
        reports={FIRST: OPENED, SECOND: IDLE},
        tables={},
    )
    return feed_status([facts], NOW_MS)


def test_a_table_of_topics(assert_snapshot):
    assert_snapshot(status_text(example()), "feeds_by_topic")


def test_a_table_of_partitions_and_blocks(assert_snapshot):
    assert_snapshot(status_text(example(), by_partition=True), "feeds_by_partition")


def test_a_feed_that_waits_for_nothing_has_no_remarks():
    idle = {CLUSTER: (FIRST,)}, {CLUSTER: {FIRST: replace(INTENT, tables={})}}
    text = status_text(status_of(replace(FACTS, partitions=idle[0], intents=idle[1])))
    topics, tables = text.split("\n\n")
    assert topics.splitlines()[1].split()[-4:] == ["-", "4", "1", "held"]
    assert len(tables.splitlines()) == 3


def test_values_are_versioned_and_null_where_unknown():
    values = json.loads(json.dumps(plain_values(example())))
    assert (values["schema_version"], values["taken_at"]) == (2, 1_800_000_000.0)
    assert values["problems"] == ["ClickHouse at two: no answer", "region regional: no answer"]
    flights, away = values["feeds"]
    assert (away["unknown_clusters"], away["partitions"]) == ([CLUSTER], [])
    assert flights["shards"][1] == {"number": 1, "database": "default", "tables": None}
    table, _ = flights["shards"][0]["tables"]
    assert (table["table"], table["state"]["window_seconds"]) == ("flights", 50.0)
    first, second = flights["partitions"]
    assert (first["window_used"], first["intent_age_seconds"]) == (0.8, 40.0)
    assert first["blocks"][0]["begin"] == 90
    assert (second["mode"], second["custody"]) == (None, "parked")
    assert flights["orders"][0]["kind"] == "freeze"
    kinds = [each["kind"] for each in flights["conditions"]]
    assert kinds == ["topics-unknown", "loader-waits", "parked"]
    assert plain_values(status_of(FACTS))["feeds"][0]["conditions"] is None


def test_a_condition_is_told_once_and_not_where_its_partition_tells_it():
    lines = status_text(example()).splitlines()
    assert sum(line.startswith("topics-unknown: ") for line in lines) == 1
    assert sum(line.startswith("loader-waits: flights") for line in lines) == 1
    assert sum(line.startswith("parked: ") for line in lines) == 1


def test_a_table_of_topics_that_become_objects(assert_snapshot):
    assert_snapshot(status_text(lake()), "object_feeds_by_topic")


def test_a_table_of_partitions_and_sealed_objects(assert_snapshot):
    assert_snapshot(status_text(lake(), by_partition=True), "object_feeds_by_partition")


def test_feeds_into_both_stores_have_tables_of_their_own():
    both = FeedStatus(taken_at=NOW_MS / 1000, feeds=(*lake().feeds, *example().feeds))
    topics, tables, objects, *remarks = status_text(both).split("\n\n")
    assert (topics.split()[1], tables.split()[1]) == ("SHARD", "SHARD")
    assert objects == status_text(lake())
    assert len(remarks) == 1


def test_values_tell_the_store_and_the_open_objects():
    (feed,) = plain_values(lake())["feeds"]
    assert feed["kind"] == "s3"
    assert [each["open_objects"] for each in feed["partitions"]] == [3, 0]
    assert feed["partitions"][0]["open_seconds"] == 60.0


def test_the_json_of_a_feed_is_that_of_the_status_of_the_appliance():
    status = example()
    told = plain_values(Snapshot(taken_at=status.taken_at, feeds=status.feeds))
    assert plain_values(status)["feeds"] == told["feeds"]


def test_numbers_keep_all_their_digits():
    (many,) = lake().feeds
    first, *rest = many.partitions
    large = replace(first, lag_records=1_234_567, committed=7_654_321, rows_per_second=12_345.6)
    status = FeedStatus(taken_at=0.0, feeds=(replace(many, partitions=(large, *rest)),))
    assert "1234567" in status_text(status)
    words = status_text(status, by_partition=True).split()
    assert {"1234567", "7654321", "12345.6"} <= set(words)


def test_feeds_without_a_topic_are_said_to_have_none():
    (feed,) = lake().feeds
    bare = FeedStatus(taken_at=0.0, feeds=(replace(feed, partitions=()),))
    assert status_text(bare) == "no cluster has a topic of these feeds"
    assert status_text(bare, by_partition=True) == status_text(bare)
