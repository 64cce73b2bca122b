"""Overlaps: two feeds that load the same records into one table are named, and no others."""

import pytest

from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import ClickHouseFeed
from tests.replicator.config.any_feed import ANY_FEED
from tests.tui.facts.test_feed_findings import TABLE, replica
from tui.facts.feed_findings import Replication, ShardFacts
from tui.facts.feed_overlaps import overlaps

WEST, EAST = ClusterName.regional("west"), ClusterName.aggregate("east")
SOURCES = {EAST: {WEST}}


def shard(name, *, server, cluster=WEST, path="/air/flights", topics=("flights",), **fields):
    written = {"topics": [".*"], "database": "air", "replicas": [f"clickhouse://{server}"]}
    feed = ClickHouseFeed.model_validate({**ANY_FEED, "name": name, "shards": [written], **fields})
    replicated = {"flights": Replication(path, server, 2, False)}
    found = replica(server, tables={"flights": TABLE}, replication=replicated)
    read = frozenset((cluster, topic) for topic in topics)
    return ShardFacts(feed, 0, dict.fromkeys(topics, 1), (found,), read)


ONE = shard("a", server="one")


def found(*shards):
    return list(overlaps(shards, SOURCES))


@pytest.mark.parametrize(
    ("other", "path"),
    [
        (shard("b", server="one"), None),
        (shard("b", server="two"), "/air/flights"),
        (shard("b", server="one", path="/moved"), None),
        (shard("b", server="two", cluster=EAST), "/air/flights"),
        (shard("b", server="two", table_from="header"), "/air/flights"),
    ],
)
def test_records_that_two_feeds_load_into_one_table_are_named(other, path):
    (overlap,) = found(ONE, other)
    assert (overlap.table, overlap.topics, overlap.path) == ("flights", ("flights",), path)
    assert overlap.finding.is_mistake
    assert overlap.finding.where == "air.flights"
    assert "feeds a and b load the same records of flights" in overlap.finding.text


@pytest.mark.parametrize(
    "other",
    [
        shard("a", server="one"),
        shard("b", server="two", path="/other/flights"),
        shard("b", server="two", cluster=ClusterName.regional("north")),
        shard("b", server="one", topics=("clicks",)),
    ],
)
def test_other_records_and_other_tables_are_no_overlap(other):
    assert found(ONE, other) == []


def test_headers_may_name_any_table_with_coordinates_in_any_topic():
    both = [shard(name, server=name, table_from="header", topics=("x", "y")) for name in ("a", "b")]
    (overlap,) = found(*both)
    assert (overlap.table, overlap.topics) == ("flights", ("x", "y"))
