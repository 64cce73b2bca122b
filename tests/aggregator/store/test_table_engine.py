"""Only tables that keep each row as it was inserted take blocks; others are named with the mend."""

from __future__ import annotations

import pytest

from aggregator.store.table_engine import TableEngine, columns_of

FAMILIES = (
    "Summing", "Replacing", "Collapsing", "VersionedCollapsing", "Aggregating", "Graphite",
    "Coalescing",
)  # fmt: skip
OTHERS = (
    "Distributed", "Buffer", "Null", "Memory", "Log", "TinyLog", "StripeLog", "View",
    "MaterializedView", "Merge", "Kafka", "File", "Set", "Join", "NobodyKnows",
)  # fmt: skip
COLUMNS = "`day` Date, `_cluster` String, `_offset` UInt64"


def with_ttl(ttl: str) -> TableEngine:
    clauses = (
        f"MergeTree PARTITION BY day ORDER BY _offset TTL {ttl} SETTINGS index_granularity = 8"
    )
    return TableEngine("MergeTree", clauses)


@pytest.mark.parametrize("engine", ["MergeTree", "ReplicatedMergeTree", "SharedMergeTree"])
def test_engines_whose_merges_keep_every_row_are_taken(engine):
    assert not TableEngine(engine).refusal
    assert not list(TableEngine(engine, f"{engine}('/tables/TTL x', 'r') ORDER BY a").remarks())


@pytest.mark.parametrize("beginning", ["", "Replicated", "Shared"])
@pytest.mark.parametrize("family", FAMILIES)
def test_engines_whose_merges_take_rows_away_are_refused_by_name(beginning, family):
    refusal = TableEngine(f"{beginning}{family}MergeTree").refusal
    assert f"{beginning}{family}MergeTree" in refusal
    assert f"load a {beginning}MergeTree," in refusal


@pytest.mark.parametrize("engine", OTHERS)
def test_engines_without_rows_of_their_own_are_refused_by_name(engine):
    assert TableEngine(engine).refusal.startswith(f"has the engine {engine}, which ")


def test_a_ttl_that_groups_rows_is_refused():
    assert "GROUP BY" in with_ttl("day + INTERVAL 1 MONTH GROUP BY id SET x = sum(x)").refusal


@pytest.mark.parametrize("ttl", ["day + toIntervalMonth(1)", "day + f(1, 2) DELETE WHERE id = 1"])
def test_a_ttl_that_deletes_rows_is_remarked(ttl):
    engine = with_ttl(ttl)
    (remark,) = engine.remarks()
    assert not engine.refusal and "TTL that deletes rows" in remark


@pytest.mark.parametrize("ttl", ["day + f(1, 2) TO DISK 'cold'", "day RECOMPRESS CODEC(ZSTD(9))"])
def test_a_ttl_that_only_moves_rows_is_none(ttl):
    assert not with_ttl(ttl).refusal and not list(with_ttl(ttl).remarks())


def test_words_in_texts_are_no_clauses():
    clauses = "MergeTree ORDER BY (a, b = ' TTL x GROUP BY ') SETTINGS storage_policy = 'TTL'"
    engine = TableEngine("MergeTree", clauses, f"{COLUMNS}, `a` String DEFAULT '_row TTL'")
    assert not engine.refusal and not list(engine.remarks())


def test_a_ttl_of_a_column_that_identifies_rows_is_refused():
    create = (
        f"CREATE TABLE air.flights ({COLUMNS} CODEC(Delta(8), LZ4) TTL day + toIntervalDay(1), "
        "`note` String TTL day + toIntervalDay(1)) ENGINE = MergeTree ORDER BY day"
    )
    columns = columns_of(create)
    assert "_offset" in TableEngine("MergeTree", "", columns).refusal
    other_log = columns.replace("_offset", "_incarnation")
    assert "_incarnation" in TableEngine("MergeTree", "", other_log).refusal
    harmless = columns.replace("_offset", "other")
    assert not TableEngine("MergeTree", "", harmless).refusal


def test_materialised_views_behind_a_table_are_remarked():
    (remark,) = TableEngine("ReplicatedMergeTree", views=("per_day", "per_hour")).remarks()
    assert remark.startswith("feeds per_day, per_hour:")
