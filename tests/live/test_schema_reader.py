"""Schemas are read as ClickHouse 18.16 describes its tables."""

from __future__ import annotations

import pytest

from aggregator.formats import json_documents
from aggregator.store.schema_reader import read_schemas, read_tables
from aggregator.store.server_features import read_features
from aggregator.store.stored_offsets import stored_in_shard
from aggregator.tables.column_default import is_left_to_server
from aggregator.tables.table_schema import Column, changed_tables
from balancer.topic_partition import TopicPartition
from tests.aggregator.formats.slices import slice_of
from tests.live.stored import COLUMNS, store_of

pytestmark = pytest.mark.stores


@pytest.fixture
def client(shared_clickhouse, clickhouse_database):
    with shared_clickhouse.client(clickhouse_database) as client:
        yield client


def test_columns_are_read_in_their_order_with_types_and_defaults(client, clickhouse_database):
    client.execute(
        "CREATE TABLE all_kinds (z UInt64, a Nullable(String), t DateTime DEFAULT now(), "
        "d Decimal(18, 2), e Enum8('x' = 1, 'it\\'s' = 2), m UInt64 MATERIALIZED z + 1, "
        "l UInt64 ALIAS z, ar Array(Array(UInt8)), `odd ``name` FixedString(3) DEFAULT 'abc') "
        "ENGINE = MergeTree ORDER BY z"
    )
    schema = read_schemas(client, clickhouse_database)["all_kinds"]
    assert schema.columns == (
        Column("z", "UInt64"),
        Column("a", "Nullable(String)"),
        Column("t", "DateTime", "DEFAULT", "now()"),
        Column("d", "Decimal(18, 2)"),
        Column("e", "Enum8('x' = 1, 'it\\'s' = 2)"),
        Column("ar", "Array(Array(UInt8))"),
        Column("odd `name", "FixedString(3)", "DEFAULT", "CAST('abc', 'FixedString(3)')"),
        # 18.16 lists these last.
        Column("m", "UInt64", "MATERIALIZED", "z + 1"),
        Column("l", "UInt64", "ALIAS", "z"),
    )
    assert [column.name for column in schema.inserted] == [
        *("z", "a", "t", "d", "e", "ar", "odd `name")
    ]
    assert not schema.has_coordinates
    assert (schema.is_replicated, schema.deduplication_window) == (False, 0)
    assert schema.timezone == client.execute("SELECT timezone()")[0][0]


def test_a_replicated_table_has_its_own_window_or_that_of_the_server(replicated_database):
    replicated_database.create_table("by_default", COLUMNS, order_by="_offset")
    replicated_database.create_table(
        "own", COLUMNS, order_by="_offset", partition_by="day",
        settings={
            "replicated_deduplication_window": 777,
            "replicated_deduplication_window_seconds": 4321,
        },
    )  # fmt: skip
    with replicated_database.client() as client:
        tables = read_tables(client, replicated_database.name)
    by_default, own = tables["by_default"], tables["own"]
    assert (own.schema.deduplication_window, own.window_seconds) == (777, 4321)
    assert (by_default.schema.deduplication_window, by_default.window_seconds) == (100, 604_800)
    assert own.schema.is_replicated and own.schema.has_coordinates
    assert (by_default.partition_key, own.partition_key) == ("", "day")
    assert own.engine == "ReplicatedMergeTree"
    assert own.schema.columns == by_default.schema.columns


def test_a_new_column_makes_another_schema(client, clickhouse_database):
    client.execute(f"CREATE TABLE flights ({COLUMNS}) ENGINE = MergeTree ORDER BY _offset")
    before = read_schemas(client, clickhouse_database)["flights"]
    again = read_schemas(client, clickhouse_database)["flights"]
    client.execute("ALTER TABLE flights ADD COLUMN tail String AFTER day")
    after = read_schemas(client, clickhouse_database)["flights"]
    assert before.hash == again.hash != after.hash
    assert [column.name for column in after.columns][:3] == ["day", "tail", "text"]


def test_views_are_no_tables_to_load(client, clickhouse_database):
    client.execute("CREATE TABLE flights (a UInt64) ENGINE = MergeTree ORDER BY a")
    client.execute("CREATE VIEW seen AS SELECT a FROM flights")
    client.execute(
        "CREATE MATERIALIZED VIEW kept ENGINE = MergeTree ORDER BY a AS SELECT a FROM flights"
    )
    assert list(read_schemas(client, clickhouse_database)) == ["flights"]


def test_a_table_with_bytes_that_are_no_utf_8_stops_no_other_one(client, clickhouse_database):
    """No table of a feed could be loaded because of a literal of another one."""
    plain = "ENGINE = MergeTree ORDER BY a"
    client.execute(f"CREATE TABLE flights (a UInt64) {plain}")
    client.execute(
        "CREATE TABLE odd (a UInt64, b String DEFAULT '\\xff', e Enum8('\\xfe' = 1), "
        f"`c\\xfd` UInt8) {plain}"
    )
    tables = read_tables(client, clickhouse_database)
    assert list(tables) == ["flights", "odd"]
    schema = tables["odd"].schema
    assert [each.name for each in schema.columns] == ["a", "b", "e"]
    assert schema.hash and is_left_to_server(schema.columns[1])
    assert [each.name for each in schema.unloaded] == ["e"]
    assert not tables["odd"].kind.refusal
    assert changed_tables(*[{name: it.schema for name, it in tables.items()}] * 2) == 0
    decoded = json_documents.decode([slice_of([b'{"a": 1, "b": "x"}', b'{"a": 2}'])], schema)
    assert decoded.dead == () and decoded.columns["b"].to_pylist() == [b"x", None]


def test_tables_of_others_leave_what_is_stored_of_a_partition_known(
    client, clickhouse_database, shared_clickhouse, tmp_path
):
    """A table with `_incarnation` as a text, or NULL as an offset, ended the driver."""
    for name, offset, log in [
        ("flights", "UInt64", "UInt64"),
        ("named", "UInt64", "String"),
        ("optional", "Nullable(UInt64)", "Nullable(UInt64)"),
        ("texts", "String", "UInt64"),
    ]:
        client.execute(
            f"CREATE TABLE {name} (_cluster String, _topic String, _partition UInt32, "
            f"_offset {offset}, _row UInt32, _incarnation {log}) ENGINE = MergeTree ORDER BY _row"
        )
        client.execute(
            f"INSERT INTO {name} SELECT 'c', 't', 0, {'NULL' if 'N' in offset else '7'}, 0, "
            f"{'NULL' if 'N' in log else '0'}"
        )
    address = shared_clickhouse.address().removesuffix("/default")
    store = store_of([address], clickhouse_database, tmp_path)
    place = TopicPartition("t", 0)
    try:
        found = stored_in_shard(store, "c", [place], is_by_topic=False)[place]
    finally:
        store.close()
    assert (found.next_offset, found.is_passing) == (8, False)
    assert found.tables == {"flights": {0: 8}, "named": {0: 8}}
    assert found.doubt == "table texts has _offset as String"


def test_the_features_of_a_server_are_found_by_asking(client):
    features = read_features(client)
    assert features.version == (18, 16, 1)
    assert not features.has_token
    assert {"insert_quorum", "insert_deduplicate"} <= features.settings
    assert "async_insert" not in features.settings
    assert "parts" in features.system_tables
