"""Facts about equal blocks of ClickHouse, which it recognizes, that the aggregator builds on."""

from __future__ import annotations

import pytest

from deploy.lab.wait import until
from tests.live import clickhouse_codes as codes

pytestmark = pytest.mark.stores

BLOCK = [(1, "a"), (2, "b")]
COUNT = "SELECT count() FROM t"


@pytest.fixture
def database(replicated_database):
    """A database with a table `t` on the shared replicas."""
    replicated_database.create_table("t", "a UInt64, s String", order_by="a")
    return replicated_database


def rows(database) -> list[int]:
    """Returns the number of rows on each replica, once it has caught up."""
    return database.on_each(COUNT, "t")


@pytest.mark.parametrize("quorum", [0, 2])
def test_an_equal_block_on_three_replicas_leaves_one_copy(database, quorum):
    for replica in range(3):
        assert database.insert(replica, "t", BLOCK, insert_quorum=quorum) == codes.ACKED
    assert rows(database) == [2, 2, 2]


def test_neither_row_order_nor_column_order_nor_a_default_makes_another_block(
    replicated_database,
):
    columns = "a UInt64, s Nullable(String), d UInt32 DEFAULT 7"
    replicated_database.create_table("t", columns, order_by="a")
    with replicated_database.client(0) as client:
        client.execute("INSERT INTO t VALUES", [(1, None, 7), (2, "x", 7)])
        client.execute("INSERT INTO t VALUES", [(2, "x", 7), (1, None, 7)])
        client.execute("INSERT INTO t (d, s, a) VALUES", [(7, None, 1), (7, "x", 2)])
        client.execute("INSERT INTO t (a, s) VALUES", [(1, None), (2, "x")])
    assert rows(replicated_database) == [2, 2, 2]


@pytest.mark.parametrize(
    ("hidden", "copies"),
    [(("", 0), 1), (("h", 0), 2), (("", 9), 2)],
    ids=["zero", "text", "number"],
)
def test_a_value_hidden_under_a_null_makes_another_block(replicated_database, hidden, copies):
    text, number = hidden
    columns = "a UInt64, s Nullable(String), i Nullable(UInt32)"
    replicated_database.create_table("t", columns, order_by="a")
    with replicated_database.client(0) as client:
        client.execute("INSERT INTO t VALUES", [(1, None, None), (2, "x", 5)])
        client.execute(
            f"INSERT INTO t SELECT a, nullIf(s, '{text}'), nullIf(i, toUInt32({number})) FROM "
            f"(SELECT arrayJoin([toUInt64(1), toUInt64(2)]) AS a, if(a = 2, 'x', '{text}') AS s, "
            f"if(a = 2, toUInt32(5), toUInt32({number})) AS i)"
        )
        assert client.execute("SELECT DISTINCT * FROM t ORDER BY a") == [
            (1, None, None),
            (2, "x", 5),
        ]
    assert rows(replicated_database) == [2 * copies] * 3


def test_an_added_column_makes_another_block_even_where_it_is_left_out(database):
    database.insert(0, "t", BLOCK)
    database.order(0, "ALTER TABLE t ADD COLUMN e UInt8 DEFAULT 0")
    with database.client(0) as client:
        for _ in range(2):
            client.execute("INSERT INTO t (a, s) VALUES", BLOCK)
    assert rows(database) == [4, 4, 4]


def test_a_block_is_recognized_after_alter_delete_but_not_after_drop_partition(database):
    database.insert(0, "t", BLOCK)
    database.order(0, "ALTER TABLE t DELETE WHERE a < 10")
    assert until(lambda: database.ask(0, COUNT) == 0, 20)
    assert database.insert(0, "t", BLOCK) == codes.ACKED
    assert rows(database) == [0, 0, 0]
    database.order(0, "ALTER TABLE t DROP PARTITION tuple()")
    assert database.insert(0, "t", BLOCK) == codes.ACKED
    assert rows(database) == [2, 2, 2]


def test_a_block_over_several_partitions_is_recognized_partition_by_partition(replicated_database):
    replicated_database.create_table("t", "p UInt8, a UInt64", partition_by="p", order_by="a")
    block = [(number % 3, number) for number in range(30)]
    replicated_database.insert(0, "t", block, insert_quorum=2)
    assert replicated_database.insert(1, "t", [*block, (3, 0)], insert_quorum=2) == codes.ACKED
    assert rows(replicated_database) == [31, 31, 31]


def test_a_block_behind_the_window_is_stored_again(replicated_database):
    settings = {"replicated_deduplication_window": 3}
    replicated_database.create_table("t", "a UInt64, s String", order_by="a", settings=settings)
    replicated_database.insert(0, "t", BLOCK)
    for number in range(10, 14):
        replicated_database.insert(0, "t", [(number, "")])

    def is_stored_again() -> bool:
        replicated_database.insert(0, "t", BLOCK)
        return bool(replicated_database.ask(0, "SELECT count() FROM t WHERE a < 10") == 4)

    assert until(is_stored_again, 30, every_seconds=0.2)
