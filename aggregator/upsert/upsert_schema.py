"""Upsert schema: the tables and the view of ClickHouse that keep an upsert table. Pure.

`t__rows` holds all rows, `t__updates` the ends of rows, and `t__ticks` what was published about
ticks. The view `t` shows the newest settle point at which the server was found complete.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from aggregator.store.identifier import quoted
from aggregator.tables.table_schema import COORDINATES, Column
from aggregator.upsert.table_names import (
    ROW_ID,
    TIME,
    UNTIL,
    UPSERT_COLUMNS,
    rows_table,
    ticks_table,
    updates_table,
)
from aggregator.upsert.tick import OPEN, ROW_BITS
from aggregator.upsert.version import EndKind
from aggregator.upsert.visibility import DAY_S, admitted_since_ms

FIRST_GENERATION = 1
ROWS_PARTITION = f"toYYYYMMDD({TIME}, 'UTC')"
"""Partition of `t__rows`: a day, the same on every server. 18.16 reads all partitions for a
condition on it, and those of the day for one on `_time`."""
TICKS_PER_PARTITION = 3600
"""Ticks whose ends are dropped together once no query may ask for them."""
PUBLISHED = ("claim", "settled", "horizon", "void")
"""Kinds of rows of `t__ticks`, numbered from 1."""
DEDUPLICATION = {
    "replicated_deduplication_window": 10_000,
    "replicated_deduplication_window_seconds": 604_800,
    "non_replicated_deduplication_window": 10_000,
}
"""Blocks, and seconds, that a table knows: a tick that is done again repeats its blocks."""
WIDE_PARTS = {"min_bytes_for_wide_part": 0, "min_rows_for_wide_part": 0}
"""Each column has a file of its own, so that settling writes one column, not whole parts."""
KINDS = ", ".join(f"'{kind}' = {number}" for number, kind in enumerate(EndKind, 1))
UPDATES_COLUMNS = {
    "row_id": "UInt64",
    "tick": "UInt32",
    "by_row_id": "UInt64",
    "kind": f"Enum8({KINDS})",
    "lane": "UInt32",
    "offset": "UInt64",
    "key": "FixedString(16)",
}
"""Columns of RowEnd. Reads want the ends of a range of ticks, so `tick` leads the sorting key."""
WHATS = ", ".join(f"'{what}' = {number}" for number, what in enumerate(PUBLISHED, 1))
TICKS_COLUMNS = {
    "generation": "UInt32",
    "tick": "UInt32",
    "what": f"Enum8({WHATS})",
    "time_ms": "UInt64",
    "ends": "Array(UInt64)",
    "rows": "UInt64",
    "events": "UInt64",
    "expired": "UInt64",
    "letters": "UInt64",
    "servers": "Array(String)",
}
"""Columns of TickRow (claims.py)."""


class TableRules(Protocol):
    """Settings of an upsert table that the store's tables follow from."""

    @property
    def name(self) -> str: ...

    @property
    def columns(self) -> Mapping[str, str]: ...

    @property
    def sorted_by(self) -> Sequence[str]: ...

    @property
    def retention_hours(self) -> float: ...


class ServerTraits(NamedTuple):
    """Traits of a server that statements depend on.

    Args:
        replica: name that replicas get which are made now; empty for a server without ZooKeeper, or
            without the macros `shard` and `replica`.
        settings: those of MergeTree tables that the server knows.
    """

    replica: str = ""
    settings: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class StoreTable:
    """Table of the store as it has to be.

    Args:
        columns: types by name, in the order of the table.
        family: beginning of the engine's name, before MergeTree.
        settings: wanted of the table where the server knows them.
    """

    name: str
    columns: Mapping[str, str]
    sorting_key: tuple[str, ...]
    partition_key: str = ""
    family: str = ""
    defaults: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, int] = field(default_factory=dict)

    def engine(self, traits: ServerTraits) -> str:
        """Returns the name of the engine on a server."""
        return f"{'Replicated' if traits.replica else ''}{self.family}MergeTree"

    def create(self, database: str, traits: ServerTraits) -> str:
        """Returns the CREATE statement for a server. Another of the same table does nothing."""
        engine = self.engine(traits)
        if traits.replica:
            path = f"/sluice/tables/{{shard}}/{database}/{self.name}"
            engine += f"({literal(path)}, {literal(traits.replica)})"
        else:
            engine += "()"
        known = [(name, value) for name, value in self.settings.items() if name in traits.settings]
        parts = [
            f"CREATE TABLE IF NOT EXISTS {quoted(database, self.name)}",
            f"({', '.join(self._column(name, kind) for name, kind in self.columns.items())})",
            f"ENGINE = {engine}",
            f"PARTITION BY {self.partition_key}" if self.partition_key else "",
            f"ORDER BY ({', '.join(map(quoted, self.sorting_key))})",
            f"SETTINGS {', '.join(f'{name} = {value}' for name, value in known)}" if known else "",
        ]
        return " ".join(filter(None, parts))

    def _column(self, name: str, kind: str) -> str:
        default = f" DEFAULT {self.defaults[name]}" if name in self.defaults else ""
        return f"{quoted(name)} {kind}{default}"


def store_tables(table: TableRules) -> tuple[StoreTable, ...]:
    """Returns the tables that keep an upsert table."""
    repeatable = {**DEDUPLICATION, **WIDE_PARTS}
    return (
        StoreTable(
            rows_table(table.name),
            {**table.columns, **COORDINATES, **UPSERT_COLUMNS},
            (*table.sorted_by, ROW_ID),
            partition_key=ROWS_PARTITION,
            defaults={UNTIL: str(OPEN)},
            settings=repeatable,
        ),
        StoreTable(
            updates_table(table.name),
            UPDATES_COLUMNS,
            ("tick", "row_id"),
            partition_key=f"intDiv(tick, {TICKS_PER_PARTITION})",
            family="Replacing",
            settings=repeatable,
        ),
        StoreTable(
            ticks_table(table.name),
            TICKS_COLUMNS,
            ("what", "generation", "tick"),
            settings=repeatable,
        ),
    )


def settled_view(
    database: str, table: TableRules, server: str, generation: int = FIRST_GENERATION
) -> str:
    """Returns the SELECT of the view of a server: the rows at its newest settle point.

    Servers settle by themselves. A server's view knows the settle points only at which this server
    was found to have all that is settled, so that one which is behind shows an older state, and no
    key twice.

    18.16 runs each scalar sub-query three times. One for all, as a tuple, costs no less (measured:
    decision 0102).

    Args:
        server: name of its replica of the table of rows; empty for one that is not replicated.
    """
    points = (
        f"FROM {quoted(database, ticks_table(table.name))} "
        f"WHERE what = 'settled' AND generation = {generation} "
        f"AND has(servers, {literal(server)})"
    )
    settled = f"(SELECT max(tick) {points})"
    # shown_since_s in visibility.py. Times of ticks do not go back, so that the last is the latest.
    since = f"(SELECT toDateTime(intDiv({_admitted_ms(table)}, {DAY_S}000) * {DAY_S}) {points})"
    return (
        f"SELECT {', '.join(map(quoted, table.columns))} "
        f"FROM {quoted(database, rows_table(table.name))} "
        f"WHERE {ROW_ID} < ({settled} + 1) * {1 << ROW_BITS} AND {UNTIL} > {settled} "
        f"AND {TIME} >= {since}"
    )


def view_traits(
    table: TableRules, server: str, generation: int = FIRST_GENERATION
) -> tuple[str, ...]:
    """Returns texts that the statement of a view has, however the server writes it."""
    return (
        f"generation = {generation}",
        f"has(servers, {literal(server)})",
        _admitted_ms(table),
    )


def _admitted_ms(table: TableRules) -> str:
    """Returns admitted_since_ms of the newest settle point as SQL; 0 where it is negative."""
    retention_ms = -admitted_since_ms(0, table.retention_hours)
    return f"greatest(max(time_ms), {retention_ms}) - {retention_ms}"


def literal(text: str) -> str:
    """Returns a text as SQL has it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


class FoundTable(NamedTuple):
    """Table or view of a server, as the server describes it.

    Args:
        columns: in their order.
        statement: that made it.
        window: blocks that it knows; 0 without such a memory.
    """

    engine: str
    columns: tuple[Column, ...]
    sorting_key: str = ""
    partition_key: str = ""
    statement: str = ""
    window: int = 0


def differences(
    wanted: StoreTable, found: FoundTable, types: Mapping[str, str], traits: ServerTraits
) -> Iterator[str]:
    """Yields what is wrong with a table that is there, and the mend of each.

    Args:
        types: types of the wanted columns as the server writes them.
    """
    engine = wanted.engine(traits)
    if found.engine != engine:
        yield f"has the engine {found.engine}, and {engine} is needed: drop it, if nobody needs it"
        return
    known = {column.name: column for column in found.columns}
    for name in wanted.columns:
        kind = types[name]
        if name not in known:
            default = f" DEFAULT {wanted.defaults[name]}" if name in wanted.defaults else ""
            yield f"lacks the column {name}: ALTER TABLE ... ADD COLUMN {name} {kind}{default}"
        elif known[name].type != kind:
            yield (
                f"has {name} as {known[name].type}, and the settings say {kind}: set the one that "
                "it has, or ALTER TABLE ... MODIFY COLUMN"
            )
        elif known[name].default_kind in ("MATERIALIZED", "ALIAS"):
            yield f"has {name} as {known[name].default_kind}: make it an ordinary column"
    for name in known.keys() - wanted.columns.keys():
        yield f"has a column {name} that the settings lack: add it to columns, or drop it"
    for what, has, needs in (
        ("sorted by", found.sorting_key, ", ".join(wanted.sorting_key)),
        ("partitioned by", found.partition_key, wanted.partition_key),
    ):
        if _plain(has) != _plain(needs):
            yield (
                f"is {what} ({has}), and ({needs}) is needed: no ALTER changes that; let order_by "
                "name its columns, or make it anew"
            )
    window = wanted.settings.get("replicated_deduplication_window", 0)
    if traits.replica and found.window < window:
        yield (
            f"knows {found.window} blocks, and a tick that is done again needs {window}: make it "
            f"anew with SETTINGS replicated_deduplication_window = {window}"
        )


def view_differences(found: FoundTable) -> Iterator[str]:
    """Yields what is wrong with a table that has the name of the view."""
    if found.engine != "View":
        yield (
            f"is a {found.engine} where the view of the upsert table has to be: rename it, or name "
            "the upsert table otherwise"
        )


def is_current(found: FoundTable, table: TableRules, types: Mapping[str, str], server: str) -> bool:
    """Returns True if a view shows what it has to.

    Args:
        server: see settled_view.
    """
    columns = [(column.name, column.type) for column in found.columns]
    wanted = [(name, types[name]) for name in table.columns]
    return columns == wanted and all(each in found.statement for each in view_traits(table, server))


def _plain(expression: str) -> str:
    """Returns an expression without what servers write differently: spaces, quotes, brackets
    around all of it."""
    return re.sub(r"[\s`]", "", expression).removeprefix("(").removesuffix(")")
