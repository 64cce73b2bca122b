"""Constructs of queries over upsert tables: which engine takes each, its form, and its answer.

docs/upsert.md has this table; a test compares both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.aggregator.upsert.small_history import Row, Sight

Rows = list[tuple[Any, ...]]
CONDITION, SUB_QUERY, BOTH = "condition", "sub-query", "both"


class Construct(NamedTuple):
    """Construct of a query.

    Args:
        form: what an upsert table becomes: the table of all rows with a condition in WHERE, a
            sub-query, or both in one query.
        answer: by brute force, from what is seen.
        old, new: ClickHouse 18.16 and chdb take it.
        is_ordered: the order of the answer's rows counts.
    """

    name: str
    sql: str
    form: str
    answer: Callable[[Sight], Rows]
    old: bool = True
    new: bool = True
    is_ordered: bool = False


def _rows(rows: list[Row], *names: str) -> Rows:
    return [tuple(row[name] for name in names) for row in rows]


def _by_carrier(sight: Sight) -> Rows:
    found: dict[str, list[int]] = defaultdict(list)
    for row in sight.flights:
        found[row["carrier"]].append(row["delay"])
    return [(carrier, len(some), sum(some)) for carrier, some in found.items()]


def _joined(sight: Sight) -> list[Row]:
    titles = {row["carrier"]: row for row in sight.carriers}
    return [
        {
            **titles[row["carrier"]],
            **row,
            "right from": titles[row["carrier"]]["$validFrom"],
            "right offset": titles[row["carrier"]]["$kafkaOffset"],
        }
        for row in sight.flights
        if row["carrier"] in titles
    ]


def _left_joined(sight: Sight) -> list[Row]:
    titles = {row["carrier"]: row["title"] for row in sight.carriers}
    return [{**row, "title": titles.get(row["carrier"], "")} for row in sight.flights]


def _right_joined(sight: Sight) -> Rows:
    found = _rows(_joined(sight), "flight", "title")
    used = {row["carrier"] for row in sight.flights}
    return found + [(0, row["title"]) for row in sight.carriers if row["carrier"] not in used]


def _first_of_carrier(sight: Sight) -> Rows:
    found: dict[str, int] = {}
    for row in sorted(sight.flights, key=lambda row: row["flight"]):
        found.setdefault(row["carrier"], row["flight"])
    return [(flight,) for flight in sorted(found.values())][:2]


def _known(sight: Sight) -> set[str]:
    return {row["carrier"] for row in sight.carriers}


ALL = ("flight", "carrier", "delay", "stops")
CONSTRUCTS = [
    Construct("`*`", "SELECT * FROM flights", CONDITION, lambda s: _rows(s.flights, *ALL)),
    Construct(
        "`table.*`, a database",
        "SELECT {database}.flights.* FROM {database}.flights",
        CONDITION,
        lambda s: _rows(s.flights, *ALL),
    ),
    Construct(
        "columns with table and database",
        "SELECT {database}.flights.flight FROM {database}.flights",
        CONDITION,
        lambda s: _rows(s.flights, "flight"),
    ),
    Construct(
        "alias, with and without AS",
        "SELECT f.flight AS number FROM flights f WHERE f.delay > 10 AND number > 2",
        CONDITION,
        lambda s: [(r["flight"],) for r in s.flights if r["delay"] > 10 and r["flight"] > 2],
    ),
    Construct(
        "quoted names",
        'SELECT `flight` AS `a``b`, "carrier" FROM `flights`',
        CONDITION,
        lambda s: _rows(s.flights, "flight", "carrier"),
        old=True,
    ),
    Construct(
        "strings, comments",
        "SELECT flight, 'it\\'s FROM flights' /* FROM flights */ FROM flights -- WHERE 0",
        CONDITION,
        lambda s: [(r["flight"], "it's FROM flights") for r in s.flights],
    ),
    Construct(
        "strings with $, quotes, `;`, backslashes, letters of any language",
        "SELECT flight, '$validFrom; DROP', 'a''\\\\b\\0', 'ünï😀' AS `a$ \\` \"ü` FROM flights "
        "WHERE `a$ \\` \"ü` != '--' AND carrier != '/*'; -- '",
        CONDITION,
        lambda s: [(r["flight"], "$validFrom; DROP", "a'\\b\0", "ünï😀") for r in s.flights],
    ),
    Construct(
        "names that are keywords, quoted",
        'SELECT delay AS `limit`, flight AS "from" FROM flights WHERE `limit` > 3',
        CONDITION,
        lambda s: [(r["delay"], r["flight"]) for r in s.flights if r["delay"] > 3],
    ),
    Construct(
        "WHERE with OR",
        "SELECT flight FROM flights WHERE delay < 0 OR delay > 50",
        CONDITION,
        lambda s: [(r["flight"],) for r in s.flights if r["delay"] < 0 or r["delay"] > 50],
    ),
    Construct(
        "WHERE with the whole key",
        "SELECT delay FROM flights AS f WHERE `flight` = 7 AND delay > -100",
        CONDITION,
        lambda s: [(r["delay"],) for r in s.flights if r["flight"] == 7],
    ),
    Construct(
        "PREWHERE",
        "SELECT flight FROM flights PREWHERE delay > 10 WHERE carrier = 'AA'",
        CONDITION,
        lambda s: [(r["flight"],) for r in s.flights if r["delay"] > 10 and r["carrier"] == "AA"],
    ),
    Construct(
        "GROUP BY, HAVING, aggregates",
        "SELECT carrier, count(), sum(delay) FROM flights GROUP BY carrier HAVING count() > 0",
        CONDITION,
        _by_carrier,
    ),
    Construct(
        "count(*)",
        "SELECT count(*) FROM flights",
        CONDITION,
        lambda s: [(len(s.flights),)],
    ),
    Construct(
        "ORDER BY, LIMIT",
        "SELECT flight FROM flights ORDER BY flight DESC LIMIT 1, 3",
        CONDITION,
        lambda s: [(n,) for n in sorted((r["flight"] for r in s.flights), reverse=True)[1:4]],
        is_ordered=True,
    ),
    Construct(
        "LIMIT BY, LIMIT",
        "SELECT flight FROM flights ORDER BY flight LIMIT 1 BY carrier LIMIT 2",
        CONDITION,
        _first_of_carrier,
        is_ordered=True,
    ),
    Construct(
        "DISTINCT",
        "SELECT DISTINCT carrier FROM flights",
        CONDITION,
        lambda s: [(c,) for c in {r["carrier"] for r in s.flights}],
    ),
    Construct(
        "WITH TOTALS",
        "SELECT carrier, count() AS n FROM flights GROUP BY carrier WITH TOTALS ORDER BY carrier",
        CONDITION,
        lambda s: sorted((c, n) for c, n, _ in _by_carrier(s)),
        is_ordered=True,
    ),
    Construct(
        "WITH ROLLUP",
        "SELECT carrier, count() FROM flights GROUP BY carrier WITH ROLLUP",
        CONDITION,
        lambda s: [("", len(s.flights)), *((c, n) for c, n, _ in _by_carrier(s))],
    ),
    Construct(
        "ARRAY JOIN",
        "SELECT flight, stop FROM flights ARRAY JOIN stops AS stop WHERE stop > 2",
        CONDITION,
        lambda s: [(r["flight"], n) for r in s.flights for n in r["stops"] if n > 2],
    ),
    Construct(
        "LEFT ARRAY JOIN",
        "SELECT flight, stop FROM flights LEFT ARRAY JOIN stops AS stop",
        CONDITION,
        lambda s: [(r["flight"], n) for r in s.flights for n in r["stops"] or [0]],
    ),
    Construct(
        "CASE, functions, arrays, `?:`",
        "SELECT CASE WHEN delay > 0 THEN 'late' ELSE 'ok' END, length(stops), [1, 2][1], "
        "delay > 0 ? 1 : 2, arrayMap(x -> x + 1, stops) FROM flights",
        CONDITION,
        lambda s: [
            (
                "late" if r["delay"] > 0 else "ok",
                len(r["stops"]),
                1,
                1 if r["delay"] > 0 else 2,
                [n + 1 for n in r["stops"]],
            )
            for r in s.flights
        ],
    ),
    Construct(
        "sub-query in FROM",
        "SELECT sum(n) FROM (SELECT carrier, count() AS n FROM flights GROUP BY carrier) AS x",
        CONDITION,
        lambda s: [(len(s.flights),)],
    ),
    Construct(
        "scalar sub-query",
        "SELECT (SELECT max(delay) FROM flights) AS most, flight FROM flights",
        CONDITION,
        lambda s: [(max(r["delay"] for r in s.flights), r["flight"]) for r in s.flights],
    ),
    Construct(
        "IN (SELECT ..), NOT IN, GLOBAL IN",
        "SELECT flight FROM flights WHERE carrier IN (SELECT carrier FROM carriers) AND carrier "
        "NOT IN (SELECT carrier FROM carriers WHERE rank > 3) AND carrier GLOBAL IN (SELECT "
        "carrier FROM carriers)",
        CONDITION,
        lambda s: [
            (r["flight"],)
            for r in s.flights
            if r["carrier"] in {c["carrier"] for c in s.carriers if c["rank"] <= 3}
        ],
    ),
    Construct(
        "(a, b) IN (SELECT a, b ..)",
        "SELECT flight FROM flights WHERE (carrier, flight) IN (SELECT carrier, flight FROM "
        "flights WHERE delay > 5) AND (flight, carrier) NOT IN ((1, 'AA'), (2, 'BB'))",
        CONDITION,
        lambda s: [
            (r["flight"],)
            for r in s.flights
            if r["delay"] > 5 and (r["flight"], r["carrier"]) not in ((1, "AA"), (2, "BB"))
        ],
    ),
    Construct(
        "IN table",
        "SELECT count() FROM airports WHERE (carrier, 'AA 1', toInt32(1)) IN carriers",
        SUB_QUERY,
        lambda s: [
            (
                sum(
                    c["carrier"] == a["carrier"] and c["title"] == "AA 1" and c["rank"] == 1
                    for a in s.airports
                    for c in s.carriers
                ),
            )
        ],
    ),
    Construct(
        "EXISTS",
        "SELECT flight FROM flights WHERE EXISTS (SELECT 1 FROM carriers)",
        CONDITION,
        lambda s: _rows(s.flights, "flight"),
        old=False,
    ),
    Construct(
        "UNION ALL",
        "SELECT carrier FROM flights WHERE delay > 0 UNION ALL SELECT carrier FROM carriers",
        CONDITION,
        lambda s: (
            [(r["carrier"],) for r in s.flights if r["delay"] > 0] + _rows(s.carriers, "carrier")
        ),
    ),
    Construct(
        "SELECT in brackets",
        "(SELECT carrier FROM flights) UNION ALL (SELECT carrier FROM carriers WHERE rank > 3)",
        CONDITION,
        lambda s: (
            _rows(s.flights, "carrier") + [(c["carrier"],) for c in s.carriers if c["rank"] > 3]
        ),
    ),
    Construct(
        "GROUPING SETS",
        "SELECT carrier, flight, count() FROM flights GROUP BY GROUPING SETS ((carrier), (flight))",
        CONDITION,
        lambda s: (
            [(c, 0, n) for c, n, _ in _by_carrier(s)] + [("", r["flight"], 1) for r in s.flights]
        ),
        old=False,
    ),
    Construct(
        "UNION DISTINCT",
        "SELECT carrier FROM flights UNION DISTINCT SELECT carrier FROM carriers",
        CONDITION,
        lambda s: [(c,) for c in {r["carrier"] for r in s.flights} | _known(s)],
        old=False,
    ),
    Construct(
        "EXCEPT, INTERSECT",
        "SELECT carrier FROM carriers EXCEPT SELECT carrier FROM flights",
        CONDITION,
        lambda s: [(c,) for c in _known(s) - {r["carrier"] for r in s.flights}],
        old=False,
    ),
    Construct(
        "ANY LEFT JOIN .. USING",
        "SELECT flight, title FROM flights ANY LEFT JOIN carriers USING carrier WHERE delay > 0",
        BOTH,
        lambda s: [(r["flight"], r["title"]) for r in _left_joined(s) if r["delay"] > 0],
    ),
    Construct(
        "ALL INNER JOIN .. ON",
        "SELECT f.flight, c.title FROM flights AS f ALL INNER JOIN carriers AS c ON f.carrier = "
        "c.carrier",
        BOTH,
        lambda s: _rows(_joined(s), "flight", "title"),
    ),
    Construct(
        "JOIN without ANY or ALL",
        "SELECT flight, title FROM flights JOIN carriers USING (carrier)",
        BOTH,
        lambda s: _rows(_joined(s), "flight", "title"),
    ),
    Construct(
        "`*` of a join",
        "SELECT * FROM flights CROSS JOIN (SELECT city FROM airports) AS a",
        SUB_QUERY,
        lambda s: [(*r, a["city"]) for r in _rows(s.flights, *ALL) for a in s.airports],
    ),
    Construct(
        "`table.*` of a join",
        "SELECT f.* FROM flights AS f ANY LEFT JOIN carriers AS c USING carrier",
        BOTH,
        lambda s: _rows(s.flights, *ALL),
    ),
    Construct(
        "RIGHT JOIN",
        "SELECT flight, title FROM flights ALL RIGHT JOIN carriers USING carrier",
        SUB_QUERY,
        _right_joined,
    ),
    Construct(
        "FULL JOIN",
        "SELECT count() FROM flights ALL FULL JOIN carriers USING carrier",
        SUB_QUERY,
        lambda s: [
            (len(_right_joined(s)) + sum(r["carrier"] not in _known(s) for r in s.flights),)
        ],
    ),
    Construct(
        "ANY INNER JOIN",
        "SELECT count() > 0 FROM flights ANY INNER JOIN carriers USING carrier",
        SUB_QUERY,
        lambda s: [(int(bool(_joined(s))),)],
    ),
    Construct(
        "SEMI LEFT JOIN, ANTI LEFT JOIN",
        "SELECT flight FROM flights SEMI LEFT JOIN carriers USING carrier",
        BOTH,
        lambda s: _rows(_joined(s), "flight"),
        old=False,
    ),
    Construct(
        "join with an append table",
        "SELECT carrier, title FROM airports ANY LEFT JOIN carriers USING carrier",
        SUB_QUERY,
        lambda s: [
            (
                a["carrier"],
                next((c["title"] for c in s.carriers if c["carrier"] == a["carrier"]), ""),
            )
            for a in s.airports
        ],
    ),
    Construct(
        "CROSS JOIN",
        "SELECT count() FROM flights CROSS JOIN airports",
        CONDITION,
        lambda s: [(len(s.flights) * len(s.airports),)],
    ),
    Construct(
        "tables with commas",
        "SELECT count() FROM flights, airports",
        CONDITION,
        lambda s: [(len(s.flights) * len(s.airports),)],
        old=False,
    ),
    Construct(
        "several joins",
        "SELECT count() FROM flights AS f ANY LEFT JOIN carriers AS c ON f.carrier = c.carrier "
        "ANY LEFT JOIN airports AS a ON f.carrier = a.carrier",
        BOTH,
        lambda s: [(len(s.flights),)],
        old=False,
    ),
    Construct(
        "join of a table with itself",
        "SELECT count() FROM flights AS a ANY LEFT JOIN flights AS b USING flight",
        BOTH,
        lambda s: [(len(s.flights),)],
    ),
    Construct(
        "WITH name AS (SELECT ..)",
        "WITH late AS (SELECT flight, carrier FROM flights WHERE delay > 0), few AS (SELECT "
        "carrier FROM late) SELECT flight FROM late WHERE carrier IN few",
        CONDITION,
        lambda s: [(r["flight"],) for r in s.flights if r["delay"] > 0],
    ),
    Construct(
        "WITH expression AS name",
        "WITH 10 AS least, (SELECT max(delay) FROM flights) AS most SELECT flight FROM flights "
        "WHERE delay > least AND delay < most",
        CONDITION,
        lambda s: [
            (r["flight"],)
            for r in s.flights
            if 10 < r["delay"] < max(each["delay"] for each in s.flights)
        ],
    ),
    Construct(
        "WITH tick AS a name of ours",
        "WITH 5 AS tick, 1 AS row_id SELECT flight, tick FROM flights",
        CONDITION,
        lambda s: [(r["flight"], 5) for r in s.flights],
    ),
    Construct(
        "window functions",
        "SELECT flight, row_number() OVER (ORDER BY flight) FROM flights",
        CONDITION,
        lambda s: [(n, at) for at, n in enumerate(sorted(r["flight"] for r in s.flights), start=1)],
        old=False,
    ),
    Construct(
        "`* EXCEPT`, `* REPLACE`, COLUMNS",
        "SELECT * EXCEPT (stops), COLUMNS('flight') FROM flights",
        SUB_QUERY,
        lambda s: [(*r[:3], r[0]) for r in _rows(s.flights, *ALL)],
        old=False,
    ),
    Construct(
        "`*` in a function",
        "SELECT tuple(*).1 FROM flights",
        SUB_QUERY,
        lambda s: _rows(s.flights, "flight"),
    ),
    Construct(
        "$validFrom, $kafkaOffset",
        "SELECT *, $validFrom, flights.$kafkaOffset FROM flights WHERE $validFrom > 3",
        CONDITION,
        lambda s: _rows(
            [r for r in s.flights if r["$validFrom"] > 3], *ALL, "$validFrom", "$kafkaOffset"
        ),
    ),
    Construct(
        "$validUntil",
        "SELECT flight, $validUntil FROM flights",
        CONDITION,
        lambda s: _rows(s.flights, "flight", "$validUntil"),
    ),
    Construct(
        "aggregates of virtual columns",
        "SELECT $validFrom, count(), max($kafkaOffset) FROM flights GROUP BY $validFrom",
        CONDITION,
        lambda s: [
            (
                tick,
                sum(r["$validFrom"] == tick for r in s.flights),
                max(r["$kafkaOffset"] for r in s.flights if r["$validFrom"] == tick),
            )
            for tick in {r["$validFrom"] for r in s.flights}
        ],
    ),
    Construct(
        "virtual columns of a join",
        "SELECT f.flight, f.$validFrom, c.$validFrom FROM flights AS f ALL INNER JOIN carriers AS "
        "c USING carrier",
        BOTH,
        lambda s: _rows(_joined(s), "flight", "$validFrom", "right from"),
    ),
    Construct(
        "coordinates of a join",
        "SELECT f._offset, c._offset FROM flights AS f ALL INNER JOIN carriers AS c USING carrier",
        BOTH,
        lambda s: _rows(_joined(s), "$kafkaOffset", "right offset"),
    ),
    Construct(
        "virtual columns of a sub-query",
        "SELECT x.$validFrom FROM (SELECT $validFrom FROM flights) AS x WHERE $validFrom > 2",
        CONDITION,
        lambda s: [(r["$validFrom"],) for r in s.flights if r["$validFrom"] > 2],
    ),
    Construct(
        "_offset and other coordinates",
        "SELECT flight, _offset, _topic FROM flights",
        CONDITION,
        lambda s: [(r["flight"], r["$kafkaOffset"], "flights") for r in s.flights],
    ),
    Construct(
        "SETTINGS",
        "SELECT count() FROM flights SETTINGS max_threads = 1, max_execution_time = 60",
        CONDITION,
        lambda s: [(len(s.flights),)],
    ),
]

REFUSED = {
    "INSERT INTO flights VALUES (1)": "INSERT .. is no SELECT",
    "ALTER TABLE flights DELETE WHERE 1": "ALTER .. is no SELECT",
    "OPTIMIZE TABLE flights": "OPTIMIZE .. is no SELECT",
    "SET max_threads = 1": "SET .. is no SELECT",
    "EXPLAIN SELECT 1": "EXPLAIN .. is no SELECT",
    "DESCRIBE flights": "DESCRIBE .. is no SELECT",
    "": "an empty text is no SELECT",
    "WITH 1 AS x INSERT INTO flights SELECT x": "WITH .. is no SELECT",
    "SELECT 1; SELECT 2": "several statements",
    "SELECT 1; DROP TABLE flights": "several statements",
    "SELECT * FROM flights INTO OUTFILE 'x'": "INTO OUTFILE",
    "SELECT * FROM flights FORMAT CSV": "FORMAT",
    "SELECT * FROM flights FINAL": "FINAL of flights",
    "SELECT * FROM flights SAMPLE 0.1": "SAMPLE of flights",
    "SELECT * FROM flights__rows": "flights__rows keeps the upsert table flights",
    "SELECT 1 FROM airports WHERE carrier IN carriers__updates": "carriers__updates keeps",
    "SELECT * FROM url('http://x', 'CSV', 'a String')": "the table function url",
    "SELECT * FROM file('x', 'CSV', 'a String'), flights": "the table function file",
    "SELECT * FROM remote('x', default.flights)": "the table function remote",
    "SELECT * FROM merge(default, '^flights__rows')": "the table function merge",
    "SELECT * FROM cluster('x', default, flights)": "the table function cluster",
    "SELECT _until FROM flights": "_until is a name of Sluice's own",
    "SELECT flight AS _row_id FROM flights": "_row_id is a name of Sluice's own",
    "SELECT delay AS _offset, $kafkaOffset FROM flights": "_offset is a name of Sluice's own",
    "WITH 1 AS _row SELECT _row FROM flights": "_row is a name of Sluice's own",
    "SELECT * FROM flights f FINAL": "FINAL of flights",
    "SELECT * FROM flights AS _ends": "_ends is a name of Sluice's own",
    "SELECT `_deleted` FROM flights": "_deleted is a name of Sluice's own",
    "SELECT f._key FROM flights AS f": "_key is a name of Sluice's own",
    "SELECT $offset FROM flights": "there is no column $offset",
    "SELECT $endKind FROM flights": "$endKind is known with --all-versions only",
    "SELECT $validFrom FROM flights ANY LEFT JOIN carriers USING carrier": "of several tables",
    "SELECT *, c.$validFrom FROM flights ANY LEFT JOIN carriers AS c USING carrier": "* beside",
    "SELECT 1 FROM flights ALL INNER JOIN carriers USING $validFrom": "USING $validFrom",
    "SELECT flight FROM flights SETTINGS set_overflow_mode = 'break'": "SETTINGS set_overflow_mode",
    "WITH RECURSIVE x AS (SELECT 1) SELECT * FROM x": "WITH RECURSIVE",
    "SELECT flight FROM flights WHERE carrier IN (carriers)": "IN (carriers): write IN carriers",
    "SELECT flight FROM flights WHERE globalIn(carrier, carriers)": "globalIn(..) of a table",
    "SELECT flight FROM (flights)": "flights in a place of its own kind",
    "FROM flights SELECT flight": "FROM .. is no SELECT",
    "SHOW TABLES": "SHOW .. is no SELECT",
    "EXISTS TABLE flights": "EXISTS .. is no SELECT",
    "CREATE TABLE x ENGINE = Memory AS SELECT * FROM flights": "CREATE .. is no SELECT",
    "INSERT INTO x SELECT flight FROM flights": "INSERT .. is no SELECT",
    "SELECT * FROM VALUES('a UInt8', 1), flights": "the table function values",
    "SELECT 1 FROM flights WHERE 1 IN (SELECT a FROM mysql('h', 'd', 't', 'u', 'p'))": "mysql",
    "SELECT _part FROM flights": "_part is no column of flights, which has those of its settings",
    "SELECT f._table FROM flights f ANY LEFT JOIN carriers USING carrier": "_table is no column",
    "SELECT flight FROM flights WHERE flight = {x:UInt32}": "a parameter",
    "SELECT flight FROM flights WHERE flight = ?": "a parameter",
    "SELECT delay AS limit FROM flights WHERE limit > 3": "LIMIT is a clause or a name: quote",
    "SELECT flight FROM flights WHERE window OR 1": "WINDOW is a clause or a name: quote",
    "SELECT flight\nFROM flights\nWHERE delay MOD 3": "in line 3, near '",
    "\ufeffSELECT flight FROM flights": "the sign '\\ufeff' in line 1 is none of ClickHouse's",
    "SELECT '\udcff' FROM flights": "the query is no text of UTF-8",
    "SELECT 'open FROM flights": "a string that begins in line 1 does not end",
    "SELECT\n`open FROM flights": "a quoted name that begins in line 2 does not end",
    "SELECT 1 /* FROM flights": "a comment that begins in line 1 does not end",
    "SELECT (1 FROM flights": "a bracket is not closed",
    "SELECT 1) FROM flights": "a bracket is closed that was not opened",
    "SELECT $tag$ x $tag$ FROM flights": "$",
    "SELECT flight FROM flights WHERE": "the query cannot be read",
    f"SELECT {'(' * 3000}1{')' * 3000} FROM flights": "the query cannot be read",
    "SELECT 1 FROM flights RIGHT JOIN carriers USING carrier PREWHERE 1": "PREWHERE: flights",
}
"""Queries that are refused, and what their error begins with or names."""
