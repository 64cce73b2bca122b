"""Constructs of queries by a present ClickHouse, which runs in this process."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from aggregator.upsert.query_rewrite import rewritten
from aggregator.upsert.seen_rows import VERSION_COLUMNS
from aggregator.upsert.user_query import UserQuery
from tests.aggregator.tables.engine import engine, json_of
from tests.aggregator.upsert.constructs import BOTH, CONDITION, CONSTRUCTS, SUB_QUERY, Construct
from tests.aggregator.upsert.query_fuzz import any_queries
from tests.aggregator.upsert.small_history import (
    AIRPORTS,
    AT_SETTLED,
    COLUMNS,
    EARLIER,
    FRESH,
    KNOWN,
    ReadMark,
    SmallHistory,
    ordinary_tables,
)

DATABASE, ORDINARY = "constructs", "constructs_ordinary"
HISTORY = SmallHistory.make()


@pytest.fixture(scope="module")
def database() -> Any:
    session = engine()
    for name in (DATABASE, ORDINARY):
        session.query(f"CREATE DATABASE {name}")
    for statement in HISTORY.statements(DATABASE):
        session.query(statement)
    for statement in ordinary_tables(ORDINARY, HISTORY.seen(EARLIER)):
        session.query(statement)
    session.query(f"USE {DATABASE}")
    yield
    session.query("USE default")
    for name in (DATABASE, ORDINARY):
        session.query(f"DROP DATABASE {name}")


def for_store(sql: str, mark: ReadMark) -> str:
    query = UserQuery(sql, KNOWN, DATABASE, is_all_versions=mark.is_all_versions)
    return rewritten(query, dict.fromkeys(query.tables, mark))


def comparable(rows: Any, is_ordered: bool) -> list[str]:
    texts = [json.dumps(list(row)) for row in rows]
    return texts if is_ordered else sorted(texts)


@pytest.mark.parametrize("mark", [FRESH, AT_SETTLED, EARLIER], ids=["fresh", "settled", "earlier"])
@pytest.mark.parametrize(
    "construct", [each for each in CONSTRUCTS if each.new], ids=lambda each: each.name
)
def test_a_construct_answers_as_brute_force_over_the_log(
    database: None, construct: Construct, mark: ReadMark
) -> None:
    sql = construct.sql.format(database=DATABASE)
    expected = construct.answer(HISTORY.seen(mark))
    found = json_of(for_store(sql, mark))
    assert comparable(found, construct.is_ordered) == comparable(expected, construct.is_ordered)


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(any_queries())
def test_any_query_answers_as_over_ordinary_tables_of_what_is_seen(
    database: None, sql: str
) -> None:
    found = json_of(for_store(sql, EARLIER))
    engine().query(f"USE {ORDINARY}")
    try:
        expected = json_of(sql)
    finally:
        engine().query(f"USE {DATABASE}")
    assert comparable(found, is_ordered=False) == comparable(expected, is_ordered=False)


@pytest.mark.parametrize("construct", CONSTRUCTS, ids=lambda each: each.name)
def test_a_construct_has_the_form_that_its_row_names(construct: Construct) -> None:
    text = for_store(construct.sql.format(database=DATABASE), FRESH)
    has_condition = "__rows AS" in text.replace("__rows f", "__rows AS f")
    has_sub_query = any(f"__rows WHERE _row_id < {13 << 32}" in text for _ in COLUMNS)
    forms = {(True, False): CONDITION, (False, True): SUB_QUERY, (True, True): BOTH}
    assert forms[has_condition, has_sub_query] == construct.form


@pytest.mark.parametrize("tick", range(1, 13))
def test_all_versions_show_what_ended_each_by_the_mark(database: None, tick: int) -> None:
    settled = max((point for point in (4, 8) if point <= tick), default=0)
    mark = ReadMark(tick, settled, known=tick, is_all_versions=True)
    names = [*COLUMNS["flights"], *VERSION_COLUMNS]
    expected = [[row[name] for name in names] for row in HISTORY.all_versions(mark)]
    found = json_of(for_store("SELECT * FROM flights", mark))
    assert comparable(found, is_ordered=False) == comparable(expected, is_ordered=False)


@pytest.mark.parametrize("tick", range(13))
def test_every_mark_is_read_alike_from_every_settle_point_before_it(
    database: None, tick: int
) -> None:
    expected = [[row[name] for name in COLUMNS["flights"]] for row in seen_at(tick)]
    for settled in [point for point in (0, 4, 8) if point <= tick]:
        found = json_of(for_store("SELECT * FROM flights", ReadMark(tick, settled, tick)))
        assert comparable(found, is_ordered=False) == comparable(expected, is_ordered=False)


def seen_at(tick: int) -> list[dict[str, Any]]:
    return HISTORY.seen(ReadMark(tick, 0, tick)).flights


def test_an_ended_row_is_not_paired_on_the_optional_side_of_a_join(database: None) -> None:
    """A condition in WHERE would drop the left row instead of leaving it without a partner."""
    sql = "SELECT a.carrier, c.title FROM airports AS a ANY LEFT JOIN carriers AS c USING carrier"
    titles = {row["carrier"]: row["title"] for row in HISTORY.seen(FRESH).carriers}
    expected = [(carrier, titles.get(carrier, "")) for carrier, _ in AIRPORTS]
    assert comparable(json_of(for_store(sql, FRESH)), False) == comparable(expected, False)
    assert "" in [title for _, title in expected]


def test_the_sources_predicate_gives_no_row_or_two(database: None) -> None:
    """The seed joins its terms by OR: rows that are not born yet are seen, and the newest is not at
    its own mark."""
    engine().query(
        "CREATE TABLE versions (v String, born UInt32, gone Nullable(UInt32)) ENGINE = Memory"
    )
    engine().query(
        "INSERT INTO versions VALUES ('a', 500, 1000), ('b', 1000, 1100), ('c', 1100, NULL)"
    )
    seed = "SELECT v FROM versions WHERE (born < {at} AND gone IS NULL) OR gone > {at} ORDER BY v"
    right = "SELECT v FROM versions WHERE born <= {at} AND (gone IS NULL OR gone > {at})"
    at = (400, 500, 800, 1000, 1099, 1100, 1101)
    assert [json_of(seed.format(at=each)) for each in at] == [
        [["a"], ["b"]],
        [["a"], ["b"]],
        [["a"], ["b"]],
        [["b"]],
        [["b"]],
        [],
        [["c"]],
    ]
    answers = [json_of(right.format(at=each)) for each in at]
    assert answers == [[], [["a"]], [["a"]], [["b"]], [["b"]], [["c"]], [["c"]]]
    engine().query("DROP TABLE versions")
