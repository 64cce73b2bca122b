"""Settings of a [feeds.<name>.tables.<table>] table: a table that keeps one row per key, the
newest.

What is wrong with a table by itself is listed here. Types of columns are looked at by their names
only: whether values of a type can be loaded, and what the store has, `sluice aggregate check` says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Annotated, Literal

import re2
from pydantic import Field, Strict

from replicator.config.settings import (
    BLOCK_ROWS_MAX,
    Float,
    Int,
    Names,
    Patterns,
    Table,
    re2_options,
)

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
NAME_CHARACTERS_MAX = 120
"""Longest name of a table: it is part of file names, and of nodes in ZooKeeper."""
OWN_TABLE_SUFFIXES = ("__rows", "__updates", "__ticks")
"""Ends of the names of the tables that keep an upsert table."""
OWN_COLUMNS = frozenset(
    (
        "_cluster",
        "_topic",
        "_partition",
        "_offset",
        "_row",
        "_incarnation",
        "_row_id",
        "_until",
        "_deleted",
        "_key",
        "_order",
        "_time",
    )
)
"""Columns that an upsert table has beside those of its user."""
RETENTION_HOURS_MAX = 336.0
"""Longest retention: two weeks."""
TICK_RECORDS_MAX = 1_000_000
"""Most offsets of a tick: with 4 096 rows each, their numbers have 32 bits."""

INTEGERS = frozenset(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))
TIMES = frozenset(("Date", "Date32", "DateTime", "DateTime64"))
FLAGS = INTEGERS | {"Bool", "String"}
"""Types of a column that marks deletes."""
KEYS = (
    INTEGERS
    | TIMES
    | {f"{sign}Int{bits}" for sign in ("", "U") for bits in (128, 256)}
    | {"Bool", "String", "FixedString", "UUID", "Enum8", "Enum16", "IPv4", "IPv6"}
    | {"Decimal", "Decimal32", "Decimal64", "Decimal128", "Decimal256"}
)
"""Types of key columns: those whose equal values have one form."""
FLOATS = frozenset(("Float32", "Float64"))
OF_SEVERAL = frozenset(("Array", "Tuple", "Map"))
"""Types of several values, which no table is sorted by."""
LOADABLE = KEYS | FLOATS | OF_SEVERAL
"""Types that can be loaded, as far as their elements can."""
_TYPE = re.compile(r"\s*(?:LowCardinality\()?(Nullable\()?\s*([A-Za-z0-9]*)")

COLUMN_KEYS = ("primary_key", "newest_column", "delete_column", "order_by")
"""Keys that name columns."""

TypeName = Annotated[str, Field(min_length=1, max_length=10_000)]


class UpsertTable(Table):
    """Table [feeds.<name>.tables.<table>] of a feed into ClickHouse."""

    name: str
    """Name of the table, from its table in the file: [feeds.flights.tables.flight_status]."""
    semantic: Literal["append", "upsert"] = "append"
    """append: each record becomes rows. upsert: queries see one row per key, the newest."""
    topics: Patterns = ()
    """RE2 patterns of whole topic names; without any, the topic of the table's name."""
    columns: Annotated[dict[str, TypeName], Field(default_factory=dict)]
    """Columns and their ClickHouse types; `sluice upsert create` makes them."""
    primary_key: Names = ()
    """Columns that identify a row for its users."""
    newest_column: str | None = None
    """Time or version column: the row of the greatest value wins. None: the record's timestamp."""
    delete_column: str | None = None
    """Column by which a record deletes its key: true, not 0, or not empty."""
    empty_value_deletes: Annotated[bool, Strict()] = False
    """A record with an empty value deletes the key that its Kafka key names."""
    retention_hours: Annotated[Float, Field(ge=1, le=RETENTION_HOURS_MAX)] = RETENTION_HOURS_MAX
    """Hours that a row is kept: by newest_column if it is a time, else by Kafka's timestamp."""
    history_seconds: Annotated[Float, Field(ge=1, le=604_800)] = 3600.0
    """Time for which the table can be read as it was."""
    settle_seconds: Annotated[Float, Field(ge=1, le=3600)] = 30.0
    """Interval at which ends of rows are brought into the rows, so that queries need not join."""
    tick_seconds: Annotated[Float, Field(ge=0.1, le=60)] = 1.0
    """Least time between two ticks. A backlog makes them longer."""
    tick_records_max: Annotated[Int, Field(ge=1, le=TICK_RECORDS_MAX)] = 500_000
    """Most offsets of a tick."""
    block_rows: Annotated[Int, Field(ge=1, le=BLOCK_ROWS_MAX)] = 65_536
    """Row numbers of one insert."""
    future_seconds_max: Annotated[Float, Field(ge=1, le=604_800)] = 3600.0
    """Time by which a record may be ahead of its tick; one further ahead is a dead letter."""
    server_lag_seconds: Annotated[Float, Field(ge=1, le=3600)] = 30.0
    """Time by which a server may be behind; one further behind gets no queries."""
    home: str | None = None
    """Cluster that keeps the tick of the table; None: the feed's first."""
    order_by: Names = ()
    """Columns by which rows are sorted in the store; without any, the primary key."""
    state_partitions: Annotated[Int, Field(ge=1, le=1024)] = 2
    """Parts of the state of keys, each a task of every tick. Others have the state read anew."""

    @property
    def is_upsert(self) -> bool:
        return self.semantic == "upsert"

    @property
    def patterns(self) -> tuple[str, ...]:
        """Patterns of the table's topics."""
        return self.topics or (self.name,)

    @property
    def store_names(self) -> frozenset[str]:
        """Names of the view and of the tables that keep an upsert table in the store."""
        return frozenset((self.name, *(f"{self.name}{each}" for each in OWN_TABLE_SUFFIXES)))

    def takes(self, topic: str) -> bool:
        """Returns True if a topic is one of the table's."""
        options = re2_options()
        return any(re2.fullmatch(pattern, topic, options) for pattern in self.patterns)

    @property
    def sorted_by(self) -> tuple[str, ...]:
        """Columns by which rows are sorted in the store."""
        return self.order_by or self.primary_key

    @property
    def newest_is_time(self) -> bool:
        """True if the column that says which row is the newest holds times."""
        return self.newest_column is not None and self.base_type(self.newest_column) in TIMES

    def base_type(self, column: str) -> str:
        """Returns the type of a column without Nullable, LowCardinality and what stands in
        parentheses."""
        return _parts(self.columns[column])[1]

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Yields (key, what is wrong and how it is mended) of the table by itself."""
        if not self.is_upsert:
            for key in sorted(self.model_fields_set - {"name", "semantic"}):
                yield key, 'has no meaning with semantic = "append"; set "upsert", or remove it'
            return
        if flaw := table_name_flaw(self.name):
            yield "", flaw
        yield from self._column_names()
        yield from self._unknown()
        yield from self._key()
        yield from self._newest()
        yield from self._deletes()
        yield from self._sorting()
        yield from self._times()

    def _column_names(self) -> Iterator[tuple[str, str]]:
        if not self.columns:
            yield "columns", 'are missing: name each with its type, columns = { id = "UInt64" }'
        for name, kind in self.columns.items():
            if name in OWN_COLUMNS:
                yield f"columns.{name}", "is a column of Sluice's own; name yours otherwise"
            elif not NAME.fullmatch(name):
                yield f"columns.{name}", "a column's name is letters, digits and _"
            base = _parts(kind)[1]
            if base == "Nested":
                text = "a Nested column becomes several; make it Array(Tuple(...))"
                yield f"columns.{name}", text
            elif base not in LOADABLE:
                near = get_close_matches(base, sorted(LOADABLE), n=1, cutoff=0.6)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                yield f"columns.{name}", f"columns of type {kind:.100} cannot be loaded{hint}"

    def _key(self) -> Iterator[tuple[str, str]]:
        if not self.primary_key:
            yield "primary_key", "is missing: name the columns that identify a row"
        for name, is_nullable, base in self._known(*self.primary_key):
            if is_nullable:
                yield "primary_key", f"{name} is Nullable, and NULL equals nothing; make it {base}"
            elif base in FLOATS:
                text = f"{name} is {base}: equal numbers may differ in their last digits; "
                yield "primary_key", text + "make it an integer, a Decimal or a String"
            elif base in OF_SEVERAL:
                text = f"{name} is {base}; a key has numbers, texts, times, UUIDs and addresses"
                yield "primary_key", text

    def _newest(self) -> Iterator[tuple[str, str]]:
        for name, is_nullable, base in self._known(self.newest_column):
            if is_nullable:
                yield "newest_column", f"{name} is Nullable, and NULL is no order; make it {base}"
            elif base in LOADABLE - INTEGERS - TIMES:
                text = f"{name} is {base}; it must be an integer of up to 64 bits, a Date, "
                yield "newest_column", text + "or a DateTime"
            if name in self.primary_key:
                text = f"{name} is part of the primary key: no row would ever replace another"
                yield "newest_column", text

    def _deletes(self) -> Iterator[tuple[str, str]]:
        if self.delete_column is not None and self.empty_value_deletes:
            text = "empty_value_deletes marks deletes as well: set one of the two"
            yield "delete_column", text
        for name, _, base in self._known(self.delete_column):
            if base in LOADABLE - FLAGS:
                text = f"{name} is {base}; it must be a Bool, an integer or a String"
                yield "delete_column", text
            if name in self.primary_key:
                yield "delete_column", f"{name} is part of the primary key: it marks no deletes"
            if name == self.newest_column:
                yield "delete_column", f"{name} is newest_column: it marks no deletes"

    def _sorting(self) -> Iterator[tuple[str, str]]:
        for name, is_nullable, base in self._known(*self.order_by):
            if is_nullable or base in OF_SEVERAL:
                kind = "Nullable" if is_nullable else base
                yield "order_by", f"{name} is {kind}: no ClickHouse table is sorted by that"

    def _times(self) -> Iterator[tuple[str, str]]:
        if self.history_seconds < self.settle_seconds:
            yield "history_seconds", f"must be settle_seconds ({self.settle_seconds:g}) or more"
        if self.history_seconds > self.retention_hours * 3600:
            text = f"must be retention_hours ({self.retention_hours:g} hours) or less"
            yield "history_seconds", text
        if self.tick_seconds > self.settle_seconds:
            yield "tick_seconds", f"must be settle_seconds ({self.settle_seconds:g}) or less"

    def _unknown(self) -> Iterator[tuple[str, str]]:
        for key in COLUMN_KEYS:
            value = getattr(self, key)
            names = (value,) if isinstance(value, str) else value or ()
            for name in names:
                if name not in self.columns:
                    near = get_close_matches(name, self.columns, n=1, cutoff=0.6)
                    hint = f"; did you mean {near[0]!r}?" if near else ""
                    yield key, f"no column {name!r} in columns{hint}"

    def _known(self, *names: str | None) -> Iterator[tuple[str, bool, str]]:
        """Yields name, whether it is Nullable, and base type of those columns that there are."""
        for name in names:
            if name is not None and name in self.columns:
                yield name, *_parts(self.columns[name])


def table_name_flaw(name: str) -> str | None:
    """Returns the flaw of an upsert table's name, or None."""
    if not NAME.fullmatch(name):
        return "an upsert table's name is letters, digits and _, and begins with no digit"
    if len(name) > NAME_CHARACTERS_MAX:
        return f"an upsert table's name has at most {NAME_CHARACTERS_MAX} characters"
    for suffix in OWN_TABLE_SUFFIXES:
        if name.endswith(suffix):
            return f"a name that ends with {suffix} is one of Sluice's own tables"
    return None


def _parts(kind: str) -> tuple[bool, str]:
    """Returns whether a type is Nullable, and its name without wrappers and arguments."""
    found = _TYPE.match(kind)
    assert found
    return bool(found[1]), found[2]
