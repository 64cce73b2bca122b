"""Output of the status of feeds, for people and programs."""

import json
from dataclasses import replace

from aggregator.intents.table_range import TableRange
from replicator.kafka.client.loss import Loss, LossKind
from replicator.notices.condition import Condition
from replicator.orders.feed_orders import FeedOrders
from replicator.orders.order_records import Freeze
from tests.tui.facts.test_feed_status import (
    CLUSTER,
    FACTS,
    FIRST,
    INTENT,
    NOW_MS,
    SECOND,
    TABLE,
    status_of,
)
from tui.commands.views.feed_view import as_text, as_values
from tui.facts.feed_status import FeedStatus, feed_status

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


def test_a_table_of_topics(assert_snapshot):
    assert_snapshot(as_text(example()), "feeds_by_topic")


def test_a_table_of_partitions_and_blocks(assert_snapshot):
    assert_snapshot(as_text(example(), by_partition=True), "feeds_by_partition")


def test_a_feed_that_waits_for_nothing_has_no_remarks():
    idle = {CLUSTER: (FIRST,)}, {CLUSTER: {FIRST: replace(INTENT, tables={})}}
    text = as_text(status_of(replace(FACTS, partitions=idle[0], intents=idle[1])))
    topics, tables = text.split("\n\n")
    assert topics.splitlines()[1].split()[-4:] == ["-", "4", "1", "held"]
    assert len(tables.splitlines()) == 3


def test_values_are_versioned_and_null_where_unknown():
    values = json.loads(json.dumps(as_values(example())))
    assert (values["version"], values["taken_at"]) == (1, "2027-01-15T08:00:00Z")
    flights, away = values["feeds"]
    assert (away["unknown_clusters"], away["partitions"]) == ([CLUSTER], [])
    assert flights["shards"][1] == {"number": 1, "database": "default", "tables": None}
    table, _ = flights["shards"][0]["tables"]
    assert (table["table"], table["window_seconds"]) == ("flights", 50.0)
    first, second = flights["partitions"]
    assert (first["window_used"], first["intent_age_seconds"]) == (0.8, 40.0)
    assert first["blocks"][0]["begin"] == 90
    assert (second["mode"], second["custody"]) == (None, "parked")
    assert flights["orders"][0]["kind"] == "freeze"
    kinds = [each["kind"] for each in flights["conditions"]]
    assert kinds == ["topics-unknown", "loader-waits", "parked"]
    assert as_values(status_of(FACTS))["feeds"][0]["conditions"] is None


def test_a_condition_is_told_once_and_not_where_its_partition_tells_it():
    lines = as_text(example()).splitlines()
    assert sum(line.startswith("topics-unknown: ") for line in lines) == 1
    assert sum(line.startswith("loader-waits: flights") for line in lines) == 1
    assert sum(line.startswith("parked: ") for line in lines) == 1
