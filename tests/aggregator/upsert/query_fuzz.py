"""Queries of any nesting over the tables of the small history, which mean something."""

from __future__ import annotations

from hypothesis import strategies as st

COLUMNS = {
    "flights": ("flight", "carrier", "delay"),
    "carriers": ("carrier", "title", "rank"),
    "airports": ("carrier", "city"),
}
JOINS = (
    "ANY LEFT JOIN",
    "ALL LEFT JOIN",
    "ALL INNER JOIN",
    "ALL RIGHT JOIN",
    "GLOBAL ALL INNER JOIN",
    "ALL FULL JOIN",
)
CONDITIONS = (
    "delay > 20",
    "delay < 0 OR delay > 60",
    "rank >= 3",
    "carrier = 'AA'",
    "NOT rank = 1",
)
SPACES = (" ", "\n", "  /* FROM flights */ ", " -- it's WHERE 0\n")


@st.composite
def selects(draw: st.DrawFn, depth: int = 2) -> str:
    """A SELECT whose rows have no order."""
    joined = draw(st.booleans())
    left, left_name, columns = draw(_sources(depth, "a"))
    place = left
    on = ""
    if joined:
        right, on, more = draw(_sources(depth, "b"))
        # ANY picks a row where the carrier is no key.
        join = draw(
            st.sampled_from([each for each in JOINS if "ANY" not in each or "city" in more])
        )
        place = f"{left} {join} {right} USING carrier"
        columns = tuple(dict.fromkeys([*columns, *more]))
    space = draw(st.sampled_from(SPACES))
    conditions = [
        each for each in CONDITIONS if any(name in each for name in columns if name != "city")
    ]
    # 18.16 takes conditions of ordinary tables before RIGHT and FULL joins, which is wrong.
    is_safe = "RIGHT" not in place and "FULL" not in place
    where = draw(st.sampled_from(["", *conditions])) if conditions and is_safe else ""
    inner = draw(_sub_selects(depth))
    if inner and is_safe and draw(st.booleans()):
        test = f"carrier {draw(st.sampled_from(['IN', 'NOT IN', 'GLOBAL IN']))} {inner}"
        where = f"{where} AND {test}" if where else test
    tail = f"{space}WHERE {where}" if where else ""
    if draw(st.booleans()):
        items = f"carrier, count() AS n{', sum(delay) AS d' if 'delay' in columns else ''}"
        return f"SELECT {items}{space}FROM {place}{tail} GROUP BY carrier"
    if draw(st.booleans()) and not joined:
        star = draw(st.sampled_from(["*", f"{left_name}.*"]))
        return f"SELECT {star} FROM{space}{place}{tail}"
    names = draw(st.lists(st.sampled_from(columns), min_size=1, max_size=3, unique=True))
    qualified = [
        f"{left_name}.{name}" if name == "carrier" and (on or draw(st.booleans())) else name
        for name in names
    ]
    return f"SELECT {', '.join(qualified)}{space}FROM {place}{tail}"


@st.composite
def _sources(draw: st.DrawFn, depth: int, alias: str) -> tuple[str, str, tuple[str, ...]]:
    """A table or sub-query, its name, and the columns that it is known to have."""
    if depth and draw(st.booleans()) and draw(st.booleans()):
        table = draw(st.sampled_from(sorted(COLUMNS)))
        inner = f"SELECT {', '.join(COLUMNS[table])} FROM {table}"
        return f"({inner}) AS {alias}", alias, COLUMNS[table]
    table = draw(st.sampled_from(sorted(COLUMNS)))
    form = draw(st.sampled_from([f"{table} AS {alias}", f"{table} {alias}"]))
    return form, alias, COLUMNS[table]


@st.composite
def _sub_selects(draw: st.DrawFn, depth: int) -> str:
    """A sub-query of carriers in brackets; empty where nesting ends."""
    if not depth:
        return ""
    table = draw(st.sampled_from(sorted(COLUMNS)))
    conditions = [each for each in CONDITIONS if any(name in each for name in COLUMNS[table])]
    where = draw(st.sampled_from(conditions))
    nested = draw(_sub_selects(depth - 1))
    if nested and draw(st.booleans()):
        where = f"({where}) OR carrier IN {nested}"
    return f"(SELECT carrier FROM {table} WHERE {where})"


@st.composite
def any_queries(draw: st.DrawFn) -> str:
    """A query that may name sub-queries, or join two SELECTs."""
    one = draw(selects())
    kind = draw(st.sampled_from(["plain", "plain", "union", "with", "scalar"]))
    if kind == "union":
        other = draw(_sub_selects(2))[1:-1]
        return f"SELECT carrier FROM flights WHERE delay > 0 UNION ALL {other}"
    if kind == "with":
        inner = draw(_sub_selects(2))
        return f"WITH few AS {inner} SELECT count() AS n FROM flights WHERE carrier IN few"
    if kind == "scalar":
        return "SELECT flight, (SELECT max(delay) FROM flights) AS most FROM flights"
    return one
