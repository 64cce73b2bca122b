"""Query session: a user's connection to one server of ClickHouse, which only reads.

A server answers if it has every part that was committed of the three tables when it is asked: then
it has all that its newest claim stands for. That needs no right but to read, and no setting, so it
holds for users whose profile has readonly = 1 as well. `select_sequential_consistency` proves less
(see server_levels.py), and is switched off: once a partition was dropped, 18.16 refuses every query
of the table that has it. Parts whose quorum is open are of ticks that are not claimed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from clickhouse_driver import Client

from aggregator.store.identifier import quoted
from aggregator.store.recognition import is_complete
from aggregator.store.replica import WHOLE_ANSWERS
from aggregator.upsert.query_mark import NEVER, TableTicks, TickTime, oldest_mark
from aggregator.upsert.row_ends import read_ends
from aggregator.upsert.table_names import TIME, rows_table, ticks_table, updates_table
from aggregator.upsert.version import RowEnd

CONSISTENT = "select_sequential_consistency"
READONLY = "readonly"
WANTED = {**WHOLE_ANSWERS, "extremes": 0, CONSISTENT: 0}
"""Settings of each query. Extremes would come as two more rows."""
SETTINGS = "SELECT name, value FROM system.settings WHERE name IN %(names)s"
ENGINES = "SELECT name, engine FROM system.tables WHERE database = %(database)s AND name IN %(of)s"
REPLICAS = """
SELECT table, replica_name FROM system.replicas
WHERE database = %(database)s AND table IN %(of)s
"""
NEWEST = """
SELECT generation, max(tick), max(time_ms) FROM {table} WHERE what = 'claim'
GROUP BY generation ORDER BY generation DESC LIMIT 1
"""
HORIZON = """
SELECT max(tick), max(time_ms) FROM {table}
WHERE what = 'horizon' AND generation = %(generation)s
"""
CLAIM_OF = """
SELECT tick, time_ms FROM {table} WHERE what = 'claim' AND generation = %(generation)s
AND time_ms <= %(time_ms)s ORDER BY tick DESC LIMIT 1
"""
SETTLED = """
SELECT tick, time_ms FROM {table} WHERE what = 'settled' AND generation = %(generation)s
AND tick <= %(tick)s AND time_ms <= %(time_ms)s{of_server}
ORDER BY tick DESC LIMIT 1
"""
TIME_OF = """
SELECT max(time_ms) FROM {table} WHERE generation = %(generation)s AND tick = %(tick)s
"""
# Nothing is read where the parts' times show that there is none.
ROWS_BEFORE = f"SELECT 1 FROM {{table}} WHERE {TIME} < toDateTime(%(since_s)s) LIMIT 1"
OF_SERVER = " AND has(servers, %(server)s)"
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
        names: of the server as a replica, by table; other tables are not replicated.
    """

    client: Client
    database: str
    server: str
    settings: Mapping[str, object]
    names: dict[str, str]

    @classmethod
    def begin(cls, client: Client, database: str, server: str) -> QuerySession:
        """Begins a session on a connection. Raises RightsMissing."""
        names = (*WANTED, READONLY)
        found = dict(client.execute(SETTINGS, {"names": names}))
        return cls(client, database, server, session_settings(found), {})

    def ticks(self, table: str, history_seconds: float) -> TableTicks:
        """Returns the ticks of a table that the server holds whole.

        Raises:
            ServerUnfit: it lacks parts of the table, or the table.
            RightsMissing: the user cannot see whether it lacks some.
        """
        kept = self._checked(table)
        found = self._ask(NEWEST, table)
        generation, tick, time_ms = found[0] if found else (1, 0, 0)
        # The claim was read first: its rows and ends were committed before.
        for name in kept:
            if not is_complete(self.client, self.database, name):
                raise ServerUnfit(f"lacks parts of {name}: it is behind, or without ZooKeeper")
        # The horizon is read last: whatever was dropped by now is before it.
        horizon = TickTime(*self._ask(HORIZON, table, generation=generation)[0])
        newest = TickTime(tick, time_ms)
        limit = max(0, time_ms - round(history_seconds * 1000))
        before = self._settled(table, generation, tick, limit)
        return TableTicks(generation, newest, oldest_mark(newest, horizon, before), horizon.tick)

    def claim_of(self, table: str, generation: int, time_ms: int) -> TickTime:
        """Returns the newest claimed tick that is not later than a time."""
        found = self._ask(CLAIM_OF, table, generation=generation, time_ms=max(0, time_ms))
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
        return bool(self.client.execute(ROWS_BEFORE.format(table=name), {"since_s": since_s}))

    def settled(self, table: str, generation: int, tick: int) -> TickTime:
        """Returns the newest settle point of this server up to a tick; tick 0 without any."""
        server = self.names.get(rows_table(table), "")
        return self._settled(table, generation, tick, server=server)

    def _settled(
        self,
        table: str,
        generation: int,
        tick: int,
        time_ms: int = TIME_MAX,
        server: str | None = None,
    ) -> TickTime:
        query = SETTLED.replace("{of_server}", "" if server is None else OF_SERVER)
        wanted = {"tick": tick, "time_ms": time_ms, "server": server}
        found = self._ask(query, table, generation=generation, **wanted)
        return TickTime(*found[0]) if found else NEVER

    def rows(self, sql: str) -> tuple[list[Column], Iterator[tuple[Any, ...]]]:
        """Runs a query; returns its columns, and its rows as they come."""
        stream = self.client.execute_iter(
            sql, settings=dict(self.settings), with_column_types=True, chunk_size=1
        )
        columns = [Column(*each) for each in next(stream, [])]
        return columns, stream

    def ends(
        self, table: str, *, after: int, up_to: int, lanes: tuple[int, ...]
    ) -> Iterator[RowEnd]:
        """Yields the ends of a table's rows (see read_ends)."""
        return read_ends(self.client, self.database, table, after=after, up_to=up_to, lanes=lanes)

    def _checked(self, table: str) -> tuple[str, ...]:
        """Returns the tables that keep an upsert table, which are there and can be judged."""
        kept = (rows_table(table), updates_table(table), ticks_table(table))
        wanted = {"database": self.database, "of": kept}
        engines = dict(self.client.execute(ENGINES, wanted))
        names = dict(self.client.execute(REPLICAS, wanted))
        for name in kept:
            if name not in engines:
                text = f"has no table {name}, or hides it: `sluice upsert create` makes it"
                raise ServerUnfit(text, lasts=True)
            if engines[name].startswith("Replicated") and name not in names:
                raise RightsMissing(
                    f"the user does not see {name} in system.replicas, so that nobody can tell "
                    "whether the server is complete: grant SELECT on system.replicas"
                )
        self.names.update(names)
        return kept

    def _ask(self, query: str, table: str, **values: object) -> list[tuple[Any, ...]]:
        name = quoted(self.database, ticks_table(table)).replace("%", "%%")
        rows: list[tuple[Any, ...]] = self.client.execute(query.format(table=name), values or None)
        return rows
