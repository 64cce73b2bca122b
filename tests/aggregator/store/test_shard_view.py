"""Shard views: which replica is asked, and what is known of its tables."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aggregator.store.replica_choice import ReplicaChoice
from aggregator.store.schema_reader import TableFacts
from aggregator.store.shard_view import ShardView
from aggregator.tables.table_schema import Column, TableSchema

# -- Tables of a shard are told by all its replicas: none is missing by one server's word.

OLD = TableFacts(
    TableSchema("flights", (Column("a", "UInt8"),), is_replicated=True),
    "ReplicatedMergeTree",
    path="/tables/flights",
)
NEW = replace(
    OLD,
    schema=replace(OLD.schema, columns=(*OLD.schema.columns, Column("b", "UInt8"))),
    columns_version=1,
)


def view(*tables: TableFacts | str | None) -> ShardView:
    """Returns a view of replicas with this table; "" for one without, None for a silent one."""
    seen = [
        None if each is None else {"flights": each} if isinstance(each, TableFacts) else {}
        for each in tables
    ]
    return ShardView([f"ch-{at}" for at in range(len(tables))], seen)


@pytest.mark.parametrize("others", [("", OLD), (None, OLD), ("", OLD, None)])
def test_a_table_that_any_replica_has_is_there_and_is_loaded_where_it_is(others):
    seen = view(*others)
    assert seen.tables["flights"] is OLD
    assert seen.suited("flights") == [1]
    assert not seen.refusal("flights")


def test_the_columns_of_the_replica_that_altered_most_count():
    seen = view(OLD, NEW, OLD)
    assert seen.tables["flights"] is NEW
    assert seen.suited("flights") == [1]
    assert not seen.refusal("flights")


def test_a_table_that_a_silent_replica_may_have_is_not_missing_yet():
    assert "may be on ch-1" in view("", None).refusal("flights")
    assert not view("", "").refusal("flights")
    assert view("", "").suited("flights") == [0, 1]


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (replace(OLD, engine="ReplicatedSummingMergeTree"), "ReplicatedSummingMergeTree"),
        (replace(OLD, engine="Memory"), "has the engine Memory"),
        (replace(OLD, engine="MergeTree", path=""), "has the engine MergeTree on ch-1, and"),
        (replace(OLD, path="/other"), "is another table on ch-1 (/other)"),
    ],
)
def test_a_replica_with_another_table_of_that_name_has_it_refused(other, text):
    assert text in view(OLD, other).refusal("flights")


def test_columns_of_tables_that_no_alter_brings_together_are_refused():
    one, other = (replace(each, engine="MergeTree", path="") for each in (OLD, NEW))
    assert "has other columns on ch-1 than on ch-0" in view(one, other).refusal("flights")


def test_nothing_is_known_before_the_first_look():
    assert not ShardView().tables and not ShardView().refusal("flights")


# -- The first replica that works is used, and comes first again once it was away long enough.


def test_a_replica_that_failed_is_used_again_after_a_while():
    choice = ReplicaChoice(3, away_seconds=10.0)
    assert choice.best(0.0) == 0
    choice.failed(0, 0.0)
    assert choice.best(5.0) == 1
    assert choice.best(10.0) == 0


def test_a_replica_that_works_is_away_no_more():
    choice = ReplicaChoice(2, away_seconds=10.0)
    choice.failed(0, 0.0)
    choice.worked(0)
    assert choice.best(1.0) == 0


def test_when_all_are_away_the_one_that_failed_first_is_tried():
    choice = ReplicaChoice(3, away_seconds=10.0)
    for at, now in ((1, 0.0), (0, 1.0), (2, 2.0)):
        choice.failed(at, now)
    assert choice.best(3.0) == 1
