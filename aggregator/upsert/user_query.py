"""Query of a user over upsert tables: the tables, columns and sets that it names. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from aggregator.tables.table_schema import COORDINATES
from aggregator.upsert.seen_rows import ENDS, VERSION_COLUMNS, VIRTUAL_COLUMNS, UpsertNames
from aggregator.upsert.sql_text import QueryRefused, SelectText, Span, Statement
from aggregator.upsert.table_names import UPSERT_COLUMNS, rows_table, ticks_table, updates_table
from aggregator.upsert.taken_statements import refuse_function, tree_of

if TYPE_CHECKING:
    from sqlglot import exp

OWN_NAMES = frozenset(UPSERT_COLUMNS) | {ENDS}
"""Names that a query over an upsert table may not use: its condition has them."""
_FUNCTIONS_OF_IN = frozenset(["in", "notin", "globalin", "globalnotin", "nullin", "notnullin"])
_OF_LEFT_JOINS = frozenset(["", "ALL", "ANY", "OUTER", "SEMI", "ANTI", "ASOF"])
_OF_OTHER_JOINS = frozenset(["", "ALL", "INNER", "CROSS"])
"""Kinds of joins that take the rows of their left table one by one. ANY INNER JOIN does not: new
servers give each row of the right side to one row of the left, which might be an ended one."""


@dataclass(slots=True, eq=False)
class Source:
    """Upsert table, or common table expression, in the FROM of a SELECT.

    Args:
        name: by which its columns are qualified: the alias, or the table's name.
        place: in the text, the database included.
        table_at: position of the table's own name.
        is_left: it is the first one, and each join keeps or drops its rows one by one.
        is_joined: there are others beside it.
        extra: virtual columns and coordinates that the query names.
    """

    name: str
    has_alias: bool
    place: Span
    table_at: int
    is_left: bool
    is_joined: bool
    upsert: UpsertNames | None = None
    expression: TableExpression | None = None
    extra: dict[str, None] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Select:
    """SELECT with upsert tables in its FROM.

    Args:
        upserts: those tables.
        count: of all tables and sub-queries in its FROM.
        has_odd_star: it names columns by *, but not as a list that can be written out.
    """

    text: SelectText
    count: int
    upserts: list[Source] = field(default_factory=list)
    has_odd_star: bool = False


class TableExpression(NamedTuple):
    """Common table expression: the `whole` of `name AS (body)`; the name is known in `scope`."""

    name: str
    whole: Span
    body: Span
    scope: Span


class NamedColumn(NamedTuple):
    """Virtual column in the text.

    Args:
        source: whose column it is; None for one of a sub-query.
        needs_name: it is in an item of the SELECT's list that has no alias.
    """

    place: Span
    name: str
    source: Source | None
    needs_name: bool


class Star(NamedTuple):
    """`*` or `table.*` that can be written out."""

    place: Span
    is_qualified: bool
    source: Source


class UserQuery:
    """Query of a user over upsert tables.

    Args:
        known: upsert tables by name, which is letters, digits and _.
        database: that they are in, and that the connection names.
        is_all_versions: the columns of all versions can be named.

    Raises QueryRefused.
    """

    def __init__(
        self,
        text: str,
        known: Mapping[str, UpsertNames],
        database: str = "default",
        *,
        is_all_versions: bool = False,
    ) -> None:
        self.statement = Statement(text)
        self._known = known
        self._database = database
        self._columns = (
            dict.fromkeys((*VIRTUAL_COLUMNS, *VERSION_COLUMNS))
            if is_all_versions
            else dict.fromkeys(VIRTUAL_COLUMNS)
        )
        self._own_tables = {
            own(table): table for table in known for own in (rows_table, updates_table, ticks_table)
        }
        tree = tree_of(self.statement)
        self.expressions = list(self._table_expressions(tree))
        self.selects: list[Select] = []
        self.references: list[Source] = []
        """Common table expressions in a FROM."""
        self.sets: list[tuple[Span, UpsertNames | TableExpression]] = []
        """Tables behind IN."""
        self.qualified: list[Span] = []
        """Databases, with the dot behind, that qualify columns of upsert tables."""
        self.columns: list[NamedColumn] = []
        self.stars: list[Star] = []
        self._given: set[str] = set()
        """Names that the user gives: aliases, and those of tables and settings."""
        self._refuse_keywords(tree)
        self._find_sources(tree)
        self._find_sets(tree)
        self._find_stars(tree)
        self._find_columns(tree)

    @property
    def tables(self) -> tuple[str, ...]:
        """Upsert tables that the query reads, in the order of the text."""
        found = [
            (each.table_at, each.upsert.table)
            for select in self.selects
            for each in select.upserts
            if each.upsert
        ]
        found += [
            (place.start, each.table) for place, each in self.sets if isinstance(each, UpsertNames)
        ]
        return tuple(dict.fromkeys(table for _, table in sorted(found)))

    def key_condition(self, select: Select, source: Source) -> str:
        """Returns the condition that names one key, if each row of a SELECT has to meet it.

        It is empty unless WHERE has `column = literal` for each column of the key, joined by AND,
        and the table is alone. A name that the user gives to anything else is not trusted: servers
        take aliases for columns.
        """
        assert source.upsert
        key, text = source.upsert.key, select.text
        if not key or select.count > 1 or "WHERE" not in text.clauses or self._given & {*key}:
            return ""
        found: dict[str, str] = {}
        begin, end = text.clauses["WHERE"] + 1, text.clause_end("WHERE")
        for first, behind in self.statement.terms(begin, end):
            for name in key:
                if behind - first == 3 and self._is_equality(first, name):
                    span = self.statement.span(first, behind)
                    found[name] = self.statement.text[span.start : span.end]
        return " AND ".join(found.values()) if len(found) == len(key) else ""

    def _is_equality(self, first: int, name: str) -> bool:
        """Returns True for the tokens of `name = literal`."""
        statement = self.statement
        column, sign, literal = (statement.tokens[first + at] for at in range(3))
        is_literal = statement.read.copy[literal.start] == "'" or literal.text.isdecimal()
        return statement.name_at(column.start) == name and sign.text == "=" and is_literal

    def _refuse_keywords(self, tree: exp.Expr) -> None:
        """Raises QueryRefused for a keyword of a clause that sqlglot reads as a name."""
        from sqlglot import exp

        statement = self.statement
        clauses = {
            statement.tokens[at].start: word
            for select in statement.selects
            for word, at in select.clauses.items()
        }
        for identifier in tree.find_all(exp.Identifier):
            if word := clauses.get(identifier.meta.get("start", -1)):
                raise QueryRefused(f"{word} is a clause or a name: quote names that are keywords")

    # -- common table expressions

    def _table_expressions(self, tree: exp.Expr) -> Iterator[TableExpression]:
        from sqlglot import exp

        statement = self.statement
        for node in tree.find_all(exp.CTE):
            alias = node.args["alias"]
            if node.args.get("scalar") or not isinstance(alias, exp.TableAlias):
                continue
            position = _position(alias.this)
            at = statement.number_at(position)
            if statement.word(at + 1) != "AS" or statement.word(at + 2) != "(":
                continue  # An expression with a name, such as WITH 1 AS x.
            name, end = statement.name_at(position), statement.closing[at + 2]
            select = statement.select_at(position)
            if alias.args.get("columns") or select is None:
                raise QueryRefused(f"WITH {name} (columns): name the columns in its SELECT")
            yield TableExpression(
                name=name,
                whole=statement.span(at, end + 1),
                body=statement.span(at + 3, end),
                scope=Span(statement.tokens[end].end + 1, self._bracket_end(select)),
            )

    def _bracket_end(self, select: SelectText) -> int:
        """Returns where the bracket around a SELECT, and around all of its UNION, ends."""
        statement = self.statement
        around = [
            end
            for begin, end in statement.closing.items()
            if begin < select.first and end >= select.end
        ]
        return statement.tokens[min(around)].start if around else len(statement.text)

    def _expression_at(self, name: str, position: int) -> TableExpression | None:
        """Returns the common table expression that a name means at a position."""
        around = [
            each for each in self.expressions if each.name == name and each.scope.contains(position)
        ]
        return max(around, key=lambda each: each.scope.start, default=None)

    # -- tables

    def _find_sources(self, tree: exp.Expr) -> None:
        from sqlglot import exp

        for node in tree.find_all(exp.Table):
            if not isinstance(node.this, exp.Identifier):
                refuse_function(node.this)
                continue
            around, wrapper = node.parent, ""
            while isinstance(around, exp.Final | exp.TableSample):
                wrapper = "FINAL" if isinstance(around, exp.Final) else "SAMPLE"
                around = around.parent
            wrapper = "SAMPLE" if node.args.get("sample") else wrapper
            table, at = self._name(node.this), _position(node.this)
            expression = None if node.args.get("db") else self._expression_at(table, at)
            upsert = None if expression else self._upsert(node)
            if expression is None and upsert is None:
                continue
            if wrapper:
                mend = {
                    "FINAL": "the newest row of each key is shown without it; leave it out",
                    "SAMPLE": "it has no sampling key; use a condition in WHERE",
                }
                raise QueryRefused(f"{wrapper} of {table}: {mend[wrapper]}")
            owner = node.find_ancestor(exp.Select)
            if not isinstance(around, exp.From | exp.Join) or owner is None:
                raise QueryRefused(f"{table} in a place of its own kind: write FROM {table}")
            self._add_source(node, around, owner, upsert, expression)

    def _add_source(
        self,
        node: exp.Table,
        around: exp.Expr,
        owner: exp.Select,
        upsert: UpsertNames | None,
        expression: TableExpression | None,
    ) -> None:
        from sqlglot import exp

        statement, table, at = self.statement, self._name(node.this), _position(node.this)
        alias = node.args.get("alias")
        given = self._name(alias.this) if alias is not None and alias.this is not None else ""
        if alias is not None and alias.args.get("columns"):
            raise QueryRefused(f"{given} (columns): name the columns in a sub-query")
        joins = [each for each in owner.args.get("joins") or () if each.args.get("kind") != "ARRAY"]
        source = Source(
            name=given or table,
            has_alias=bool(given),
            place=Span(_first(node), _end(statement, node.this)),
            table_at=at,
            is_left=isinstance(around, exp.From) and all(map(_keeps_left, joins)),
            is_joined=bool(joins),
            upsert=upsert,
            expression=expression,
        )
        if expression is not None:
            self.references.append(source)
            return
        text = statement.select_at(at)
        if text is None or not _is_within_from(statement, text, at):
            raise QueryRefused(f"{table} is not in a FROM behind SELECT: write SELECT .. FROM")
        for word, key in (("PREWHERE", "prewhere"), ("WHERE", "where"), ("GROUP BY", "group")):
            if (word in text.clauses) != bool(owner.args.get(key)):
                raise QueryRefused(f"{word} is a clause or a name: quote names that are keywords")
        select = next((each for each in self.selects if each.text is text), None)
        if select is None:
            select = Select(text, count=1 + len(joins))
            self.selects.append(select)
        select.upserts.append(source)

    def _upsert(self, node: exp.Table) -> UpsertNames | None:
        database = node.args.get("db")
        if database is not None and self._name(database) != self._database:
            return None
        return self._known_table(self._name(node.this))

    def _known_table(self, name: str) -> UpsertNames | None:
        """Returns the upsert table of a name. Raises QueryRefused for one of those that keep it."""
        if name in self._own_tables:
            raise QueryRefused(
                f"{name} keeps the upsert table {self._own_tables[name]}: query that one, and for "
                "rows that ended with --all-versions"
            )
        return self._known.get(name)

    # -- sets: `key IN table`

    def _find_sets(self, tree: exp.Expr) -> None:
        from sqlglot import exp

        for node in tree.find_all(exp.In):
            several = node.args.get("expressions") or ()
            for column in [node.args.get("field"), *(several if len(several) == 1 else ())]:
                found = self._set(column)
                if found is None:
                    continue
                if several:
                    name = self._name(column.this)
                    raise QueryRefused(f"IN ({name}): write IN {name}, or IN (SELECT ..)")
                self.sets.append((Span(_first(column), _end(self.statement, column.this)), found))
        for function in tree.find_all(exp.Anonymous):
            if str(function.this).lower() in _FUNCTIONS_OF_IN:
                for column in function.expressions:
                    if self._set(column) is not None:
                        raise QueryRefused(
                            f"{function.this}(..) of a table: write .. IN (SELECT ..)"
                        )

    def _set(self, column: Any) -> UpsertNames | TableExpression | None:
        from sqlglot import exp

        if not isinstance(column, exp.Column) or not isinstance(column.this, exp.Identifier):
            return None
        name, database = self._name(column.this), column.args.get("table")
        if database is None and (found := self._expression_at(name, _position(column.this))):
            return found
        if database is not None and self._name(database) != self._database:
            return None
        return self._known_table(name)

    # -- stars

    def _find_stars(self, tree: exp.Expr) -> None:
        from sqlglot import exp

        statement = self.statement
        for number in range(len(statement.tokens)):
            if statement.word(number) == "COLUMNS" and statement.word(number + 1) == "(":
                self._mark_odd(statement.tokens[number].start)
        for node in tree.find_all(exp.Star):
            position = node.meta.get("start")
            outer = node.parent if isinstance(node.parent, exp.Column) else node
            if position is None:
                raise QueryRefused("* in a place of its own kind: name the columns")
            if isinstance(outer.parent, exp.Count):
                continue
            number = statement.number_at(position)
            select = self._select_at(position)
            ends = select is not None and number + 1 == select.text.clause_end("SELECT")
            is_item = isinstance(outer.parent, exp.Select) and outer.arg_key == "expressions"
            if select is None:
                continue
            if not (is_item and (ends or statement.word(number + 1) == ",")):
                select.has_odd_star = True
            elif outer is node:
                if select.count == 1:
                    place = Span(position, position + 1)
                    self.stars.append(Star(place, False, select.upserts[0]))
                else:
                    select.has_odd_star = True
            else:
                first = _first(outer)
                qualifier = self._name(outer.args["table"])
                for source in select.upserts:
                    if source.name == qualifier:
                        self.stars.append(Star(Span(first, position + 1), True, source))

    def _mark_odd(self, position: int) -> None:
        select = self._select_at(position)
        if select is not None:
            select.has_odd_star = True

    def _select_at(self, position: int) -> Select | None:
        text = self.statement.select_at(position)
        return next((each for each in self.selects if each.text is text), None)

    # -- columns

    def _find_columns(self, tree: exp.Expr) -> None:
        from sqlglot import exp

        columns = [
            each for each in tree.find_all(exp.Column) if isinstance(each.this, exp.Identifier)
        ]
        seen = {_position(each.this) for each in columns}
        others = {
            at: identifier
            for identifier in tree.find_all(exp.Identifier)
            if (at := identifier.meta.get("start")) is not None and at not in seen
        }
        self._given.update(map(self.statement.name_at, others))
        for column in columns:
            self._see_column(column)
        for position, identifier in others.items():
            name = self.statement.name_at(position)
            self._refuse_own(name, is_new=True)
            if name.startswith("$"):
                self._refuse_unknown(name)
                if isinstance(identifier.parent, exp.Join):
                    raise QueryRefused(f"USING {name}: write ON, with both sides")
                place = Span(position, _end(self.statement, identifier))
                self.columns.append(NamedColumn(place, name, None, False))

    def _see_column(self, node: exp.Column) -> None:
        name, position = self._name(node.this), _position(node.this)
        qualifier = node.args.get("table")
        source = self._owner(None if qualifier is None else self._name(qualifier), name, position)
        if name in OWN_NAMES and source is not None:
            self._refuse_own(name)
        if name.startswith("$"):
            self._refuse_unknown(name)
            place = Span(_first(node), _end(self.statement, node.this))
            if source is None:
                place = Span(position, place.end)
            else:
                source.extra[name] = None
            self.columns.append(NamedColumn(place, name, source, _needs_name(node)))
        else:
            if name in COORDINATES and source is not None:
                source.extra[name] = None
            elif name.startswith("_") and source is not None:
                self._refuse_physical(name, qualifier is not None, source)
            database = node.args.get("db")
            if database is not None and source is not None and not source.has_alias:
                assert qualifier is not None
                self.qualified.append(Span(_position(database), _position(qualifier)))

    def _owner(self, qualifier: str | None, name: str, position: int) -> Source | None:
        """Returns the upsert table of the SELECT around that a column is of, as far as is known.

        Raises QueryRefused for a column of ours without a qualifier where several tables have it.
        """
        text = self.statement.select_at(position)
        while text is not None:
            select = next((each for each in self.selects if each.text is text), None)
            for source in select.upserts if select else ():
                if qualifier == source.name:
                    return source
            if qualifier is None and "FROM" in text.clauses:
                if select is None:
                    return None
                is_ours = name.startswith("$") or name in COORDINATES
                if select.count > 1 and is_ours:
                    raise QueryRefused(
                        f"{name} of several tables: write {select.upserts[0].name}.{name}"
                    )
                return select.upserts[0]
            text = self.statement.select_around(text)
        return None

    def _refuse_own(self, name: str, *, is_new: bool = False) -> None:
        """Raises QueryRefused for a name of ours.

        Args:
            is_new: the user gives the name to something, such as an alias. Servers may take that
                for the column of the same name.
        """
        is_ours = name in OWN_NAMES or (is_new and name in COORDINATES)
        if is_ours and (self.selects or self.sets):
            raise QueryRefused(
                f"{name} is a name of Sluice's own; use {', '.join(VIRTUAL_COLUMNS)}, and other "
                "names for yours"
            )

    def _refuse_physical(self, name: str, is_qualified: bool, source: Source) -> None:
        """Raises QueryRefused for a column of the store's own, such as _part.

        It tells how a server keeps the rows, in which no two servers need agree.
        """
        assert source.upsert
        is_known = name in source.upsert.columns or name in self._given
        if not is_known and (is_qualified or not source.is_joined):
            raise QueryRefused(
                f"{name} is no column of {source.upsert.table}, which has those of its settings "
                f"and {', '.join((*VIRTUAL_COLUMNS, *COORDINATES))}"
            )

    def _refuse_unknown(self, name: str) -> None:
        if name in self._columns:
            return
        if name in VERSION_COLUMNS:
            raise QueryRefused(f"{name} is known with --all-versions only")
        raise QueryRefused(f"there is no column {name}; there are {', '.join(self._columns)}")

    def _name(self, identifier: exp.Expr) -> str:
        return self.statement.name_at(_position(identifier))


def _keeps_left(join: exp.Join) -> bool:
    """Returns True if a join keeps or drops rows of its left table one by one."""
    kind, side = str(join.args.get("kind") or ""), str(join.args.get("side") or "")
    # sqlglot's side of `ALL INNER JOIN` is INNER, that of `INNER JOIN` is empty.
    keeping = {"LEFT": _OF_LEFT_JOINS, "INNER": _OF_OTHER_JOINS, "": _OF_OTHER_JOINS}
    return not join.args.get("method") and kind in keeping.get(side, ())


def _is_within_from(statement: Statement, text: SelectText, position: int) -> bool:
    if "FROM" not in text.clauses:
        return False
    place = statement.span(text.clauses["FROM"], text.clause_end("FROM"))
    return place.contains(position)


def _needs_name(node: exp.Expr) -> bool:
    """Returns True for a column in an item of a SELECT's list that has no alias."""
    from sqlglot import exp

    while node.parent is not None and not isinstance(node.parent, exp.Select):
        node = node.parent
    return node.arg_key == "expressions" and not isinstance(node, exp.Alias)


def _position(node: exp.Expr) -> int:
    position = node.meta.get("start")
    if position is None:
        raise QueryRefused(f"{node.sql()} in a place of its own kind: use a sub-query")
    return int(position)


def _first(node: exp.Expr) -> int:
    """Returns where a table or column begins, its qualifiers included."""
    parts: Iterable[Any] = (node.args.get(key) for key in ("catalog", "db", "table", "this"))
    return min(_position(part) for part in parts if part is not None and "start" in part.meta)


def _end(statement: Statement, node: exp.Expr) -> int:
    return statement.tokens[statement.number_at(_position(node))].end + 1
