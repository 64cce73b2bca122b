"""Answers of replicas by which a partition goes on in a log that may be another one."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from aggregator.loader.known_records import CannotTellApart, TableRecords, ToldRecords, adding
from aggregator.objects.forgotten import Forgotten, Log
from aggregator.objects.told_objects import ToldObjects
from aggregator.tables.table_schema import COORDINATES, INCARNATION, Column, TableSchema
from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import ClickHouseFeed
from tests.aggregator.restore.told import told
from tests.replicator.config.any_feed import ANY_FEED

PLACE = TopicPartition("flights", 3)
FIVE = tuple(Column(*each) for each in COORDINATES.items())
ALL = (*FIVE, Column(INCARNATION, "UInt64"))


class Replica:
    """Replica whose tables have these columns; `offsets` are those of rows of the partition."""

    def __init__(self, name, *, offsets=(), is_up=True, **tables) -> None:
        self.name, self._offsets, self._is_up = name, offsets, is_up
        self.schemas = {table: TableSchema(table, columns) for table, columns in tables.items()}

    def __str__(self) -> str:
        return self.name

    @contextmanager
    def connected(self):
        if not self._is_up:
            raise OSError("refused")
        yield SimpleNamespace(client=self)

    def execute(self, query, where):
        assert (where["topic"], where["partition"]) == PLACE
        return [(1,)] if any(each >= where["offset"] for each in self._offsets) else []


@pytest.fixture
def known():
    """`known(replica, ...)`: what a feed's shard of these replicas knows."""

    def make(*replicas: Replica, **fields: object) -> TableRecords:
        shard = {"topics": ["flights"], "database": "air", "replicas": ["clickhouse://one"]}
        feed = ClickHouseFeed.model_validate(
            {**ANY_FEED, "name": "flights", "shards": [shard], **fields}
        )
        store = SimpleNamespace(replicas=replicas, database="air")
        return TableRecords(
            feed,
            ClusterName("east aggregate"),
            1.0,
            make_store=lambda *_, **__: store,
            read=lambda client, _: client.schemas,
        )

    return make


def test_a_table_without_the_column_is_refused_with_the_statement_and_one_replica_to_run_it_on(
    known,
):
    with pytest.raises(CannotTellApart, match=r"run ALTER TABLE `air`\.`flights` .* on one, and"):
        known(Replica("one", flights=FIVE), Replica("two", flights=FIVE)).check_names(PLACE)
    known(Replica("one", flights=ALL), Replica("two", flights=ALL)).check_names(PLACE)


def test_a_replica_that_lags_behind_the_others_columns_is_named(known):
    with pytest.raises(CannotTellApart, match="on two"):
        known(Replica("one", flights=ALL), Replica("two", flights=FIVE)).check_names(PLACE)


def test_where_records_name_their_tables_each_of_them_has_to_tell_logs_apart(known):
    one = Replica("one", flights=ALL, hits=FIVE, others=(Column("id", "UInt8"),))
    with pytest.raises(CannotTellApart, match="`hits`"):
        known(one, table_from="header").check_names(PLACE)
    known(one).check_names(PLACE)


def test_columns_are_told_by_any_replica_and_rows_only_by_all(known):
    up, down = Replica("one", flights=ALL), Replica("two", is_up=False)
    known(up, down).check_names(PLACE)
    with pytest.raises(CannotTellApart, match="no replica"):
        known(down, down).check_names(PLACE)
    assert not known(up, up).has_any(PLACE, 0)
    with pytest.raises(CannotTellApart, match="two"):
        known(up, down).has_any(PLACE, 0)


def test_rows_from_the_offset_on_are_found_on_whichever_replica_has_them(known):
    found = known(Replica("one", flights=FIVE), Replica("two", flights=FIVE, offsets=(4, 9)))
    assert found.has_any(PLACE, 9)
    assert not found.has_any(PLACE, 10)


def test_a_column_of_another_type_is_changed():
    other = TableSchema("flights", (*FIVE, Column(INCARNATION, "String")))
    assert adding("air", other) == "ALTER TABLE `air`.`flights` MODIFY COLUMN `_incarnation` UInt64"


def test_a_log_whose_objects_are_forgotten_is_known_to_have_had_records():
    log = Log("east aggregate", *PLACE, 5)
    forgotten = Forgotten(log).with_objects([told(0, 40, incarnation=5)], 1)
    known = ToldObjects(forgotten={log: forgotten})
    appliance, feed = SimpleNamespace(cluster=lambda _: None), SimpleNamespace(name="lake")
    records = ToldRecords(
        appliance, feed, ClusterName("east aggregate"), 1.0, lambda *_, **__: known
    )
    assert records.has_any(PLACE, 39, 5)
    assert not records.has_any(PLACE, 40, 5)
    assert records.has_any(PLACE, 40, 4)
    assert not records.has_any(TopicPartition("flights", 2), 0, 0)
