"""Query rewrite: a SELECT over upsert tables becomes one over the tables that keep them. Pure.

The user's text stays as it is but for the places that are spliced: sqlglot prints other text than
it read, so it only says what stands where. An upsert table that is the only table of its SELECT, or
the left one of a join that takes its rows one by one, becomes the table of all rows, with a
condition in WHERE: the store's index serves the user's conditions as well. In any other place, such
as the optional side of an outer join, it becomes a sub-query of the rows that are seen (decision
0108).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from aggregator.store.identifier import quoted
from aggregator.upsert.seen_rows import VERSION_COLUMNS, ReadMark, expression, rows_at, seen
from aggregator.upsert.sql_text import QueryRefused, Span, Statement
from aggregator.upsert.table_names import rows_table
from aggregator.upsert.user_query import Select, Source, TableExpression, UserQuery

TEXT_MAX = 1_000_000
"""Longest query once common table expressions stand where they are named."""


class _Splice(NamedTuple):
    """Part of the user's text that is replaced; an empty one is a place where text is added."""

    place: Span
    text: Callable[[], str]


def rewritten(query: UserQuery, marks: Mapping[str, ReadMark]) -> str:
    """Returns the query for the store.

    Args:
        marks: at which each of the query's tables is read.

    Raises QueryRefused.
    """
    return _Rewrite(query, marks).render(Span(0, len(query.statement.text)))


class _Rewrite:
    """Splices of one query."""

    def __init__(self, query: UserQuery, marks: Mapping[str, ReadMark]) -> None:
        self._query = query
        self._statement: Statement = query.statement
        self._marks = marks
        self._length = 0
        self._splices: list[_Splice] = []
        flat = {id(each) for select in query.selects for each in self._flat(select)}
        self._flat_ids = frozenset(flat)
        self._tables()
        self._columns()
        self._stars()
        self._expressions()
        # Text is added before what begins at the same place; outer parts come before inner ones.
        self._splices.sort(
            key=lambda it: (it.place.start, it.place.end > it.place.start, -it.place.end)
        )

    def render(self, part: Span) -> str:
        """Returns a part of the text with its splices. Those within another one are left to it."""
        at, parts = part.start, []
        for place, text in self._splices:
            if at <= place.start and place.end <= part.end:
                parts += [self._statement.text[at : place.start], text()]
                at = place.end
        result = "".join([*parts, self._statement.text[at : part.end]])
        self._length += len(result)
        if self._length > TEXT_MAX:
            raise QueryRefused("WITH: the query grows too long once its names are written out")
        return result

    def _splice(self, start: int, end: int, text: str | Callable[[], str]) -> None:
        self._splices.append(_Splice(Span(start, end), text if callable(text) else lambda: text))

    def _flat(self, select: Select) -> list[Source]:
        """Returns the table whose condition goes into the WHERE of its SELECT, if there is one."""
        for source in select.upserts:
            assert source.upsert
            mark = self._marks[source.upsert.table]
            virtual = [name for name in source.extra if name.startswith("$")]
            if (
                source.is_left
                and not select.has_odd_star
                and not mark.is_all_versions
                and all(expression(name, mark) is not None for name in virtual)
            ):
                return [source]
        return []

    def _is_flat(self, source: Source) -> bool:
        return id(source) in self._flat_ids

    # -- tables and their conditions

    def _tables(self) -> None:
        for select in self._query.selects:
            for source in select.upserts:
                assert source.upsert
                mark = self._marks[source.upsert.table]
                if self._is_flat(source):
                    name = "" if source.has_alias else f" AS {quoted(source.name)}"
                    text = f"{rows_table(source.upsert.table)}{name}"
                    self._splice(source.table_at, source.place.end, text)
                    of = source.name if source.is_joined else ""
                    of_key = self._query.key_condition(select, source)
                    self._condition(select, seen(source.upsert.table, mark, of, of_key))
                    continue
                if "PREWHERE" in select.text.clauses and not any(
                    map(self._is_flat, select.upserts)
                ):
                    raise QueryRefused(f"PREWHERE: {source.name} becomes a sub-query; use WHERE")
                if source.extra and select.has_odd_star:
                    names = ", ".join(source.extra)
                    raise QueryRefused(f"* beside {names}: name the columns")
                name = "" if source.has_alias else f" AS {quoted(source.name)}"
                extra = {_name_in_select(each, source): each for each in source.extra}
                rows = rows_at(source.upsert, mark, extra)
                self._splice(*source.place, f"({rows}){name}")
        for place, found in self._query.sets:
            if isinstance(found, TableExpression):
                self._splice(*place, self._bracketed(found))
            else:
                columns = ", ".join(map(quoted, found.columns))
                rows, condition = (
                    rows_table(found.table),
                    seen(found.table, self._marks[found.table]),
                )
                self._splice(*place, f"(SELECT {columns} FROM {rows} WHERE {condition})")
        for span in self._query.qualified:
            self._splice(*span, "")

    def _condition(self, select: Select, condition: str) -> None:
        statement, text = self._statement, select.text
        if "WHERE" in text.clauses:
            keyword = statement.tokens[text.clauses["WHERE"]]
            self._splice(keyword.end + 1, keyword.end + 1, f" ({condition}) AND (")
            end = statement.tokens[text.clause_end("WHERE") - 1].end + 1
            self._splice(end, end, ")")
        else:
            before = "PREWHERE" if "PREWHERE" in text.clauses else "FROM"
            end = statement.tokens[text.clause_end(before) - 1].end + 1
            self._splice(end, end, f" WHERE {condition}")

    # -- columns

    def _columns(self) -> None:
        named: set[int] = set()
        for column in self._query.columns:
            source = column.source
            if source is None:
                self._splice(*column.place, quoted(column.name))
                continue
            assert source.upsert
            name = _name_in_select(column.name, source)
            if self._is_flat(source):
                mark = self._marks[source.upsert.table]
                of = source.name if source.is_joined else ""
                self._splice(*column.place, expression(column.name, mark, of) or "")
                if column.needs_name:
                    self._name_item(column.place, name, named)
            else:
                front = "" if source.is_joined else f"{quoted(source.name)}."
                self._splice(*column.place, f"{front}{quoted(name)}")

    def _name_item(self, column: Span, name: str, named: set[int]) -> None:
        """Gives the item that a column is in a name: its own, or the text of the item."""
        statement = self._statement
        text = statement.select_at(column.start)
        assert text is not None
        for first, end in statement.items(statement.list_begin(text), text.clause_end("SELECT")):
            span = statement.span(first, end)
            if span.contains(column.start) and span.end not in named:
                named.add(span.end)
                item = name if span == column else statement.text[span.start : span.end]
                self._splice(span.end, span.end, f" AS {quoted(item)}")

    def _stars(self) -> None:
        for place, is_qualified, source in self._query.stars:
            assert source.upsert
            mark = self._marks[source.upsert.table]
            if not self._is_flat(source) and not source.extra:
                continue
            names = [*source.upsert.columns, *(VERSION_COLUMNS if mark.is_all_versions else ())]
            front = f"{quoted(source.name)}." if is_qualified else ""
            self._splice(*place, ", ".join(f"{front}{quoted(name)}" for name in names))

    # -- common table expressions

    def _expressions(self) -> None:
        """Writes each common table expression where it is named, and takes it out of its WITH."""
        for source in self._query.references:
            assert source.expression
            name = "" if source.has_alias else f" AS {quoted(source.name)}"
            self._splice(*source.place, self._bracketed(source.expression, name))
        written_out = {each.whole for each in self._query.expressions}
        for text in self._statement.selects:
            if text.with_ is None:
                continue
            items = [
                self._statement.span(*item)
                for item in self._statement.items(text.with_ + 1, text.keyword)
            ]
            kept = [item for item in items if item not in written_out]
            if len(kept) == len(items):
                continue
            start = self._statement.tokens[text.with_].start
            end = self._statement.tokens[text.keyword].start
            self._splice(start, end, partial(self._with, kept))

    def _with(self, kept: list[Span]) -> str:
        return f"WITH {', '.join(map(self.render, kept))} " if kept else ""

    def _bracketed(self, each: TableExpression, name: str = "") -> Callable[[], str]:
        return lambda: f"({self.render(each.body)}){name}"


def _name_in_select(column: str, source: Source) -> str:
    """Returns the name of a virtual column or coordinate within its SELECT.

    In a join it has the table's name in it: 18.16 takes `b.x` for any x of the SELECT.
    """
    is_long = source.is_joined and column.startswith("$")
    return f"{source.name}.{column}" if is_long else column
