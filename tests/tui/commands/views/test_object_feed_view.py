"""Tables of feeds into S3: open and sealed objects in the place of shards and windows."""

from __future__ import annotations

from dataclasses import replace

from aggregator.intents.table_range import Manifest
from aggregator.loader.reports import TableReport
from replicator.config.feed_settings import ANY_FEED
from replicator.config.object_feed import ANY_OBJECT_FEED, ObjectFeed
from tests.tui.commands.views.test_feed_view import example
from tests.tui.facts.test_feed_status import CLUSTER, FACTS, FIRST, INTENT, NOW_MS, REPORT, SECOND
from tui.commands.views.feed_view import as_text, as_values
from tui.facts.feed_status import FeedStatus, feed_status

FEED = ObjectFeed.model_validate(
    {**ANY_FEED, **ANY_OBJECT_FEED, "name": "lake", "shards": (), "topics": ["flights"]}
)
SEALED = Manifest(90, 120, 30, "", NOW_MS - 20_000, size_bytes=700, crc32c=1)
LOADING = {"month=7": TableReport("loading", NOW_MS - 20_000)}
OPENED = replace(REPORT, tables=LOADING, open_objects=3, open_since_ms=NOW_MS - 61_000)
IDLE = replace(REPORT, tables={}, partition=1, open_objects=0)


def lake() -> FeedStatus:
    facts = replace(
        FACTS,
        feed=FEED,
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
    assert_snapshot(as_text(lake()), "object_feeds_by_topic")


def test_a_table_of_partitions_and_sealed_objects(assert_snapshot):
    assert_snapshot(as_text(lake(), by_partition=True), "object_feeds_by_partition")


def test_feeds_into_both_stores_have_tables_of_their_own():
    both = FeedStatus(taken_at_ms=NOW_MS, feeds=(*lake().feeds, *example().feeds))
    topics, tables, objects, *remarks = as_text(both).split("\n\n")
    assert (topics.split()[1], tables.split()[1]) == ("SHARD", "SHARD")
    assert objects == as_text(lake())
    assert len(remarks) == 1


def test_values_tell_the_store_and_the_open_objects():
    (feed,) = as_values(lake())["feeds"]
    assert feed["kind"] == "s3"
    assert [each["open_objects"] for each in feed["partitions"]] == [3, 0]
    assert feed["partitions"][0]["open_seconds"] == 60.0
