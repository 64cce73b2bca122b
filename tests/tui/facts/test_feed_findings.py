"""Findings: conditions under which a feed cannot load each record once are named."""

from dataclasses import replace

import pytest

from aggregator.store.schema_reader import TableFacts
from aggregator.tables.table_schema import INCARNATION, OWN_COLUMNS, Column, TableSchema
from replicator.config.feed_settings import ClickHouseFeed
from tests.replicator.config.any_feed import ANY_FEED
from tui.facts.feed_findings import ReplicaFacts, Replication, ShardFacts, findings

COLUMNS = (Column("name", "String"), *(Column(*each) for each in OWN_COLUMNS.items()))
SCHEMA = TableSchema("flights", COLUMNS, is_replicated=True, deduplication_window=10_000)
TABLE = TableFacts(SCHEMA, "ReplicatedMergeTree")
OUTAGE_SECONDS = 600.0


def feed(**fields) -> ClickHouseFeed:
    shard = {
        "topics": ["flights"],
        "database": "air",
        "replicas": ["clickhouse://one", "clickhouse://two"],
        "quorum": 2,
    }
    return ClickHouseFeed.model_validate(
        {**ANY_FEED, "name": "flights", "shards": [shard], **fields}
    )


def replica(name: str = "one", **fields) -> ReplicaFacts:
    given = {
        "address": name,
        "version": (18, 16, 1),
        "tables": {"flights": TABLE},
        "replication": {"flights": Replication("/tables/flights", name, 2, False)},
    }
    return ReplicaFacts(**{**given, **fields})


def found(*replicas, topics=None, **fields):
    topics = {"flights": 8} if topics is None else topics
    facts = ShardFacts(feed(**fields), 0, topics, replicas or (replica(), replica("two")))
    return list(findings(facts, OUTAGE_SECONDS))


def of_table(**changes):
    """Returns the texts about a table with these changes, on both replicas."""
    table = replace(TABLE, **changes)
    both = [replica(name, tables={"flights": table}) for name in ("one", "two")]
    return [f"{each.where}: {each.text}" for each in found(*both) if each.is_mistake]


def schema(*columns: Column, **changes) -> TableSchema:
    return replace(SCHEMA, columns=(*COLUMNS, *columns), **changes)


def test_sound_tables_of_sound_servers_have_no_findings():
    assert found() == []


def test_an_old_server_and_a_right_that_is_missing_are_named():
    texts = [
        each.text
        for each in found(
            replica(version=(18, 14, 9), refused={"an insert into air.flights": "Cannot"}),
            replica("two"),
        )
    ]
    assert texts == [
        "ClickHouse 18.14.9 is older than 18.16.0",
        "an insert into air.flights is refused: Cannot",
    ]


@pytest.mark.parametrize(
    ("dead_letters", "effect"), [("topic", "are set aside"), ("stop", "stop their partition")]
)
def test_a_topic_without_a_table_is_named_with_the_effect(dead_letters, effect):
    nowhere = [replica(name, tables={}) for name in ("one", "two")]
    texts = [f"{each.where} {each.text}" for each in found(*nowhere, dead_letters=dead_letters)]
    wanted = [f"air.flights is missing on {name}: its records {effect}" for name in ("one", "two")]
    assert texts == wanted


def test_a_table_that_cannot_tell_a_recreated_topic_apart_gets_a_remark_with_the_statement():
    for last, verb in (((), "ADD"), ((Column(INCARNATION, "String"),), "MODIFY")):
        table = replace(TABLE, schema=replace(SCHEMA, columns=(*COLUMNS[:-1], *last)))
        both = [replica(name, tables={"flights": table}) for name in ("one", "two")]
        (remark,) = [each for each in found(*both) if not each.is_mistake]
        assert remark.text.endswith(
            f"ALTER TABLE `air`.`flights` {verb} COLUMN `_incarnation` UInt64"
        )


def test_a_shard_without_topics_gets_a_remark():
    (finding,) = found(topics={})
    assert not finding.is_mistake and "no cluster has a topic" in finding.text


def test_columns_that_differ_between_replicas_are_named():
    other = replace(TABLE, schema=schema(Column("more", "UInt8")))
    (finding,) = found(replica(), replica("two", tables={"flights": other}))
    assert finding.text == "has other columns on two than on one"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"engine": "Log", "schema": replace(SCHEMA, is_replicated=False)}, "has the engine Log"),
        (
            {"engine": "MergeTree", "schema": replace(SCHEMA, is_replicated=False)},
            "does not copy to the shard's other replicas",
        ),
        (
            {"schema": schema(Column("id", "UUID", "DEFAULT", "generateUUIDv4()"))},
            "air.flights.id: its DEFAULT has another value each time a block is inserted "
            "(generateUUIDv4)",
        ),
        (
            {"schema": schema(Column("state", "AggregateFunction(sum, UInt8)"))},
            "air.flights.state: columns of type AggregateFunction(sum, UInt8) cannot be loaded",
        ),
        (
            {"schema": replace(SCHEMA, columns=(*COLUMNS[:-2], COLUMNS[-1]))},
            "air.flights: lacks coordinate columns: _row",
        ),
        (
            {"schema": replace(SCHEMA, columns=(*COLUMNS[:-2], Column("_row", "UInt8")))},
            "air.flights._row: has the type UInt8; this coordinate is a UInt32",
        ),
        (
            {"schema": replace(SCHEMA, columns=COLUMNS[:1], deduplication_window=0)},
            "has nothing by which a repeated block is recognized: add _cluster String, _topic",
        ),
        (
            {"schema": replace(SCHEMA, columns=COLUMNS[:1]), "partition_key": "day"},
            "has partitions and no coordinate columns",
        ),
        (
            {"schema": replace(SCHEMA, columns=COLUMNS[:1], deduplication_window=100)},
            "recognizes 100 blocks, 12.5 s of 8 partitions with a block every 1 s; set "
            "replicated_deduplication_window = 4800",
        ),
        (
            {"schema": replace(SCHEMA, columns=COLUMNS[:1]), "window_seconds": 60},
            "forgets blocks after 60 s",
        ),
    ],
)
def test_a_table_that_cannot_be_loaded_exactly_once_is_a_mistake(changes, text):
    (only,) = of_table(**changes)
    assert text in only


def test_with_coordinates_a_short_window_is_only_a_remark():
    short = replace(TABLE, schema=schema(deduplication_window=100), window_seconds=60)
    remarks = found(*(replica(name, tables={"flights": short}) for name in ("one", "two")))
    assert [each.is_mistake for each in remarks] == [False, False]
    assert "older blocks are recognized by their coordinates" in remarks[0].text


@pytest.mark.parametrize("kind", ["MATERIALIZED", "ALIAS"])
def test_columns_that_no_insert_names_may_have_any_type(kind):
    column = Column("state", "AggregateFunction(sum, UInt8)", kind, "name")
    assert of_table(schema=schema(column)) == []


def test_a_coordinate_may_be_of_low_cardinality():
    columns = (Column("_cluster", "LowCardinality(String)"), *COLUMNS[2:])
    assert of_table(schema=replace(SCHEMA, columns=columns)) == []


@pytest.mark.parametrize(
    ("second", "text"),
    [
        (Replication("/other", "two", 2, False), "is another table on two (ZooKeeper path /other)"),
        (Replication("/tables/flights", "one", 2, False), "two and one are one replica"),
        (Replication("/tables/flights", "two", 2, True), "is read-only on two"),
        (Replication("/tables/flights", "two", 1, False), "has 1 active replicas as two sees it"),
    ],
)
def test_replicas_that_do_not_hold_the_same_table_are_named(second, text):
    (finding,) = found(replica(), replica("two", replication={"flights": second}))
    assert finding.is_mistake and text in finding.text


def test_without_a_quorum_there_is_a_remark():
    shards = [{**feed().shards[0].model_dump(), "quorum": 0, "replicas": feed().shards[0].replicas}]
    (finding,) = found(shards=shards)
    assert not finding.is_mistake and "quorum is 0" in finding.text


def test_one_server_without_replication_may_load_by_coordinates_and_has_no_quorum():
    single = {"topics": ["flights"], "database": "air", "replicas": ["clickhouse://one"]}
    plain = TableFacts(replace(SCHEMA, is_replicated=False, deduplication_window=0), "MergeTree")
    alone = replica(tables={"flights": plain}, replication={})
    assert found(alone, shards=[single]) == []
    (finding,) = found(alone, shards=[{**single, "quorum": 1}])
    assert "which knows no quorum" in finding.text


@pytest.mark.parametrize("engine", ["ReplicatedSummingMergeTree", "Memory", "View"])
def test_an_engine_that_takes_no_block_is_named_on_whichever_replica_has_it(engine):
    other = replica("two", tables={"flights": replace(TABLE, engine=engine)})
    texts = [each.text for each in found(replica(), other) if each.is_mistake]
    assert [text for text in texts if f"has the engine {engine}" in text]


def test_views_are_checked_only_as_tables_of_topics():
    tables = {"flights": TABLE, "seen": replace(TABLE, engine="View")}
    both = [replica(name, tables=tables) for name in ("one", "two")]
    assert found(*both, table_from="header") == []


def test_where_records_name_tables_those_with_coordinates_are_checked():
    other = TableFacts(replace(SCHEMA, columns=COLUMNS[:1]), "Log")
    both = [replica(name, tables={"flights": TABLE, "other": other}) for name in ("one", "two")]
    (finding,) = found(*both, table_from="header")
    assert not finding.is_mistake
    assert finding.text == "tables without coordinate columns were not checked: other"


def test_where_a_cluster_is_away_no_table_is_missing_for_its_topics():
    facts = ShardFacts(feed(), 0, None, (replica(), replica("two", tables={})))
    assert [each.text for each in findings(facts, OUTAGE_SECONDS)] == [
        "is missing on two: its rows are on the others only; create it"
    ]
