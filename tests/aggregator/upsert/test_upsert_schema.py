"""Tests of the store's tables of upsert tables."""

from __future__ import annotations

import pytest

from aggregator.tables.table_schema import Column
from aggregator.upsert.upsert_schema import (
    FoundTable,
    ServerTraits,
    differences,
    is_current,
    settled_view,
    store_tables,
    view_differences,
)
from replicator.config.upsert_table import UpsertTable

ACCOUNTS = UpsertTable(
    name="accounts",
    semantic="upsert",
    columns={"id": "UInt64", "balance": "Decimal(18, 2)", "at": "DateTime"},
    primary_key=("id",),
    newest_column="at",
)
ROWS, UPDATES, TICKS = store_tables(ACCOUNTS)
OLD = ServerTraits("r1", frozenset(["replicated_deduplication_window"]))
NEW = ServerTraits(
    "", frozenset(["min_bytes_for_wide_part", "non_replicated_deduplication_window"])
)


def found(table=ROWS, **changes) -> FoundTable:
    """Returns a table as it has to be, with changes."""
    columns = tuple(Column(name, kind) for name, kind in table.columns.items())
    good = FoundTable(
        table.engine(OLD), columns, ", ".join(table.sorting_key), table.partition_key, "", 10_000
    )
    return good._replace(**changes)


def wrong(table: FoundTable, wanted=ROWS, traits=OLD) -> list[str]:
    return list(differences(wanted, table, wanted.columns, traits))


def test_replicas_share_a_table_and_keep_the_blocks_of_a_long_outage():
    statement = ROWS.create("shop", OLD)
    assert statement.startswith("CREATE TABLE IF NOT EXISTS `shop`.`accounts__rows` (`id` UInt64, ")
    assert "ReplicatedMergeTree('/sluice/tables/{shard}/shop/accounts__rows', 'r1')" in (statement)
    assert "PARTITION BY toYYYYMMDD(_time, 'UTC') ORDER BY (`id`, `_row_id`)" in statement
    assert statement.endswith("SETTINGS replicated_deduplication_window = 10000")


def test_settling_writes_one_column_on_servers_that_would_write_whole_parts():
    statement = ROWS.create("shop", NEW)
    assert "ENGINE = MergeTree() " in statement
    assert "min_bytes_for_wide_part = 0" in statement
    assert "non_replicated_deduplication_window = 10000" in statement


def test_a_row_is_open_until_it_is_settled():
    assert "`_until` UInt32 DEFAULT 4294967295" in ROWS.create("shop", OLD)


def test_repeated_ends_collapse_and_are_read_by_tick():
    assert UPDATES.engine(OLD) == "ReplicatedReplacingMergeTree"
    assert "ORDER BY (`tick`, `row_id`)" in UPDATES.create("shop", OLD)


def test_names_that_mean_something_in_sql_are_quoted():
    table = ACCOUNTS.model_copy(update={"name": "order"})
    assert "`select`.`order__rows`" in store_tables(table)[0].create("select", OLD)
    assert "FROM `select`.`order__rows`" in settled_view("select", table, "r1")


def test_the_view_of_a_server_knows_only_settle_points_at_which_it_was_complete():
    view = settled_view("shop", ACCOUNTS, "r1")
    assert view.startswith("SELECT `id`, `balance`, `at` FROM `shop`.`accounts__rows`")
    assert view.count("what = 'settled' AND generation = 1 AND has(servers, 'r1')") == 3


def test_days_by_the_time_zone_of_a_server_are_a_difference():
    [text] = wrong(found(partition_key="toYYYYMMDD(_time)"))
    assert "is partitioned by (toYYYYMMDD(_time)), and (toYYYYMMDD(_time, 'UTC')) is" in text


def test_tables_as_they_have_to_be_have_no_difference():
    for table in (ROWS, UPDATES, TICKS):
        assert wrong(found(table), table) == []


def test_all_differences_of_a_table_are_named_at_once():
    columns = (
        Column("id", "UInt32"),
        Column("balance", "Decimal(18, 2)", "MATERIALIZED", "0"),
        Column("colour", "String"),
    )
    texts = wrong(found(columns=columns, sorting_key="balance", partition_key="", window=100))
    assert any("has id as UInt32, and the settings say UInt64" in text for text in texts)
    assert any("has balance as MATERIALIZED" in text for text in texts)
    assert any("has a column colour that the settings lack" in text for text in texts)
    assert any("lacks the column at: ALTER TABLE ... ADD COLUMN at DateTime" in t for t in texts)
    assert any("ADD COLUMN _until UInt32 DEFAULT 4294967295" in text for text in texts)
    assert any("is sorted by (balance), and (id, _row_id) is needed" in text for text in texts)
    assert any("is partitioned by ()" in text for text in texts)
    assert any("knows 100 blocks" in text for text in texts)


def test_keys_are_compared_whatever_the_server_does_with_spaces_and_brackets():
    assert (
        wrong(found(sorting_key="(`id`,_row_id)", partition_key="toYYYYMMDD( _time,'UTC' )")) == []
    )


@pytest.mark.parametrize("engine", ["MergeTree", "ReplicatedReplacingMergeTree", "Log"])
def test_another_engine_is_the_only_difference_that_matters(engine):
    [text] = wrong(found(engine=engine, columns=()))
    assert f"has the engine {engine}, and ReplicatedMergeTree is needed" in text


def test_a_server_by_itself_needs_no_memory_of_blocks_in_zookeeper():
    assert wrong(found(engine="MergeTree", window=0), traits=NEW) == []


def test_a_table_in_the_place_of_the_view_is_a_difference():
    [text] = view_differences(FoundTable("MergeTree", ()))
    assert "is a MergeTree where the view of the upsert table has to be" in text
    assert list(view_differences(FoundTable("View", ()))) == []


def test_a_view_of_other_columns_or_another_server_is_made_again():
    columns = tuple(Column(name, kind) for name, kind in ACCOUNTS.columns.items())
    view = FoundTable("View", columns, statement=settled_view("shop", ACCOUNTS, "r1"))
    assert is_current(view, ACCOUNTS, ACCOUNTS.columns, "r1")
    assert not is_current(view, ACCOUNTS, ACCOUNTS.columns, "r2")
    shorter = ACCOUNTS.model_copy(update={"retention_hours": 24.0})
    assert not is_current(view, shorter, ACCOUNTS.columns, "r1")
    older = view.statement[: view.statement.rindex(" AND _time")]
    assert not is_current(view._replace(statement=older), ACCOUNTS, ACCOUNTS.columns, "r1")
    assert not is_current(view._replace(columns=columns[:2]), ACCOUNTS, ACCOUNTS.columns, "r1")
