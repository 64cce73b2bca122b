"""Claims: what was published about the ticks of an upsert table, in `t__ticks`.

claim    rows and ends of the tick are in the store: the tick may be read.
settled  ends up to the tick are in the column _until of the servers that the row names.
horizon  nothing before the tick may be read any more; ends up to it may be gone (horizon.py).
void     the tick was taken back. Nothing writes or reads this yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import NamedTuple, TypeVar

import pyarrow as pa
from clickhouse_driver import Client

from aggregator.store.identifier import quoted
from aggregator.store.replica import Connected
from aggregator.store.shard_store import NotStored, ShardStore
from aggregator.tables.native_block import NativeBlock
from aggregator.tables.table_schema import Column, TableSchema
from aggregator.upsert.repeatable_insert import RepeatableInserts
from aggregator.upsert.row_ends import encoded, ends_blocks
from aggregator.upsert.table_names import ROW_ID, rows_table, ticks_table, updates_table
from aggregator.upsert.tick import ROW_BITS, TICK_MAX
from aggregator.upsert.upsert_schema import PUBLISHED, TICKS_COLUMNS
from aggregator.upsert.visibility import settled_at

T = TypeVar("T")
COUNTS = ("rows", "events", "expired", "letters")
FIELDS = ", ".join("toString(what)" if name == "what" else name for name in TICKS_COLUMNS)
READ = """
SELECT {fields} FROM {table} WHERE what = %(what)s AND generation = %(generation)s
AND tick >= %(first)s AND tick <= %(last)s{newest} ORDER BY tick
"""
NEWEST = """
AND tick >= (SELECT max(tick) FROM {table} WHERE what = %(what)s AND generation = %(generation)s
{by_time}) {by_time}"""
"""Condition on the newest row: of all others, only the number of the tick is read."""
BY_TIME = "AND time_ms <= %(time_ms)s"
NEWEST_STORED = (
    f"SELECT bitShiftRight((SELECT max({ROW_ID}) FROM {{rows}}), {ROW_BITS}), "
    "(SELECT max(tick) FROM {ends})"
)
CONSISTENT = {"select_sequential_consistency": 1}


class What(StrEnum):
    """Kind of a row of `t__ticks`."""

    CLAIM = "claim"
    SETTLED = "settled"
    HORIZON = "horizon"
    VOID = "void"


class TickRow(NamedTuple):
    """Row of `t__ticks`.

    Args:
        time_ms: Unix time of the tick, in all kinds of rows.
        ends: of a claim: first offset of each lane that the table does not have yet.
        rows, events, expired, letters: of a claim: rows and ends of the tick, records older than
            the retention, dead letters.
        servers: of a settle point: names of the replicas that were counted.
    """

    generation: int
    tick: int
    what: What
    time_ms: int
    ends: tuple[int, ...] = ()
    rows: int = 0
    events: int = 0
    expired: int = 0
    letters: int = 0
    servers: tuple[str, ...] = ()


class ClaimsMissing(Exception):
    """Claims that no server shows without a gap. Look again; if it lasts, call a human."""


def ticks_block(row: TickRow) -> NativeBlock:
    """Returns the block of a row."""
    schema = TableSchema("", tuple(Column(*each) for each in TICKS_COLUMNS.items()))
    columns = {name: pa.array([getattr(row, name)]) for name in TICKS_COLUMNS if name != "what"}
    columns["ends"] = pa.array([list(row.ends)], pa.list_(pa.uint64()))
    names = [name.encode() for name in row.servers]
    columns["servers"] = pa.array([names], pa.list_(pa.binary()))
    columns["what"] = pa.array([PUBLISHED.index(row.what) + 1])
    return encoded(columns, schema)


def read_rows(
    client: Client,
    database: str,
    table: str,
    what: What,
    generation: int,
    *,
    first: int = 0,
    last: int = TICK_MAX,
    is_newest: bool = False,
    time_ms: int | None = None,
    is_consistent: bool = True,
) -> list[TickRow]:
    """Returns rows of `t__ticks` by tick, each once. Raises the errors of the driver and of the
    socket.

    A settle point that was published again, once it was reached by another server, is one row that
    names all of them.

    Args:
        is_newest: only the newest row is returned.
        time_ms: with is_newest, the time that the row may have at most; None: any.
        is_consistent: a server refuses (289) that lacks the newest row.
    """
    name = quoted(database, ticks_table(table)).replace("%", "%%")
    by_time = "" if time_ms is None else BY_TIME
    newest = NEWEST.format(table=name, by_time=by_time) if is_newest else ""
    query = READ.format(fields=FIELDS, table=name, newest=newest)
    wanted = {"what": str(what), "generation": generation, "first": first, "last": last}
    if time_ms is not None:
        wanted["time_ms"] = time_ms
    settings = CONSISTENT if is_consistent else {}
    rows: dict[int, TickRow] = {}
    for found in client.execute(query, wanted, settings=settings):
        of, tick, kind, at_ms, ends, *counts, servers = found
        named = {*servers, *(rows[tick].servers if tick in rows else ())}
        row = TickRow(of, tick, What(kind), at_ms, tuple(ends), servers=tuple(sorted(named)))
        rows[tick] = row._replace(**dict(zip(COUNTS, counts, strict=True)))
    return [rows[tick] for tick in sorted(rows)]


def settle_point(points: Iterable[TickRow], tick: int, server: str | None = None) -> int:
    """Returns the newest settle point at or before a tick; 0 if there is none. Pure.

    Args:
        server: name of a replica that has to have it; None: any.
    """
    return settled_at(
        tick, (each.tick for each in points if server is None or server in each.servers)
    )


class TickTable:
    """Table `t__ticks` of an upsert table, and the ends that go before a claim. All calls block.

    Args:
        feed, table: name the blocks.
    """

    def __init__(
        self,
        store: ShardStore,
        inserts: RepeatableInserts,
        *,
        feed: str,
        table: str,
        generation: int,
    ) -> None:
        self.generation = generation
        self._store = store
        self._inserts = inserts
        self._feed = feed
        self._table = table

    def insert_ends(self, tick: int, ends: pa.Table, *, is_repeat: bool) -> int:
        """Inserts the ends of a tick; returns their number. Raises NotStored.

        Args:
            ends: columns of RowEnd.
            is_repeat: an earlier process may have inserted them.
        """
        blocks = ends_blocks(ends)
        for number, block in enumerate(blocks):
            name = f"{self._name(tick)}-ends" + (f"-{number}" if number else "")
            self._inserts.insert(updates_table(self._table), block, name, is_repeat=is_repeat)
        return sum(block.rows for block in blocks)

    def publish(self, row: TickRow, *, is_repeat: bool = False) -> None:
        """Inserts a row. A claim goes behind the rows and the ends of its tick. Raises NotStored.

        Args:
            is_repeat: an earlier process may have inserted it.
        """
        name = f"{self._name(row.tick)}-{row.what}"
        self._inserts.insert(ticks_table(self._table), ticks_block(row), name, is_repeat=is_repeat)

    def newest(self, what: What, time_ms: int | None = None) -> TickRow | None:
        """Returns the newest row of a kind; None if there is none. Raises NotStored.

        Args:
            time_ms: that the row may have at most; None: any.
        """
        rows = self.first_answer(lambda it: self._rows(it, what, is_newest=True, time_ms=time_ms))
        return rows[0] if rows else None

    def newest_stored(self) -> int:
        """Returns the newest tick of which a server that answers has rows or ends; 0 if none has
        any. Reads a column of all rows. Raises NotStored if no server answers."""
        rows, ends = (
            quoted(self._store.database, name(self._table)) for name in (rows_table, updates_table)
        )
        query = NEWEST_STORED.format(rows=rows, ends=ends)
        found = [0]

        def look(it: Connected) -> None:
            [newest] = it.client.execute(query)
            found.extend(newest)

        self.first_answer(look)
        return max(found)

    def claims(self, first: int, last: int) -> list[TickRow]:
        """Returns the claims of ticks first..last. Raises NotStored, ClaimsMissing.

        A server that took the newest claim itself may lack those before it.
        """
        gaps = []

        def whole(it: Connected) -> list[TickRow] | None:
            rows = self._rows(it, What.CLAIM, first=first, last=last)
            if len(rows) == last - first + 1:
                return rows
            gaps.append(len(rows))
            return None

        found = self.first_answer(whole)
        if found is None:
            raise ClaimsMissing(
                f"of the claims of ticks {first} to {last} of {self._table} no server shows more "
                f"than {max(gaps)}"
            )
        return found

    def settle_points(self, first: int = 0, last: int = TICK_MAX) -> list[TickRow]:
        """Returns settle points by tick. Raises NotStored.

        A server may lack some before the newest. Whoever goes by an earlier one reads more ends,
        and sees the same.
        """
        return (
            self.first_answer(lambda it: self._rows(it, What.SETTLED, first=first, last=last)) or []
        )

    def _rows(
        self,
        it: Connected,
        what: What,
        *,
        first: int = 0,
        last: int = TICK_MAX,
        is_newest: bool = False,
        time_ms: int | None = None,
    ) -> list[TickRow]:
        return read_rows(
            it.client,
            self._store.database,
            self._table,
            what,
            self.generation,
            first=first,
            last=last,
            is_newest=is_newest,
            time_ms=time_ms,
        )

    def first_answer(self, ask: Callable[[Connected], T | None]) -> T | None:
        """Returns the first answer of a server that gives one; None if those that answer do not.

        Raises NotStored if no server answers.
        """
        errors: list[NotStored] = []
        for replica in self._store.in_turn():
            try:
                answer = self._store.answer_of(replica, ask)
            except NotStored as error:
                errors.append(error)
            else:
                if answer is not None:
                    return answer
        if len(errors) == len(self._store.replicas):
            raise errors[-1]
        return None

    def _name(self, tick: int) -> str:
        return f"sluice-{self._feed}-{self._table}-{self.generation}-{tick}"
