"""Feeds: which ones are meant, what they load, what was lost, how they are."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from aggregator.loader.reports import FeedPartition
from aggregator.store.schema_reader import TableFacts
from aggregator.tables.table_schema import COORDINATES, Column, TableSchema
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import ClickHouseFeed
from replicator.config.topology import Appliance, UnknownRegion
from replicator.kafka.client.loss import LossKind
from replicator.notices.condition import Condition
from tests.replicator.config.any_feed import ANY_FEED
from tests.replicator.config.test_feed_contradictions import feed as feed_table
from tests.replicator.config.test_feed_contradictions import loaded
from tests.replicator.config.test_topology import SOUND
from tests.tui.commands.test_aggregate_losses import parked
from tests.tui.console.snapshots import NOW_MS, feed
from tests.tui.facts.test_feed_findings import TABLE, replica
from tui.facts.feed_findings import Finding, ReplicaFacts, Replication, ShardFacts, schema_findings
from tui.facts.feed_health import feed_health, partition_health
from tui.facts.feed_losses import NO_INTENT
from tui.facts.feed_overlaps import overlaps
from tui.facts.feed_scope import Scope, selected_feeds
from tui.facts.feed_status import BlockView, UpsertTickView
from tui.facts.health import Health

# --- Scope: the part of a feed that a command names.

PARTITION = FeedPartition("west regional", "flights", 3)


@pytest.mark.parametrize(
    ("scope", "has"),
    [
        (Scope(), True),
        (Scope(table="departures"), True),
        (Scope(cluster="west regional", topic="flights", partition=3), True),
        (Scope(cluster="east regional"), False),
        (Scope(topic="clicks"), False),
        (Scope(topic="flights", partition=0), False),
    ],
)
def test_a_scope_has_the_partitions_that_it_names(scope, has):
    assert scope.has(PARTITION) is has


# --- Selection of feeds: by region, by name, or all; an unknown one is refused.

OTHER = feed_table("clicks", topics='"clicks"').replace('region = "west"', 'region = "east"')


@pytest.fixture
def appliance(tmp_path) -> Appliance:
    return loaded(tmp_path, SOUND + feed_table("flights") + OTHER)


@pytest.mark.parametrize(
    ("region", "names", "found"),
    [
        (None, [], ["clicks", "flights"]),
        ("west", [], ["flights"]),
        (None, ["flights", "flights"], ["flights"]),
        ("east", ["clicks"], ["clicks"]),
    ],
)
def test_feeds_are_selected_by_region_and_name(appliance, region, names, found):
    assert [each.name for each in selected_feeds(appliance, region, names)] == found


@pytest.mark.parametrize(
    ("region", "names", "text"),
    [
        ("north", [], "no region 'north'"),
        (None, ["x"], "no feed 'x'; known: clicks, flights"),
        ("east", ["flights"], "region 'east' does not load feed 'flights'"),
    ],
)
def test_what_is_not_configured_is_named(appliance, region, names, text):
    with pytest.raises(UnknownRegion, match=text):
        selected_feeds(appliance, region, names)


def test_a_configuration_without_feeds_is_named(tmp_path):
    nothing = loaded(tmp_path, SOUND)
    with pytest.raises(UnknownRegion, match="the configuration has no feed"):
        selected_feeds(nothing, None, [])
    with pytest.raises(UnknownRegion, match="region 'west' has no feed"):
        selected_feeds(nothing, "west", [])


# --- Overlaps: two feeds that load the same records into one table are named, and no others.

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


# --- Parked partitions of a feed say why they wait.


def test_a_partition_says_why_it_waits():
    assert "source batch cannot be read" in parked(LossKind.SOURCE_CORRUPT).reason
    assert parked(None).reason == NO_INTENT


# --- Schema findings: schemas by which no record could be loaded are named before one is read.

NESTED = {
    "type": "record",
    "name": "Node",
    "fields": [{"name": "next", "type": ["null", "Node"]}],
}
FLIGHT = {"type": "record", "name": "Flight", "fields": [{"name": "id", "type": "long"}]}


def findings_of(format_name, folder, *, topics=None, tables=(), **more):
    feed = ClickHouseFeed.model_validate(
        {**ANY_FEED, "name": "air", "format": format_name, "schemas": str(folder), **more}
    )
    named = None if topics is None else dict.fromkeys(topics, 8)
    columns = tuple(Column(name, kind, "", "") for name, kind in COORDINATES.items())
    facts = {name: TableFacts(TableSchema(name, columns), "x") for name in tables}
    return list(schema_findings(ShardFacts(feed, 0, named, [ReplicaFacts("r", (26, 9, 2), facts)])))


def test_an_avro_schema_that_no_column_can_take_is_named_by_its_file(tmp_path):
    (tmp_path / "1.avsc").write_text(json.dumps(FLIGHT))
    (tmp_path / "2.avsc").write_text(json.dumps(NESTED))
    assert findings_of("avro", tmp_path, topics=["flights"]) == [
        Finding("feeds.air.schemas", "2.avsc: Node is part of itself")
    ]


@pytest.fixture
def messages(tmp_path):
    (tmp_path / "air.proto").write_text(
        'syntax = "proto3"; message flights { int64 id = 1; } message crews { int64 id = 1; }'
    )
    return tmp_path


def test_a_table_without_a_protobuf_message_is_named(messages):
    (finding,) = findings_of("protobuf", messages, topics=["flights", "gates"])
    assert (finding.where, finding.is_mistake) == ("default.gates", True)
    assert "has no message gates, and no file gates.proto" in finding.text


@pytest.mark.parametrize("more", [{}, {"table_from": "header"}])
def test_without_a_message_a_table_that_may_be_another_feeds_is_a_remark(messages, more):
    """Its records may name any table, or a cluster did not list its topics."""
    (finding,) = findings_of("protobuf", messages, tables=["flights", "gates"], **more)
    assert (finding.where, finding.is_mistake) == ("default.gates", False)


def test_tables_with_messages_have_no_finding(messages):
    assert findings_of("protobuf", messages, topics=["flights", "crews"]) == []


# --- Health of feeds: the worst word of their partitions, with the reason.

LOADED, STUCK = feed().partitions
WAITS = Condition(
    kind="loader-waits",
    who="loader 1 of ticks in west aggregate",
    text="no broker answers",
    since_ms=NOW_MS,
    feed="ticks",
    cluster="west aggregate",
)
OLD = BlockView(table="o", begin=1, end=5, records=4, age_seconds=400.0, window_used=0.7)


@pytest.mark.parametrize(
    ("partition", "state", "why"),
    [
        (LOADED, Health.OK, ""),
        (STUCK, Health.PARKED, "parked: a record is too large"),
        (replace(LOADED, frozen="by ann@ops: merge"), Health.PAUSED, "frozen by ann@ops: merge"),
        (replace(LOADED, mode=None), Health.UNKNOWN, "no loader has reported it lately"),
        (replace(LOADED, lag_records=None), Health.UNKNOWN, "its lag is not known"),
        (replace(LOADED, lag_records=0, lag_seconds=99.0), Health.OK, ""),
        (
            replace(LOADED, lag_records=None, lag_seconds=300.0),
            Health.BEHIND,
            "300 s behind: cause not known",
        ),
    ],
)
def test_a_partition_has_a_state_and_its_reason(partition, state, why):
    found = partition_health(partition, ())
    assert (found.state, found.why) == (state, why)


def test_a_partition_that_is_behind_says_what_its_figures_tell():
    late = replace(LOADED, lag_seconds=90.0)
    assert partition_health(late, ()).why == "90 s behind: cause not known"
    replay = partition_health(replace(late, mode="replay"), ())
    assert replay.why.endswith("the loader repeats the blocks of its predecessor")
    blocked = partition_health(replace(late, blocks=(OLD,)), ())
    assert blocked.why.endswith("a block has been on its way for 400 s")


def test_records_may_wait_in_open_objects_but_not_in_sealed_ones():
    opened = replace(LOADED, shard=None, lag_seconds=4000.0, open_objects=2, open_seconds=4000.0)
    assert partition_health(opened, ()).state is Health.OK
    assert partition_health(replace(opened, lag_records=None), ()).state is Health.UNKNOWN
    late = partition_health(replace(opened, blocks=(OLD,)), ())
    assert late.state is Health.BEHIND
    assert late.why == "an object has been sealed for 400 s, and is not complete"


def test_a_condition_makes_the_partitions_wait_that_it_names():
    assert partition_health(LOADED, [WAITS]).why == "loader-waits: no broker answers"
    elsewhere = replace(WAITS, cluster="east aggregate")
    assert partition_health(LOADED, [elsewhere]).state is Health.OK
    other = replace(WAITS, topic="orders", partition=1)
    assert partition_health(LOADED, [other]).state is Health.OK
    assert partition_health(LOADED, [replace(other, partition=0)]).state is Health.WAITS


def test_a_feed_is_as_bad_as_its_worst_partition():
    assert feed_health(feed()).state is Health.PARKED
    assert feed_health(replace(feed(), partitions=(LOADED,))).state is Health.OK


def test_a_cluster_that_is_unknown_makes_its_feed_unknown():
    found = feed_health(
        replace(feed(), unknown_clusters=("west aggregate",), problems=("no answer",))
    )
    assert found.state is Health.UNKNOWN
    assert found.why == "topics of west aggregate are not known; no answer"
    assert feed_health(replace(feed(), partitions=())).state is Health.UNKNOWN


def test_a_feed_of_upsert_tables_alone_is_judged_by_their_newest_ticks():
    rests = UpsertTickView(table="status", tick=7, age_seconds=60.0, frozen=None)

    def judged(*tables: UpsertTickView) -> tuple[Health, str]:
        return feed_health(replace(feed(), partitions=(), upsert_tables=tables))

    assert judged(rests).state is Health.OK
    late = judged(rests, replace(rests, table="late", age_seconds=200.0))
    assert late == (Health.BEHIND, "late: its newest tick is 200 s old")
    frozen = judged(replace(rests, age_seconds=900.0, frozen="by ann: x"))
    assert frozen == (Health.PAUSED, "status: frozen by ann: x")
    assert judged(replace(rests, tick=0, age_seconds=None)).why == "status: it has no tick yet"
    assert judged(replace(rests, tick=None, age_seconds=None)) == (
        Health.UNKNOWN,
        "status: no tick is known",
    )
