"""Reader: tables that a query may name, before any server is asked."""

from __future__ import annotations

import pytest

from aggregator.upsert.query_mark import At
from aggregator.upsert.reader import Reader, UpsertPlace, in_turn, places_of
from aggregator.upsert.seen_rows import UpsertNames
from aggregator.upsert.sql_text import QueryRefused
from aggregator.upsert.upsert_metrics import REFUSED, RefusedQueries
from aggregator.upsert.visibility import MarkRefused
from replicator.config.clickhouse_address import ClickHouseAddress
from replicator.config.feed_settings import ClickHouseFeed
from replicator.runtime.store_errors import StoreUnreachable

SERVER = ClickHouseAddress.parse("clickhouse://loader@127.0.0.1:1")


def place(feed: str, *tables: str) -> UpsertPlace:
    names = {table: UpsertNames(table, ("a",)) for table in tables}
    return UpsertPlace(
        feed,
        "default",
        (SERVER,),
        None,
        names,
        dict.fromkeys(tables, 60.0),
        dict.fromkeys(tables, 336.0),
    )


READER = Reader([place("one", "flights", "routes"), place("two", "planes", "routes")])


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SELECT 1", "the query names no upsert table; there are flights, planes, routes"),
        ("SELECT a FROM airports", "names no upsert table"),
        ("SELECT a FROM other.flights", "names no upsert table"),
        (
            "SELECT a FROM routes",
            "routes are not in one shard, but in those of one, two: name a feed",
        ),
        ("SELECT 1 FROM flights CROSS JOIN planes", "flights, planes are not in one shard"),
    ],
)
def test_a_query_reads_tables_of_one_shard(sql: str, text: str) -> None:
    with pytest.raises(QueryRefused, match=text):
        READER.query(sql)


def test_a_tick_is_of_one_table() -> None:
    with pytest.raises(MarkRefused, match="a tick is of one table, and the query reads"):
        Reader([place("one", "flights", "routes")]).query(
            "SELECT 1 FROM flights CROSS JOIN routes", At(tick=7)
        )


def test_events_are_of_a_table_that_there_is() -> None:
    with pytest.raises(QueryRefused, match="airports names no upsert table"):
        next(READER.events("airports", since_tick=1))


def test_a_server_that_is_not_there_is_named_with_the_users_name() -> None:
    with pytest.raises(StoreUnreachable, match="no server can show flights: ClickHouse at"):
        READER.query("SELECT a FROM flights")


def test_queries_begin_with_one_server_after_another_and_ask_those_that_failed_last() -> None:
    one, two, three = (
        ClickHouseAddress.parse(f"clickhouse://loader@127.0.0.1:{port}") for port in (1, 2, 3)
    )
    servers = one, two, three
    assert [in_turn(servers, turn, ())[0] for turn in range(4)] == [one, two, three, one]
    assert in_turn(servers, 1, {two}) == [three, one, two]
    assert in_turn(servers, 1, set(servers)) == [two, three, one]


def test_refused_queries_are_counted_by_reason_where_a_process_asks_for_it() -> None:
    refused = RefusedQueries()
    reader = Reader([place("one", "flights", "routes")], refused=refused)
    with pytest.raises(QueryRefused):
        reader.query("SELECT a FROM airports")
    with pytest.raises(MarkRefused):
        reader.query("SELECT 1 FROM flights CROSS JOIN routes", At(tick=7))
    [family] = refused.collect()
    assert {tuple(sorted(each.labels.items())) for each in family.samples} == {
        (("feed", ""), ("reason", "query"), ("table", "")),
        (("feed", "one"), ("reason", "mark"), ("table", "flights,routes")),
    }
    assert family.name == REFUSED


def test_the_tables_of_a_feed_are_in_the_places_of_their_shards() -> None:
    columns = {"id": "UInt64", "at": "DateTime", "state": "String"}
    table = {"semantic": "upsert", "columns": columns, "primary_key": ["id"]}
    feed = ClickHouseFeed.model_validate(
        {
            "name": "status",
            "region": "west",
            "clusters": ["west aggregate"],
            "shards": [
                {"topics": ["a.*"], "replicas": ["clickhouse://h:1"], "database": "first"},
                {"topics": ["b.*"], "replicas": ["clickhouse://h:2"], "database": "second"},
            ],
            "tables": {
                "a1": {"name": "a1", **table, "history_seconds": 90},
                "b1": {"name": "b1", **table, "order_by": ["at", "id"]},
                "b2": {
                    "name": "b2",
                    **table,
                    "primary_key": ["id", "at"],
                    "order_by": ["at", "id"],
                },
            },
        }
    )
    first, second = places_of(feed)
    assert (first.database, first.servers[0].port, first.history_seconds) == (
        "first",
        1,
        {"a1": 90},
    )
    assert first.tables == {"a1": UpsertNames("a1", ("id", "at", "state"), ("id",))}
    # Its rows are not sorted by the key: a look-up by key reads all of them.
    assert second.tables["b1"].key == ()
    assert second.tables["b2"].key == ("id", "at")
