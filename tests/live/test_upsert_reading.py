"""Reading upsert tables from ClickHouse 18.16: constructs, users, servers that are behind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clickhouse_driver.errors import ServerException
from hypothesis import HealthCheck, given, settings

from aggregator.upsert.query_mark import FRESH as AT_NEWEST
from aggregator.upsert.query_mark import SETTLED as AT_POINT
from aggregator.upsert.query_mark import At
from aggregator.upsert.query_rewrite import rewritten
from aggregator.upsert.reader import QueryFailed, Reader, UpsertPlace
from aggregator.upsert.upsert_schema import ServerTraits
from aggregator.upsert.user_query import UserQuery
from aggregator.upsert.visibility import MarkRefused
from deploy.lab.clickhouse import READER, ClickHouseServer
from deploy.lab.credentials import PASSWORD
from deploy.lab.wait import until
from replicator.config.clickhouse_address import ClickHouseAddress
from replicator.runtime.store_errors import StoreUnreachable
from tests.aggregator.upsert.constructs import CONSTRUCTS, Construct
from tests.aggregator.upsert.query_fuzz import any_queries
from tests.aggregator.upsert.small_history import (
    AT_SETTLED,
    COLUMNS,
    EARLIER,
    FRESH,
    KNOWN,
    SmallHistory,
    ordinary_tables,
    tables,
)
from tests.live.replicas import ReplicatedDatabase
from tui.program import run

pytestmark = pytest.mark.stores
HISTORY = SmallHistory.make()
DATABASE, ORDINARY = "upsert_reading", "upsert_reading_ordinary"


@pytest.fixture(scope="module")
def server(shared_clickhouse: ClickHouseServer) -> Iterator[ClickHouseServer]:
    with shared_clickhouse.client() as client:
        for name in (DATABASE, ORDINARY):
            client.execute(f"CREATE DATABASE {name}")
        for statement in HISTORY.statements(DATABASE):
            client.execute(statement)
        for statement in ordinary_tables(ORDINARY, HISTORY.seen(EARLIER)):
            client.execute(statement)
        yield shared_clickhouse
        for name in (DATABASE, ORDINARY):
            client.execute(f"DROP DATABASE {name}")


def place(*servers: ClickHouseServer, database: str = DATABASE) -> UpsertPlace:
    addresses = tuple(ClickHouseAddress.parse(each.address()) for each in servers)
    history, retention = dict.fromkeys(KNOWN, 5.0), dict.fromkeys(KNOWN, 336.0)
    return UpsertPlace("feed", database, addresses, None, KNOWN, history, retention)


def reader(*servers: ClickHouseServer, database: str = DATABASE, **options: Any) -> Reader:
    wanted = {"user": READER, "password": PASSWORD, "timeout_seconds": 10.0, **options}
    return Reader([place(*servers, database=database)], **wanted)


def comparable(rows: Any, is_ordered: bool = False) -> list[str]:
    texts = [json.dumps(list(row)) for row in rows]
    return texts if is_ordered else sorted(texts)


@pytest.mark.parametrize("construct", CONSTRUCTS, ids=lambda each: each.name)
def test_a_construct_answers_as_brute_force_or_is_none_of_18_16(
    server: ClickHouseServer, construct: Construct
) -> None:
    query = UserQuery(construct.sql.format(database=DATABASE), KNOWN, DATABASE)
    with server.client(DATABASE) as client:
        for mark in (FRESH, AT_SETTLED, EARLIER):
            sql = rewritten(query, dict.fromkeys(query.tables, mark))
            if not construct.old:
                with pytest.raises(ServerException):
                    client.execute(sql)
                continue
            found = client.execute(sql)
            if "WITH TOTALS" in sql:
                found.pop()  # The driver puts them behind the rows.
            expected = construct.answer(HISTORY.seen(mark))
            in_order = construct.is_ordered
            assert comparable(found, in_order) == comparable(expected, in_order)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(any_queries().filter(lambda sql: not sql.startswith("WITH")))
def test_any_query_answers_as_over_ordinary_tables_of_what_is_seen(
    server: ClickHouseServer, sql: str
) -> None:
    query = UserQuery(sql, KNOWN, DATABASE)
    text = rewritten(query, dict.fromkeys(query.tables, EARLIER))
    with server.client(DATABASE) as client, server.client(ORDINARY) as ordinary:
        assert comparable(client.execute(text)) == comparable(ordinary.execute(sql))


def test_a_user_that_only_reads_gets_each_mark_and_what_ended_each_version(
    server: ClickHouseServer,
) -> None:
    names = ("flight", "carrier", "delay", "stops")
    for at, mark in ((At(), FRESH), (AT_POINT, AT_SETTLED), (At(tick=9), None)):
        with reader(server).query("SELECT * FROM flights", at) as answer:
            shown = answer.marks["flights"].mark
            assert mark is None or shown[:2] == mark[:2]
            expected = [[row[name] for name in names] for row in HISTORY.seen(shown).flights]
            assert comparable(answer) == comparable(expected)
    sql = "SELECT flight, $endKind FROM flights"
    with reader(server).query(sql, all_versions=True) as answer:
        ended = [kind for _, kind in answer if kind]
    everything = [(each.row_id, *each.end) for each in HISTORY.versions["flights"] if each.end]
    assert len(ended) == len(everything)
    later = sorted((tick, row, kind, by) for row, tick, kind, by in everything if tick > 8)
    assert later == [
        (end.tick, end.row_id, end.kind, end.by_row_id)
        for end in reader(server).events("flights", since_tick=8)
    ]


def test_marks_outside_the_history_are_refused_with_the_oldest(server: ClickHouseServer) -> None:
    for at, text in (
        (At(tick=3), "tick 3 is too old; the oldest that can be read is 4"),
        (At(tick=13), "tick 13 is not there yet; the newest that can be read is 12"),
        (At(time_ms=3999), "too old: the oldest that can be read is tick 4, of 1970-01-01"),
        (At(time_ms=12001), "not known as of 1970-01-01T00:00:12.001Z yet"),
    ):
        with pytest.raises(MarkRefused, match=text):
            reader(server).query("SELECT * FROM flights", at)
    with reader(server).query("SELECT 1 FROM flights", At(time_ms=6999)) as answer:
        assert answer.marks["flights"].mark.tick == 6
    with pytest.raises(MarkRefused, match="ends after tick 3 are not all kept"):
        list(reader(server).events("flights", since_tick=3))


def test_failures_are_told_with_their_reason(server: ClickHouseServer) -> None:
    with pytest.raises(QueryFailed, match="Unknown identifier"):
        reader(server).query("SELECT nothing FROM flights")
    with pytest.raises(QueryFailed, match="Table functions are forbidden"):
        reader(server).query("SELECT 1 FROM flights CROSS JOIN numbers(3)")
    with pytest.raises(StoreUnreachable, match="--user"):
        reader(server, password="wrong").query("SELECT 1 FROM flights")
    with pytest.raises(StoreUnreachable, match="has no table flights__rows"):
        reader(server, database="default").query("SELECT 1 FROM flights")


def test_sluice_sql_prints_rows_and_the_mark(
    server: ClickHouseServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = ", ".join(f'{name} = "{kind}"' for name, kind in COLUMNS["flights"].items())
    (tmp_path / "password").write_text(PASSWORD)
    config = tmp_path / "appliance.toml"
    config.write_text(
        f"""
        [regions.west]
        redis = "redis://127.0.0.1:1"
        regional.bootstrap = ["127.0.0.1:1"]
        aggregate.bootstrap = ["127.0.0.1:2"]
        [feeds.status]
        region = "west"
        clusters = ["west aggregate"]
        shards = [{{replicas = ["{server.address()}"], database = "{DATABASE}"}}]
        [feeds.status.tables.flights]
        semantic = "upsert"
        columns = {{{columns}}}
        primary_key = ["flight"]
        history_seconds = 60
        """
    )
    user = ["--user", READER, "--password-file", str(tmp_path / "password")]
    command = ["sql", "--config", str(config), *user, "-o", "json"]
    assert run([*command, "--settled", "SELECT flight, $validFrom FROM flights"]) == 0
    told, said = capsys.readouterr()
    found = json.loads(told)
    expected = [(row["flight"], row["$validFrom"]) for row in HISTORY.seen(AT_SETTLED).flights]
    assert comparable(row.values() for row in found["rows"]) == comparable(expected)
    assert found["marks"]["flights"]["tick"] == 8
    assert "flights read at tick 8 (settled up to 8; newest 12" in said
    for sql, option, code in (
        ("SELECT * FROM flights FINAL", [], 2),
        ("SELECT * FROM flights", ["--as-of", "13"], 4),
        ("SELECT nothing FROM flights", [], 1),
        ("SELECT * FROM airports", [], 2),
    ):
        assert run([*command, *option, sql]) == code
        assert capsys.readouterr().out == ""


def test_an_answer_comes_as_arrow(server: ClickHouseServer) -> None:
    with reader(server).query("SELECT flight, carrier, stops FROM flights") as answer:
        table = answer.table()
    rows = HISTORY.seen(FRESH).flights
    assert comparable(each.values() for each in table.to_pylist()) == comparable(
        [row["flight"], row["carrier"], row["stops"]] for row in rows
    )
    assert list(map(str, table.schema.types)) == ["uint32", "string", "list<item: uint8>"]


def test_times_are_instants_whatever_the_zones_of_server_and_reader(
    needs_clickhouse: None, tmp_path: Path
) -> None:
    zone = "<timezone>Europe/Berlin</timezone>"
    with ClickHouseServer(tmp_path, configuration=zone) as berlin:
        with berlin.client() as client:
            for statement in HISTORY.statements("default"):
                client.execute(statement)
        sql = (
            "SELECT toDateTime(1540684800 + arrayJoin([0, 3600])) AS at, toUInt32(at) AS s, [at] "
            "AS many FROM flights LIMIT 2"
        )
        with reader(berlin, database="default").query(sql) as answer:
            rows = list(answer)
        assert sorted(str(at) for at, _, _ in rows) == [
            "2018-10-28 02:00:00+01:00",
            "2018-10-28 02:00:00+02:00",
        ]
        with reader(berlin, database="default").query(sql) as answer:
            table = answer.table().to_pylist()
    assert {(row["at"].timestamp(), row["many"][0].timestamp()) for row in table} == {
        (second, second) for _, second, _ in rows
    }


def test_an_answer_of_a_type_that_cannot_be_read_names_the_mend(server: ClickHouseServer) -> None:
    answer = reader(server).query("SELECT sumState(delay) FROM flights")
    with answer, pytest.raises(QueryFailed, match=r"Unknown type Aggregate.*finalizeAggregation"):
        list(answer)


def test_a_server_that_lacks_a_part_gets_no_queries_and_returns_by_itself(
    replicated_database: ReplicatedDatabase,
) -> None:
    replicas, name = replicated_database.replicas, replicated_database.name
    for number, each in enumerate(replicas):
        with each.client(name) as client:
            for statement in tables(name, ServerTraits(str(number))):
                client.execute(statement)
    replicated_database.order(2, "SYSTEM STOP FETCHES flights__rows")
    with replicas[0].client(name) as client:
        for statement in HISTORY.rows(name, servers=("0",)):
            client.execute(statement)
    sql = "SELECT flight FROM flights"
    expected = comparable([row["flight"]] for row in HISTORY.seen(FRESH).flights)
    with reader(replicas[2], replicas[0], database=name).query(sql) as answer:
        assert str(replicas[0].port) in answer.server
        assert comparable(answer) == expected
    behind = reader(replicas[2], database=name, timeout_seconds=0.2)
    with pytest.raises(StoreUnreachable, match="lacks parts of flights__rows"):
        behind.query(sql)
    replicated_database.order(2, "SYSTEM START FETCHES flights__rows")
    # A new part, of a tick that is not claimed, makes the server fetch the others at once.
    wake = "INSERT INTO flights__rows (flight, _row_id) SELECT 1, bitShiftLeft(toUInt64(13), 32)"
    replicated_database.order(0, wake)
    patient = reader(replicas[2], database=name, timeout_seconds=30.0)
    with patient.query(sql) as answer:
        # It reads all ends itself: the settle points name another server.
        assert answer.marks["flights"].mark == FRESH._replace(settled=0)
        assert comparable(answer) == expected
    with reader(replicas[2], replicas[0], database=name).query(sql, AT_POINT) as answer:
        assert str(replicas[0].port) in answer.server
        assert len(list(answer)) == len(HISTORY.seen(AT_SETTLED).flights)
    with pytest.raises(StoreUnreachable, match="has no settle point of flights yet"):
        patient.query(sql, AT_POINT)


def test_a_reader_asks_one_server_after_another_and_never_goes_back_in_time(
    replicated_database: ReplicatedDatabase,
) -> None:
    replicas, name = replicated_database.replicas, replicated_database.name
    servers = replicas[0], replicas[1]
    for each in servers:
        with each.client(name) as client:
            for statement in HISTORY.statements(name):  # each has tables of its own
                client.execute(statement)
    ours = reader(*servers, database=name, turn=0)

    def asked(at: At = AT_NEWEST) -> tuple[int, int, int]:
        with ours.query("SELECT flight FROM flights", at) as answer:
            shown = answer.marks["flights"]
            return int(str(servers[1].port) in answer.server), shown.newest.tick, shown.mark.tick

    assert [asked()[0] for _ in range(4)] == [0, 1, 0, 1]
    for what, tick in (("claim", 13), ("settled", 13)):
        with servers[0].client(name) as client:
            client.execute(
                "INSERT INTO flights__ticks (generation, tick, what, time_ms, servers) "
                f"SELECT 1, {tick}, '{what}', 13000, ['']"
            )
        assert asked() == (0, 13, 13)
        assert [asked(AT_POINT)[0] for _ in range(2)] == [0, 0]
        # The other one lacks the tick, and is passed over although it is its turn.
        assert [asked() for _ in range(2)] == [(0, 13, 13)] * 2
        assert asked(At(tick=13)) == (0, 13, 13)
    with servers[1].client(name) as client:
        client.execute(
            "INSERT INTO flights__ticks (generation, tick, what, time_ms) "
            "SELECT 1, 13, 'claim', 13000"
        )
    # It has all that was shown now: it returns by itself.
    until(lambda: asked()[0] == 1, 30.0)


def test_the_newest_claim_is_found_behind_the_settle_points_of_the_newest_generation(
    server: ClickHouseServer,
) -> None:
    name = "upsert_reading_generations"
    with server.client() as client:
        client.execute(f"CREATE DATABASE {name}")
        try:
            for statement in HISTORY.statements(name):
                client.execute(statement)
            client.execute(
                f"INSERT INTO {name}.flights__ticks (generation, tick, what, time_ms) "
                "SELECT 2, 3, 'claim', 3000"
            )
            with reader(server, database=name).query("SELECT 1 FROM flights") as answer:
                shown = answer.marks["flights"]
            assert (shown.generation, shown.newest.tick, shown.mark.settled) == (2, 3, 0)
            client.execute(f"TRUNCATE TABLE {name}.flights__ticks")
            # No tick yet: no row, and no error.
            with reader(server, database=name).query("SELECT 1 FROM flights") as answer:
                assert list(answer) == []
            client.execute(
                f"INSERT INTO {name}.flights__ticks (generation, tick, what, time_ms) "
                "SELECT 1, 8, 'settled', 8000"
            )
            with pytest.raises(StoreUnreachable, match="lacked claims of flights"):
                reader(server, database=name, timeout_seconds=0.2).query("SELECT 1 FROM flights")
        finally:
            client.execute(f"DROP DATABASE {name}")
