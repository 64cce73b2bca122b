"""Shard tables: columns that stay at their default are named, for as long as they do."""

from types import SimpleNamespace
from typing import ClassVar

import pytest

from aggregator.loader.shard_tables import ShardTables
from aggregator.store.insert_errors import ErrorClass, InsertProblem
from aggregator.store.shard_store import NotStored
from aggregator.tables.table_schema import Column, TableSchema
from replicator.config.feed_settings import ClickHouseFeed

FEED = ClickHouseFeed.model_validate(
    {
        "name": "flights",
        "region": "east",
        "clusters": ["east aggregate"],
        "shards": [{"topics": [".*"], "database": "air", "replicas": ["clickhouse://ch-1:9000"]}],
    }
)
ID, PAIR = Column("id", "UInt64"), Column("pair", "Tuple(a UInt8, b JSON)")
COMPUTED = Column("sum", "Tuple(a UInt8, b JSON)", "MATERIALIZED", "tuple(id, '')")


class Store:
    """Store of a shard whose tables change."""

    tables: ClassVar[dict] = {}

    def __init__(self, *_, **__) -> None:
        pass

    def schemas(self, *, is_thorough):
        return {name: TableSchema(name, columns) for name, columns in self.tables.items()}

    trials: ClassVar[list] = []
    problem: ClassVar[InsertProblem | None] = None

    def refusal(self, table):
        return ""

    def insert_nothing(self, schema):
        self.trials.append(schema.table)
        if self.problem:
            raise NotStored(self.problem)


@pytest.fixture
def tables():
    appliance = SimpleNamespace(
        aggregator=SimpleNamespace(refresh_seconds=60, skew_seconds=1, inserts_at_once=2)
    )
    orders = SimpleNamespace(refreshed_at_ms=lambda _: None)
    assignment = SimpleNamespace(feed=FEED, orders=orders, log_fields="feed=flights")
    return ShardTables(appliance, assignment, make_store=Store)


@pytest.mark.parametrize("takes", [True, False])
async def test_a_table_is_tried_by_an_insert_without_rows_and_its_answer_is_shared(tables, takes):
    refused = InsertProblem(ErrorClass.STOP, 497, "no right", may_be_stored=False)
    Store.tables, Store.trials = {"a": (ID,)}, []
    Store.problem = None if takes else refused
    for _ in range(2):
        assert await tables.takes_blocks("flights", "a", may_be_missing=False) is takes
    assert Store.trials == ["a"]


@pytest.mark.parametrize("may_be_missing", [True, False])
async def test_a_table_that_is_gone_takes_what_becomes_dead_letters_only(tables, may_be_missing):
    Store.tables, Store.trials = {}, []
    assert await tables.takes_blocks("flights", "a", may_be_missing=may_be_missing) is (
        may_be_missing
    )
    assert Store.trials == []


async def test_columns_that_are_not_loaded_are_named_from_the_first_look_on(tables, caplog):
    Store.tables = {"a": (ID, PAIR), "b": (ID, COMPUTED), "c": (PAIR,)}
    for name in ("a", "b", "c", "a"):
        await tables.schema("flights", name)
    text = "columns of {} are of types that cannot be loaded: pair Tuple(a UInt8, b JSON)"
    text += " (for its element b JSON)"
    assert tables.unloaded() == {"flights": f"{text.format('a')}; {text.format('c')}"}
    told = [each for each in caplog.messages if "event=columns-not-loaded" in each]
    assert [each.partition("table=")[2][0] for each in told] == ["a", "c"]


async def test_a_column_that_an_alter_adds_is_named_and_one_that_it_drops_no_more(tables, caplog):
    Store.tables = {"a": (ID,)}
    await tables.schema("flights", "a")
    assert tables.unloaded() == {}
    Store.tables = {"a": (ID, PAIR)}
    await tables.schema("flights", "a", is_fresh=True)
    assert list(tables.unloaded()) == ["flights"]
    assert caplog.text.count("event=columns-not-loaded feed=flights topic=flights table=a") == 1
    Store.tables = {"a": (ID,)}
    await tables.schema("flights", "a", is_fresh=True)
    assert tables.unloaded() == {}
