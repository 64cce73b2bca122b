"""Taken statements: a single SELECT, with settings and functions that change no mark. Pure."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from aggregator.upsert.sql_text import DIALECT, QueryRefused, Statement

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.errors import ParseError

# sqlglot warns of texts that it reads all the same. An error says more, and is raised.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)

TABLE_FUNCTIONS = frozenset(["numbers", "numbers_mt", "zeros", "zeros_mt"])
"""Table functions that read no table and no other server."""
SETTINGS = frozenset(
    [
        "join_use_nulls",
        "max_block_size",
        "max_bytes_before_external_group_by",
        "max_bytes_before_external_sort",
        "max_execution_time",
        "max_memory_usage",
        "max_threads",
        "priority",
    ]
)
"""Settings that a query may name: they change no answer but that of the user's own joins."""
SHOWN_BEFORE, SHOWN_BEHIND = 30, 15
"""Characters that are shown around a place that cannot be read."""


def tree_of(statement: Statement) -> exp.Expr:
    """Returns sqlglot's reading of a text. Raises QueryRefused for all but a SELECT."""
    from sqlglot import exp, parse
    from sqlglot.errors import ParseError, SqlglotError

    first = next((at for at in range(len(statement.tokens)) if statement.word(at) != "("), 0)
    word = statement.word(first)
    if word not in ("SELECT", "WITH"):
        what = f"{word} .." if word else "an empty text"
        raise QueryRefused(f"{what} is no SELECT: a query at a mark only reads")
    for select in statement.selects:
        for clause, mend in (
            ("INTO", "INTO OUTFILE: use the output of the command"),
            ("FORMAT", "FORMAT: use --output; quote a column of this name"),
        ):
            if clause in select.clauses:
                raise QueryRefused(mend)
    try:
        trees = [tree for tree in parse(statement.copy, read=DIALECT) if tree is not None]
    except ParseError as error:
        raise QueryRefused(f"the query cannot be read{_place_of(error, statement)}") from None
    except (SqlglotError, RecursionError) as error:
        why = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        raise QueryRefused(f"the query cannot be read: {why}") from None
    if len(trees) != 1:
        raise QueryRefused("several statements: give one SELECT at a time")
    [tree] = trees
    if not isinstance(tree, exp.Query):
        raise QueryRefused(f"{word} .. is no SELECT: a query at a mark only reads")
    for node in tree.find_all(exp.Command, exp.DML, exp.DDL, exp.Lateral, exp.Pivot):
        if not isinstance(node, exp.Query):
            raise QueryRefused(f"{node.key.upper()} within a SELECT: use a join or a sub-query")
    if tree.find(exp.Placeholder, exp.Parameter):
        raise QueryRefused("a parameter, as {name:Type} or ?: write the value in its place")
    for place in tree.find_all(exp.From, exp.Join):
        # VALUES takes what stands behind its comma, be it a table, for one of its rows.
        if isinstance(place.this, exp.Values):
            refuse_function(place.this)
    for with_ in tree.find_all(exp.With):
        if with_.args.get("recursive"):
            raise QueryRefused("WITH RECURSIVE: it cannot be written out; use joins")
    _refuse_settings(tree)
    return tree


def _place_of(error: ParseError, statement: Statement) -> str:
    """Returns where sqlglot reads no further: the line, and the text around that place."""
    # The copy for sqlglot is one line: its column is the position in the text.
    end = error.errors[0].get("col") if error.errors else None
    if not end:
        return ": it is no SQL of ClickHouse's"
    line = statement.text.count("\n", 0, end) + 1
    around = statement.text[max(0, end - SHOWN_BEFORE) : end + SHOWN_BEHIND]
    return f" in line {line}, near {' '.join(around.split())!r}"


def _refuse_settings(tree: exp.Expr) -> None:
    from sqlglot import exp

    for select in tree.find_all(exp.Query):
        for each in select.args.get("settings") or ():
            name = each.this.name if isinstance(each, exp.EQ) else each.sql()
            if name not in SETTINGS:
                raise QueryRefused(
                    f"SETTINGS {name}: it may change the answer; put it into the user's profile. "
                    f"Taken are {', '.join(sorted(SETTINGS))}"
                )


def refuse_function(function: exp.Expr) -> None:
    """Raises QueryRefused for a table function that is not taken."""
    name = str(function.this) if isinstance(function.this, str) else function.key
    if name not in TABLE_FUNCTIONS:
        raise QueryRefused(
            f"the table function {name}: a query at a mark reads tables of its server alone; "
            f"taken are {', '.join(sorted(TABLE_FUNCTIONS))}"
        )
