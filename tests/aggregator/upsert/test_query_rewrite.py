"""Rewriting of queries: the text of the user stays but for the spliced places."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import parse_one

from aggregator.upsert.query_rewrite import rewritten
from aggregator.upsert.seen_rows import ReadMark
from aggregator.upsert.sql_text import QueryRefused, read_text
from aggregator.upsert.user_query import UserQuery
from tests.aggregator.upsert.constructs import CONSTRUCTS, REFUSED, Construct
from tests.aggregator.upsert.small_history import EARLIER, FRESH, KNOWN

SEEN = (
    "_row_id < 55834574848 AND _until > 12 AND _row_id NOT IN (SELECT _ends.row_id FROM "
    "{table}__updates AS _ends WHERE _ends.tick > 8 AND _ends.tick <= 12)"
)
FLIGHTS = SEEN.format(table="flights")


def for_store(sql: str, mark: ReadMark = FRESH) -> str:
    query = UserQuery(sql, KNOWN, is_all_versions=mark.is_all_versions)
    return rewritten(query, dict.fromkeys(query.tables, mark))


def test_a_table_alone_becomes_the_table_of_all_rows_with_a_condition() -> None:
    assert for_store("SELECT delay FROM flights") == (
        f"SELECT delay FROM flights__rows AS `flights` WHERE {FLIGHTS}"
    )


def test_the_users_conditions_stand_in_brackets_beside_ours() -> None:
    assert for_store("SELECT delay FROM flights WHERE a OR b -- why\nORDER BY delay") == (
        f"SELECT delay FROM flights__rows AS `flights` WHERE ({FLIGHTS}) AND ( a OR b) -- why\n"
        "ORDER BY delay"
    )


def test_a_query_for_one_key_keeps_the_ends_of_that_key_alone() -> None:
    text = for_store("SELECT delay FROM flights WHERE delay > 1 AND flight = 7")
    of_key = " AND _ends.key IN (SELECT _key FROM flights__rows WHERE flight = 7))"
    assert text == (
        f"SELECT delay FROM flights__rows AS `flights` WHERE ({FLIGHTS[:-1]}{of_key}) AND ( "
        "delay > 1 AND flight = 7)"
    )


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT delay FROM flights WHERE flight = 7 OR delay > 1",
        "SELECT delay FROM flights WHERE delay BETWEEN 1 AND flight = 7",
        "SELECT delay FROM flights WHERE NOT flight = 7",
        "SELECT delay FROM flights WHERE (flight = 7 OR 1)",
        "SELECT delay FROM flights WHERE flight = 7 + 1",
        "SELECT delay FROM flights WHERE flight = delay",
        "SELECT delay FROM flights AS flight WHERE flight = 7",
        "SELECT delay AS flight FROM flights WHERE flight = 7",
        "SELECT delay FROM flights ARRAY JOIN stops AS flight WHERE flight = 7",
        "WITH 7 AS flight SELECT delay FROM flights WHERE flight = 7",
        "SELECT delay FROM flights ANY LEFT JOIN carriers USING carrier WHERE flight = 7",
        "SELECT delay FROM flights WHERE flight != 7",
        "SELECT delay FROM flights WHERE 1 = 1 AND x.flight = 7",
        "SELECT count() FROM flights GROUP BY carrier HAVING flight = 7",
        "SELECT delay FROM carriers WHERE carrier > 'AA'",
    ],
)
def test_ends_of_all_keys_are_kept_where_rows_of_other_keys_may_be_in_the_answer(sql: str) -> None:
    assert "_ends.key" not in for_store(sql)


def test_at_a_settle_point_no_ends_are_read() -> None:
    assert for_store("SELECT delay FROM flights AS f", ReadMark(8, 8, 8)) == (
        "SELECT delay FROM flights__rows AS f WHERE _row_id < 38654705664 AND _until > 8"
    )


def test_rows_of_days_that_are_over_are_left_out_where_a_server_still_has_some() -> None:
    mark = ReadMark(8, 8, 8, since_s=86_400)
    assert for_store("SELECT f.delay FROM flights AS f", mark).endswith(
        " WHERE _row_id < 38654705664 AND _until > 8 AND _time >= toDateTime(86400)"
    )
    versions = UserQuery("SELECT delay FROM flights", KNOWN, is_all_versions=True)
    every = rewritten(versions, {"flights": mark._replace(is_all_versions=True)})
    assert "_time >= toDateTime(86400)" in every


def test_the_optional_side_of_a_join_becomes_a_sub_query() -> None:
    carriers = SEEN.format(table="carriers")
    assert for_store("SELECT a.city, title FROM airports AS a ANY LEFT JOIN carriers USING x") == (
        "SELECT a.city, title FROM airports AS a ANY LEFT JOIN (SELECT `carrier`, `title`, `rank` "
        f"FROM carriers__rows WHERE {carriers}) AS `carriers` USING x"
    )


def test_ends_after_the_mark_are_told_in_valid_until_as_far_as_the_store_has_them() -> None:
    text = for_store("SELECT $validUntil FROM flights", EARLIER)
    assert "WHERE _ends.tick > 6 AND _ends.tick <= 12) AS _ended USING _row_id" in text


def test_tables_are_named_in_the_order_of_the_text() -> None:
    sql = "SELECT 1 FROM airports WHERE x IN carriers AND y IN (SELECT flight FROM flights)"
    assert UserQuery(sql, KNOWN).tables == ("carriers", "flights")


def test_a_query_without_upsert_tables_stays_as_it_is() -> None:
    for sql in (
        "SELECT _row_id FROM other.flights",
        "SELECT 'FROM flights' FROM airports;",
        "SELECT flights FROM airports AS flights",
    ):
        assert for_store(sql) == sql


def test_a_common_table_expression_hides_a_table_of_its_name() -> None:
    sql = "WITH flights AS (SELECT 1 AS delay) SELECT delay FROM flights"
    assert UserQuery(sql, KNOWN).tables == ()
    assert for_store(sql) == "SELECT delay FROM (SELECT 1 AS delay) AS `flights`"
    inner = "WITH flights AS (SELECT delay FROM flights) SELECT delay FROM flights"
    assert for_store(inner) == (
        f"SELECT delay FROM (SELECT delay FROM flights__rows AS `flights` WHERE {FLIGHTS}) "
        "AS `flights`"
    )


def test_a_query_that_names_itself_too_often_is_refused() -> None:
    steps = [
        f"s{n} AS (SELECT * FROM s{n - 1} UNION ALL SELECT * FROM s{n - 1})" for n in range(1, 30)
    ]
    sql = f"WITH s0 AS (SELECT delay FROM flights), {', '.join(steps)} SELECT * FROM s29"
    with pytest.raises(QueryRefused, match="grows too long"):
        for_store(sql)


@pytest.mark.parametrize("sql", REFUSED)
def test_what_cannot_be_read_at_a_mark_is_refused_by_name(sql: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        for_store(sql)
    assert str(refused.value).startswith(REFUSED[sql]) or REFUSED[sql] in str(refused.value)


def test_no_refusal_is_said_with_characters_of_a_terminal() -> None:
    for sql in REFUSED:
        with pytest.raises(QueryRefused, match=r"^[^\x1b\n]+$"):
            for_store(sql)


# -- any text

STRINGS = st.text(max_size=12).map(
    lambda text: "'" + text.replace("\0", "").replace("\\", "\\\\").replace("'", "\\'") + "'"
)
NAMES = st.text(max_size=8).map(
    lambda text: "`n" + text.replace("\0", "").replace("\\", "\\\\").replace("`", "``") + "`"
)
COMMENTS = st.text(max_size=12).map(
    lambda text: "/*" + text.replace("*/", "").replace("\0", "").replace("/", "") + "*/"
)
SPACES = st.one_of(st.sampled_from([" ", "\n", "\t", "  "]), COMMENTS)
PLAIN = st.sampled_from(["delay", "flight", "1", "-2.5e3", "[1, 2]", "(1, 'FROM flights')", "f(x)"])
VALUES = st.one_of(
    PLAIN,
    STRINGS,
    NAMES,
    st.tuples(STRINGS, NAMES).map(lambda pair: f"if(x = {pair[0]}, {pair[1]}, (1))"),
)


@st.composite
def queries(draw: st.DrawFn) -> tuple[str, str]:
    """A query, and what it becomes."""
    space = [draw(SPACES) for _ in range(6)]
    items = ",".join(draw(st.lists(VALUES, min_size=1, max_size=4)))
    where = draw(st.none() | VALUES)
    tail = draw(st.sampled_from(["", " ORDER BY delay", " LIMIT 3", " GROUP BY `GROUP BY`"]))
    front = f"SELECT{space[0]} {items}{space[1]} FROM{space[2]} "
    if where is None:
        return (
            f"{front}flights{space[3]}{tail}",
            f"{front}flights__rows AS `flights` WHERE {FLIGHTS}{space[3]}{tail}",
        )
    return (
        f"{front}flights{space[3]} WHERE{space[4]} {where}{space[5]}{tail}",
        f"{front}flights__rows AS `flights`{space[3]} WHERE ({FLIGHTS}) AND ({space[4]} {where})"
        f"{space[5]}{tail}",
    )


@given(queries())
def test_any_text_of_strings_names_and_comments_survives(pair: tuple[str, str]) -> None:
    sql, expected = pair
    assert for_store(sql) == expected


@given(st.text(max_size=60))
def test_any_text_is_refused_or_stays(text: str) -> None:
    with suppress(QueryRefused):
        assert for_store(text) == text or "flights" in text


@given(st.text(max_size=40))
def test_the_copy_for_sqlglot_is_as_long_as_the_text(text: str) -> None:
    with suppress(QueryRefused):
        assert len(read_text(text).copy) == len(text)


SOURCES = ["flights", "carriers AS c", "airports", "default.flights f", "(SELECT 1 AS x) AS s"]
ENDINGS = ["", " WHERE delay > 1 OR x", " GROUP BY x", " ORDER BY x LIMIT 1 BY x LIMIT 2"]
JOINS = [" ANY LEFT JOIN ", " ALL INNER JOIN ", " RIGHT JOIN ", ", ", " CROSS JOIN ", " JOIN "]
ITEMS = ["x", "*", "count(*)", "1 AS n", "f.*", "c.$validFrom", "tuple(*)", "'FROM flights'"]


@st.composite
def nested_queries(draw: st.DrawFn, depth: int = 2) -> str:
    """A query of any nesting, which need not mean anything."""
    inner = nested_queries(depth=depth - 1) if depth else st.just("SELECT 1")
    bracketed = inner.map(lambda sql: f"({sql})")
    items = draw(st.lists(st.sampled_from(ITEMS) | bracketed, min_size=1, max_size=3))
    source = st.sampled_from(SOURCES) | bracketed.map(lambda sql: f"{sql} AS q")
    places = draw(source)
    if draw(st.booleans()):
        places += draw(st.sampled_from(JOINS)) + draw(source)
        if not places.count(", ") and "CROSS" not in places:
            places += " USING x"
    ending = draw(st.sampled_from(ENDINGS) | bracketed.map(lambda sql: f" WHERE x IN {sql}"))
    union = draw(st.sampled_from(["", "", " UNION ALL "]))
    sql = f"SELECT {', '.join(items)} FROM {places}{ending}"
    return sql + (union + draw(inner) if union else "")


@given(nested_queries())
def test_each_table_of_a_nested_query_has_its_condition(sql: str) -> None:
    """Each upsert table that the text names is read as the table of its rows, under a bound."""
    text = ""
    with suppress(QueryRefused):
        text = for_store(sql)
    if not text:
        assert "*" in sql or "$validFrom" in sql
        return
    outside = re.sub(r"'[^']*'", "''", sql)
    for table in ("flights", "carriers"):
        named = len(re.findall(rf"\b{table}\b", outside))
        assert len(re.findall(rf"\b{table}__rows\b", text)) == named
        assert len(re.findall(rf"\b{table}__updates\b", text)) == named
    assert text.count("_row_id <") == text.count("__rows") == text.count("_ends.tick <= 12")
    # Brackets and clauses are where they belong; sqlglot knows one LIMIT only.
    assert parse_one(text.replace(" LIMIT 2", ""), read="clickhouse")


@pytest.mark.parametrize("construct", CONSTRUCTS, ids=lambda each: each.name)
def test_the_words_of_a_construct_stay_in_their_order(construct: Construct) -> None:
    sql = construct.sql.format(database="default")
    if "AS (SELECT" in sql:
        return  # Common table expressions move.
    spliced = {"default", "flights", "carriers", "validFrom", "validUntil", "kafkaOffset"}
    text, at = for_store(sql), 0
    for word in re.findall(r"\w+", sql):
        if word not in spliced:
            at = text.index(word, at) + len(word)
