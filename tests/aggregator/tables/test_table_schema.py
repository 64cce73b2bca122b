"""Table schemas: tables whose columns differ from those read before."""

from __future__ import annotations

from aggregator.tables.table_schema import Column, TableSchema, changed_tables

ID, NAME = Column("id", "UInt64", "", ""), Column("name", "String", "", "")


def schemas(**columns):
    return {name: TableSchema(name, found) for name, found in columns.items()}


def test_tables_with_other_columns_have_changed_and_new_or_dropped_ones_have_not():
    before = schemas(hits=(ID,), clicks=(ID,), old=(ID,))
    after = schemas(hits=(ID, NAME), clicks=(ID,), new=(ID,))
    assert changed_tables(before, after) == 1
    assert changed_tables({}, after) == 0


def test_a_block_by_other_rules_is_no_block_of_the_intent():
    hits = TableSchema("hits", (ID,))
    assert hits.block_hash not in (hits.hash, TableSchema("hits", (ID, NAME)).block_hash)


def test_a_window_that_was_altered_is_no_change_of_columns():
    before = {"hits": TableSchema("hits", (ID,), deduplication_window=100)}
    after = {"hits": TableSchema("hits", (ID,), deduplication_window=1000)}
    assert changed_tables(before, after) == 0


def test_an_ephemeral_column_takes_values_and_is_never_asked_for():
    raw = Column("raw", "String", "EPHEMERAL", "'x'")
    hits = TableSchema("hits", (ID, raw, Column("_offset", "UInt64", "EPHEMERAL")))
    assert raw in hits.inserted
    assert hits.stored == (ID,)
    assert hits.coordinates == ()
