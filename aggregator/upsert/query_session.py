"""Query session: a user's connection to one server of ClickHouse, which only reads.

A server answers if it has every part that was committed of the three tables when it is asked: then
it has all that its newest claim stands for. That needs no right but to read, and no setting, so it
holds for users whose profile has readonly = 1 as well. `select_sequential_consistency` proves less
(see server_levels.py), and is switched off: once a partition was dropped, 18.16 refuses every query
of the table that has it. Parts whose quorum is open are of ticks that are not claimed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from clickhouse_driver import Client

from aggregator.store.identifier import quoted
from aggregator.store.recognition import QUEUE, has_all, has_uncommitted
from aggregator.store.replica import WHOLE_ANSWERS
from aggregator.upsert.answer_columns import with_zone
from aggregator.upsert.query_mark import FRESH, NEVER, At, TableTicks, TickTime, oldest_mark
from aggregator.upsert.row_ends import read_ends
from aggregator.upsert.table_names import TIME, rows_table, ticks_table, updates_table
from aggregator.upsert.version import RowEnd

READONLY = "readonly"
WANTED = {**WHOLE_ANSWERS, "extremes": 0}
"""Settings of each query. Extremes would come as two more rows."""
BEGIN = """
SELECT 'setting', name, value FROM system.settings WHERE name IN %(names)s
UNION ALL
SELECT 'engine', name, engine FROM system.tables WHERE database = %(database)s AND name IN %(of)s
"""
REPLICAS = f"""
SELECT table, replica_name, {QUEUE} FROM system.replicas
WHERE database = %(database)s AND table IN %(of)s
"""
SETTLED_GENERATION = "(SELECT max(generation) FROM {table} WHERE what = 'settled')"
NEWEST = f"""
SELECT generation, tick, time_ms FROM {{table}}
WHERE what = 'claim' AND generation >= {SETTLED_GENERATION}
AND (generation > {SETTLED_GENERATION} OR tick >= (
    SELECT max(tick) FROM {{table}} WHERE what = 'settled' AND generation = {SETTLED_GENERATION}
)) ORDER BY generation DESC, tick DESC LIMIT 1
"""
"""The newest claim. There are thirty times as many claims as settle points; of the claims only
those behind the newest settle point are read, by the sorting key."""
CLAIM_OF = """
SELECT tick, time_ms FROM {table} WHERE what = 'claim' AND generation = %(generation)s
AND tick >= %(first)s AND time_ms <= %(time_ms)s ORDER BY tick DESC LIMIT 1
"""
POINTS = """
SELECT count(), maxIf(tick, what = 'horizon'), maxIf(time_ms, what = 'horizon'),
maxIf(tick, what = 'settled' AND time_ms <= %(limit)s),
maxIf(time_ms, what = 'settled' AND time_ms <= %(limit)s)
FROM {table} WHERE what IN ('settled', 'horizon') AND generation = %(generation)s
"""
SETTLED = """
SELECT max(tick), max(time_ms) FROM {table}
WHERE what = 'settled' AND generation = %(generation)s AND tick >= %(first)s
AND tick <= %(tick)s AND time_ms <= %(time_ms)s AND has(servers, %(server)s)
"""
TIME_OF = """
SELECT max(time_ms) FROM {table}
WHERE what = 'claim' AND generation = %(generation)s AND tick = %(tick)s
"""
# Nothing is read where the parts' times show that there is none.
ROWS_BEFORE = f"SELECT 1 FROM {{table}} WHERE {TIME} < toDateTime(%(since_s)s) LIMIT 1"
TIME_MAX = (1 << 63) - 1


class ServerUnfit(Exception):
    """A server that cannot answer. Ask another one.

    Args:
        lasts: waiting is of no use.
    """

    def __init__(self, text: str, *, lasts: bool = False) -> None:
        super().__init__(text)
        self.lasts = lasts


class RightsMissing(Exception):
    """The user's profile or rights do not let the query be whole. Change them."""


def session_settings(found: Mapping[str, str]) -> dict[str, object]:
    """Returns the settings to send with each query. Pure.

    Args:
        found: settings of the user's profile that the server has, of WANTED and READONLY.

    Raises RightsMissing for a profile that may leave rows out or add some, and lets no query say
    otherwise.
    """
    wanted: dict[str, object] = {
        name: value for name, value in WANTED.items() if name in found and found[name] != str(value)
    }
    if found.get(READONLY, "0") == "0":
        return {**wanted, READONLY: 2}
    if found[READONLY] != "1":
        return wanted
    # 18.16 takes no setting of such a user, and says nothing.
    if wanted:
        listed = ", ".join(f"{name} = {found[name]}" for name in sorted(wanted))
        raise RightsMissing(
            f"the user's profile has readonly = 1 and {listed}, by which answers may have other "
            "rows, or fail: remove it there, or make it readonly = 2"
        )
    return {}


class Column(NamedTuple):
    """Column of an answer, with its ClickHouse type."""

    name: str
    type: str


@dataclass(slots=True)
class QuerySession:
    """Connection of a user to a server. All calls block.

    All raise the errors of the driver and of the socket.

    Args:
        server: its address, for messages.
        engines: of the tables that keep upsert tables.
    """

    client: Client
    database: str
    server: str
    settings: Mapping[str, object]
    engines: Mapping[str, str]

    @classmethod
    def begin(
        cls, client: Client, database: str, server: str, tables: Sequence[str]
    ) -> QuerySession:
        """Begins a session on a connection. Raises RightsMissing.

        Args:
            tables: upsert tables that it may ask for.
        """
        kept = tuple(name for table in tables for name in _kept(table))
        wanted = {"names": (*WANTED, READONLY), "database": database, "of": kept}
        rows = client.execute(BEGIN, wanted)
        settings, engines = (
            {name: value for kind, name, value in rows if kind == wanted_kind}
            for wanted_kind in ("setting", "engine")
        )
        return cls(client, database, server, session_settings(settings), engines)

    def ticks(self, table: str, history_seconds: float, at: At = FRESH) -> TableTicks:
        """Returns the ticks of a table that the server holds whole.

        Args:
            at: up to it the newest settle point is looked for.

        Raises:
            ServerUnfit: it lacks parts of the table, or the table.
            RightsMissing: the user cannot see whether it lacks some.
        """
        for name in _kept(table):
            if name not in self.engines:
                text = f"has no table {name}, or hides it: `sluice upsert create` makes it"
                raise ServerUnfit(text, lasts=True)
        found = self._ask(NEWEST, table)
        generation, tick, time_ms = found[0] if found else (1, 0, 0)
        # The claim was read first: its rows and ends were committed before.
        server = self._require_whole(table)
        limit = max(0, time_ms - round(history_seconds * 1000))
        [(count, *points)] = self._ask(POINTS, table, generation=generation, limit=limit)
        if count and not tick:
            # It had parts with settle points before those with the claims.
            raise ServerUnfit(f"lacked claims of {table} when they were read")
        horizon, before = TickTime(*points[:2]), TickTime(*points[2:])
        newest = TickTime(tick, time_ms)
        oldest = oldest_mark(newest, horizon, before)
        settled = (
            self._settled(table, generation, server, at, tick, before.tick) if count else NEVER
        )
        return TableTicks(generation, newest, oldest, horizon.tick, settled)

    def claim_of(self, table: str, ticks: TableTicks, time_ms: int) -> TickTime:
        """Returns the newest claimed tick that is not later than a time.

        Args:
            ticks: with the newest settle point up to that time, which is claimed.
        """
        wanted = {"generation": ticks.generation, "time_ms": max(0, time_ms)}
        found = self._ask(CLAIM_OF, table, **wanted, first=ticks.settled.tick)
        return TickTime(*found[0]) if found else NEVER

    def time_of(self, table: str, generation: int, tick: int) -> int:
        """Returns the time of a claimed tick in milliseconds since 1970; 0 of tick 0."""
        return int(self._ask(TIME_OF, table, generation=generation, tick=tick)[0][0])

    def has_rows_before(self, table: str, since_s: int) -> bool:
        """Returns True if the server has rows whose time is before one, in Unix seconds.

        If it has none at a mark's shown_since_s, none that the mark would have to hide comes any
        more: ticks up to the mark are there whole, and admitted none that is older than their own.
        """
        name = quoted(self.database, rows_table(table)).replace("%", "%%")
        found = self.client.execute(
            ROWS_BEFORE.format(table=name), {"since_s": since_s}, settings=dict(self.settings)
        )
        return bool(found)

    def _settled(
        self, table: str, generation: int, server: str, at: At, newest: int, before: int
    ) -> TickTime:
        """Returns the newest settle point of the server up to a mark; tick 0 without any.

        Args:
            server: its name as a replica.
            before: settle point that is older than the history. One of the server is seldom older,
                so that names of servers are read from there on first.
        """
        wanted: dict[str, object] = {
            "generation": generation,
            "server": server,
            "tick": newest if at.tick is None else min(max(0, at.tick), newest),
            "time_ms": TIME_MAX if at.time_ms is None else max(0, at.time_ms),
        }
        for first in (before, 0) if before else (0,):
            [found] = self._ask(SETTLED, table, **wanted, first=first)
            if found[0]:
                return TickTime(*found)
        return NEVER

    def rows(self, sql: str) -> tuple[list[Column], Iterator[tuple[Any, ...]]]:
        """Runs a query; returns its columns, and its rows as they come. Times have a zone."""
        stream = self.client.execute_iter(
            sql, settings=dict(self.settings), with_column_types=True, chunk_size=1
        )
        columns = [Column(*each) for each in next(stream, [])]
        has_time = ["DateTime" in each.type for each in columns]
        if not any(has_time):
            return columns, stream
        return columns, _with_zones(stream, has_time, _take_zone(self.client))

    def ends(
        self, table: str, *, after: int, up_to: int, lanes: tuple[int, ...]
    ) -> Iterator[RowEnd]:
        """Yields the ends of a table's rows (see read_ends)."""
        return read_ends(
            self.client,
            self.database,
            table,
            after=after,
            up_to=up_to,
            lanes=lanes,
            settings=self.settings,
        )

    def _require_whole(self, table: str) -> str:
        """Returns the server's name as a replica; empty for one that is not replicated.

        Raises:
            ServerUnfit: it lacks parts of a table that keeps the upsert table, or shows rows that
                were not committed.
            RightsMissing: the user cannot see whether it lacks some.
        """
        kept = _kept(table)
        found = self.client.execute(REPLICAS, {"database": self.database, "of": kept})
        replicas = {name: (server, queue) for name, server, *queue in found}
        for name in kept:
            if name in replicas:
                if not has_all(self.client, *replicas[name][1]):
                    raise ServerUnfit(f"lacks parts of {name}: it is behind, or without ZooKeeper")
            elif self.engines[name].startswith("Replicated"):
                raise RightsMissing(
                    f"the user does not see {name} in system.replicas, so that nobody can tell "
                    "whether the server is complete: grant SELECT on system.replicas"
                )
        if kept[0] not in replicas:
            return ""
        server: str = replicas[kept[0]][0]
        path = f"{replicas[kept[0]][1][-1]}/replicas/{server}"
        if has_uncommitted(self.client, self.database, kept[0], path):
            raise ServerUnfit(f"shows parts of {kept[0]} that may never be committed")
        return server

    def _ask(self, query: str, table: str, **values: object) -> list[tuple[Any, ...]]:
        name = quoted(self.database, ticks_table(table)).replace("%", "%%")
        # A profile that changes answers changes these, too.
        settings = dict(self.settings)
        text = query.replace("{table}", name)
        rows: list[tuple[Any, ...]] = self.client.execute(text, values or None, settings=settings)
        return rows


def _take_zone(client: Client) -> tzinfo:
    """Returns the zone of the connected server; UTC for one that is not known here.

    From then on the driver tells the times of columns without a zone in UTC: in the server's zone
    two instants have one text when clocks go back.
    """
    info = client.connection.server_info
    name = info.get_timezone()
    info.timezone = info.session_timezone = "UTC"
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, TypeError):
        return UTC


def _with_zones(
    rows: Iterator[tuple[Any, ...]], has_time: Sequence[bool], zone: tzinfo
) -> Iterator[tuple[Any, ...]]:
    for row in rows:
        yield tuple(
            with_zone(value, zone) if is_time else value
            for value, is_time in zip(row, has_time, strict=True)
        )


def _kept(table: str) -> tuple[str, str, str]:
    """Returns the tables that keep an upsert table."""
    return rows_table(table), updates_table(table), ticks_table(table)
