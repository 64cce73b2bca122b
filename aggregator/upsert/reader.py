"""Reader of upsert tables: queries at a mark, and the stream of row ends.

    reader = Reader.of(appliance, user="analyst", password="...")
    with reader.query("SELECT avg(delay) FROM flight_status") as answer:
        for row in answer: ...

A query runs with its user's own credentials of ClickHouse, and only reads. Queries begin with one
server after another; a server that failed, or lacked parts, is asked last for some seconds, and
returns by itself. A Reader does not go back in time: what it has shown of a table, each later query
shows as well, whichever server answers.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import pyarrow as pa
from clickhouse_driver.errors import Error, ServerException, UnknownTypeError

from aggregator.upsert.answer_columns import answer_schema, record_batches
from aggregator.upsert.query_mark import FRESH, NEVER, At, TableTicks, TickTime, mark_at, tick_at
from aggregator.upsert.query_rewrite import rewritten
from aggregator.upsert.query_session import Column, QuerySession, RightsMissing, ServerUnfit
from aggregator.upsert.seen_rows import ReadMark, UpsertNames
from aggregator.upsert.sql_text import QueryRefused
from aggregator.upsert.user_query import UserQuery
from aggregator.upsert.version import RowEnd
from aggregator.upsert.visibility import MarkRefused, has_ends, shown_since_s
from replicator.clickhouse.errors import ClientSetup, problem, reason
from replicator.clickhouse.server import ClickHouse
from replicator.config.clickhouse_address import ClickHouseAddress
from replicator.config.feed_settings import ClickHouseFeed
from replicator.config.upsert_table import UpsertTable
from replicator.runtime.clock import monotonic, sleep
from replicator.runtime.store_errors import StoreUnreachable

if TYPE_CHECKING:
    from aggregator.upsert.upsert_metrics import RefusedQueries
    from replicator.config.topology import Appliance

T = TypeVar("T")
DRIVER_ERRORS = (Error, OSError, EOFError)
CONNECT_SECONDS_MAX = 5.0
PAUSE_SECONDS = 0.05
"""Pause before all servers are asked again, if none is complete."""
AVOID_SECONDS = 5.0
"""Time for which a server that failed, or was unfit, is asked after all others."""
LACKS_QUORUM_PART = 289
"""Error of a server that lacks the last part of a quorum."""
LOGIN = frozenset([192, 193, 194, 516])
REFUSALS: Mapping[type[Exception], str] = {
    QueryRefused: "query",
    MarkRefused: "mark",
    RightsMissing: "rights",
}
"""Words of the metric of refused queries."""


class QueryFailed(Exception):
    """The server refused or ended the query. The text is its reason."""


class UpsertPlace(NamedTuple):
    """Upsert tables of a database on the servers of one shard.

    Args:
        servers: in the order of the configuration.
        tables: by name.
        history_seconds, retention_hours: of each table.
    """

    feed: str
    database: str
    servers: tuple[ClickHouseAddress, ...]
    ca_file: Path | None
    tables: Mapping[str, UpsertNames]
    history_seconds: Mapping[str, float]
    retention_hours: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ShownMark:
    """Mark at which a table was read.

    Args:
        newest: the newest tick of the table then.
    """

    mark: ReadMark
    generation: int
    newest: TickTime


class Shown(NamedTuple):
    """Ticks of a table that a Reader has shown: the greatest are kept.

    Args:
        newest: generation and tick of the newest claim.
        settled: generation and tick of the newest settle point that was read at.
    """

    newest: tuple[int, int] = (0, 0)
    settled: tuple[int, int] = (0, 0)


@dataclass(slots=True)
class Answer:
    """Answer of a query, which is read as it comes. Use it in a `with` block, or close() it.

    Args:
        server: that answers.
        marks: by table.
        sql: the query as the server got it.
    """

    server: str
    marks: Mapping[str, ShownMark]
    sql: str
    columns: Sequence[Column]
    _rows: Iterator[tuple[Any, ...]]
    _close: Callable[[], None]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Yields the rows. Raises QueryFailed, StoreUnreachable."""
        with _named(self.server):
            yield from self._rows

    def batches(self, rows: int = 8192) -> Iterator[pa.RecordBatch]:
        """Yields the rows as Arrow's batches, which the reader does not keep.

        Args:
            rows: of a batch, at most.
        """
        return record_batches(self.columns, iter(self), rows)

    def table(self) -> pa.Table:
        """Returns the rows that are left as a table of Arrow."""
        return pa.Table.from_batches(self.batches(), answer_schema(self.columns))

    def close(self) -> None:
        """Ends the connection, and with it the query."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Reader:
    """Reader of upsert tables. All calls block; each query has a connection of its own, and threads
    may share a Reader.

    Args:
        places: where the tables are.
        user, password: of ClickHouse, the reader's own.
        timeout_seconds: until a server is complete, and for each wait for data of an answer.
        turn: number of the server that the first query asks first; None: any.
        refused: counts the queries that are refused.
    """

    def __init__(
        self,
        places: Sequence[UpsertPlace],
        *,
        user: str = "default",
        password: str = "",
        timeout_seconds: float = 30.0,
        clock: Callable[[], float] = monotonic,
        pause: Callable[[float], None] = sleep,
        turn: int | None = None,
        refused: RefusedQueries | None = None,
    ) -> None:
        self._places = places
        self._user = user
        self._password = password
        self._timeout_seconds = timeout_seconds
        self._clock = clock
        self._pause = pause
        self._refused = refused
        self._lock = threading.Lock()
        self._turn = random.randrange(1 << 16) if turn is None else turn
        self._avoided: dict[ClickHouseAddress, float] = {}
        """Servers that failed, with the time until which they are asked last."""
        self._shown: dict[tuple[str, str], Shown] = {}

    @classmethod
    def of(
        cls,
        appliance: Appliance,
        *,
        feed: str | None = None,
        user: str = "default",
        password: str = "",
        timeout_seconds: float = 30.0,
        refused: RefusedQueries | None = None,
    ) -> Reader:
        """Returns a reader of the upsert tables of a configuration.

        Args:
            feed: only its tables; None: those of all feeds. Raises UnknownRegion.
        """
        feeds = appliance.feeds.values() if feed is None else [appliance.feed(feed)]
        places = [place for each in feeds for place in places_of(each)]
        return cls(
            places,
            user=user,
            password=password,
            timeout_seconds=timeout_seconds,
            refused=refused,
        )

    def query(self, sql: str, at: At = FRESH, *, all_versions: bool = False) -> Answer:
        """Runs a SELECT over upsert tables at a mark; returns once its first rows are there.

        Args:
            all_versions: rows that ended are seen as well, with what ended them.

        Raises:
            QueryRefused: it is no SELECT that can be read at a mark.
            MarkRefused: the mark is too old, or not there yet.
            RightsMissing: the user may not read enough to be sure of an answer.
            StoreUnreachable: no server answers, or none is complete.
            QueryFailed: the server refuses the query.
        """
        with self._counting():
            place, query = self._placed(sql, is_all_versions=all_versions)
        with self._counting(place.feed, ",".join(query.tables)):
            return self._answer(place, query, at, all_versions=all_versions)

    def _answer(
        self, place: UpsertPlace, query: UserQuery, at: At, *, all_versions: bool
    ) -> Answer:
        if at.tick is not None and len(query.tables) > 1:
            raise MarkRefused(
                f"a tick is of one table, and the query reads {', '.join(query.tables)}: name a "
                "time"
            )

        def run(session: QuerySession) -> Answer:
            marks = {
                table: self._mark(session, place, table, at, is_all_versions=all_versions)
                for table in query.tables
            }
            text = rewritten(query, {table: shown.mark for table, shown in marks.items()})
            columns, rows = session.rows(text)
            self._remember(place, marks, is_settled=at.is_settled)
            close = session.client.disconnect
            return Answer(session.server, marks, text, columns, rows, close)

        return self._on_a_server(place, query.tables, run)

    def events(self, table: str, since_tick: int, lanes: Sequence[int] = ()) -> Iterator[RowEnd]:
        """Yields the ends of a table's rows after a tick, in the order of ticks and rows.

        It ends with the newest tick; go on after the tick of the last one.

        Args:
            lanes: of the rows that ended, which are their segments; empty: all.

        Raises: as query().
        """
        places = [place for place in self._places if table in place.tables]
        if len(places) != 1:
            raise QueryRefused(self._no_place([table], places))

        def run(session: QuerySession) -> tuple[QuerySession, Iterator[RowEnd]]:
            ticks = self._ticks(session, places[0], table, FRESH)
            if since_tick < ticks.oldest.tick:
                raise MarkRefused(
                    f"{table}: ends after tick {since_tick} are not all kept; the oldest tick to "
                    f"begin after is {ticks.oldest.tick}"
                )
            newest = ticks.newest.tick
            ends = session.ends(table, after=since_tick, up_to=newest, lanes=tuple(lanes))
            return session, ends

        session, ends = self._on_a_server(places[0], (table,), run)
        try:
            with _named(session.server):
                yield from ends
        finally:
            session.client.disconnect()

    @contextmanager
    def _counting(self, feed: str = "", tables: str = "") -> Iterator[None]:
        """Counts a query that is refused within."""
        try:
            yield
        except (QueryRefused, MarkRefused, RightsMissing) as error:
            if self._refused is not None:
                self._refused.add(feed, tables, REFUSALS[type(error)])
            raise

    # -- places

    def _placed(self, sql: str, *, is_all_versions: bool) -> tuple[UpsertPlace, UserQuery]:
        """Returns the place whose tables a query reads. Raises QueryRefused."""
        found: list[tuple[UpsertPlace, UserQuery]] = []
        for place in self._places:
            query = UserQuery(sql, place.tables, place.database, is_all_versions=is_all_versions)
            if query.tables:
                found.append((place, query))
        if not found and not self._places:
            raise QueryRefused("the configuration has no upsert table")
        tables = sorted({table for _, query in found for table in query.tables})
        if len(found) != 1:
            raise QueryRefused(self._no_place(tables, [place for place, _ in found]))
        return found[0]

    def _no_place(self, tables: Sequence[str], places: Sequence[UpsertPlace]) -> str:
        """Returns why tables are not in one place."""
        if not places:
            known = sorted({table for place in self._places for table in place.tables})
            named = ", ".join(tables) or "the query"
            return f"{named} names no upsert table; there are {', '.join(known) or 'none'}"
        feeds = ", ".join(sorted({place.feed for place in places}))
        return f"{', '.join(tables)} are not in one shard, but in those of {feeds}: name a feed"

    def _mark(
        self,
        session: QuerySession,
        place: UpsertPlace,
        table: str,
        at: At,
        *,
        is_all_versions: bool,
    ) -> ShownMark:
        ticks = self._ticks(session, place, table, at)
        found = NEVER if at.time_ms is None else session.claim_of(table, ticks, at.time_ms)
        tick = tick_at(at, table, ticks, found)
        settled, settled_ms = ticks.settled
        if not has_ends(settled, ticks.horizon):
            raise ServerUnfit(
                f"has {table} settled up to tick {settled}, and the ends up to {ticks.horizon} may "
                "be gone"
            )
        if at.is_settled:
            if tick and not settled:
                raise ServerUnfit(f"has no settle point of {table} yet", lasts=True)
            shown = self._shown.get((place.feed, table), Shown()).settled
            if (ticks.generation, settled) < shown:
                raise ServerUnfit(f"has {table} settled up to tick {settled}, and not {shown[1]}")
            tick, time_ms = settled, settled_ms
        elif at.tick is not None:
            time_ms = session.time_of(table, ticks.generation, tick)
        else:
            time_ms = (found if at.is_earlier else ticks.newest).time_ms
        since_s = shown_since_s(time_ms, place.retention_hours[table])
        if since_s and not session.has_rows_before(table, since_s):
            since_s = 0
        mark = mark_at(at, tick, settled, ticks, is_all_versions=is_all_versions, since_s=since_s)
        return ShownMark(mark, ticks.generation, ticks.newest)

    def _ticks(self, session: QuerySession, place: UpsertPlace, table: str, at: At) -> TableTicks:
        """Returns the ticks of a table. Raises ServerUnfit for fewer than were shown before."""
        ticks = session.ticks(table, place.history_seconds[table], at)
        shown = self._shown.get((place.feed, table), Shown()).newest
        if (ticks.generation, ticks.newest.tick) < shown:
            raise ServerUnfit(
                f"has {table} up to tick {ticks.newest.tick}, and {shown[1]} was shown before"
            )
        return ticks

    def _remember(
        self, place: UpsertPlace, marks: Mapping[str, ShownMark], *, is_settled: bool
    ) -> None:
        with self._lock:
            for table, each in marks.items():
                before = self._shown.get((place.feed, table), Shown())
                settled = (each.generation, each.mark.tick) if is_settled else before.settled
                self._shown[place.feed, table] = Shown(
                    max(before.newest, (each.generation, each.newest.tick)),
                    max(before.settled, settled),
                )

    # -- servers

    def _on_a_server(
        self, place: UpsertPlace, tables: Sequence[str], run: Callable[[QuerySession], T]
    ) -> T:
        """Runs something on the first server that is complete.

        Raises StoreUnreachable if there is none within the time.
        """
        until = self._clock() + self._timeout_seconds
        while True:
            failures: list[str] = []
            is_waiting = False
            for address in self._next_servers(place.servers):
                try:
                    answer = self._on(place, address, tables, run)
                except ServerUnfit as unfit:
                    failures.append(f"{address} {unfit}")
                    is_waiting |= not unfit.lasts
                except StoreUnreachable as error:
                    failures.append(str(error))
                else:
                    self._avoided.pop(address, None)
                    return answer
                self._avoided[address] = self._clock() + AVOID_SECONDS
            if not is_waiting or self._clock() >= until:
                raise StoreUnreachable(
                    f"no server can show {', '.join(tables)}: {'; '.join(failures)}"
                )
            self._pause(PAUSE_SECONDS)

    def _next_servers(self, servers: Sequence[ClickHouseAddress]) -> list[ClickHouseAddress]:
        """Returns the servers in the order in which the next query asks them."""
        with self._lock:
            turn, self._turn = self._turn, self._turn + 1
        now = self._clock()
        return in_turn(servers, turn, {at for at, until in [*self._avoided.items()] if now < until})

    def _on(
        self,
        place: UpsertPlace,
        address: ClickHouseAddress,
        tables: Sequence[str],
        run: Callable[[QuerySession], T],
    ) -> T:
        own = replace(address, user=self._user, database=place.database)
        setup = ClientSetup("--user", "--password-file", "SELECT")
        server = ClickHouse(
            own,
            setup,
            "another server is asked",
            password=self._password,
            ca_file=place.ca_file,
            timeout_seconds=self._timeout_seconds,
        )
        connect = min(CONNECT_SECONDS_MAX, self._timeout_seconds)
        client = server.client(connect_timeout=connect, client_name="sluice sql")
        try:
            return run(QuerySession.begin(client, place.database, str(own), tables))
        except BaseException as error:
            client.disconnect()
            if isinstance(error, ServerException):
                if error.code == LACKS_QUORUM_PART:
                    raise ServerUnfit(f"says: {reason(error)}") from error
                if error.code not in LOGIN:
                    raise QueryFailed(f"{own}: {reason(error)}") from error
            if isinstance(error, UnknownTypeError):
                raise QueryFailed(_unread(str(own), error)) from error
            if isinstance(error, DRIVER_ERRORS):
                raise StoreUnreachable(f"ClickHouse at {own}: {problem(error, setup)}") from error
            raise


def in_turn(
    servers: Sequence[ClickHouseAddress], turn: int, avoided: Collection[ClickHouseAddress]
) -> list[ClickHouseAddress]:
    """Returns servers in the order in which a query asks them: from its own one on, those that are
    avoided last. Pure."""
    first = turn % len(servers)
    in_order = [*servers[first:], *servers[:first]]
    return sorted(in_order, key=lambda each: each in avoided)


def places_of(feed: object) -> Iterator[UpsertPlace]:
    """Yields the places of a feed's upsert tables, one per shard."""
    if not isinstance(feed, ClickHouseFeed):
        return
    for number, shard in enumerate(feed.shards):
        tables = [each for each in feed.upsert_tables if feed.shard_number_of(each) == number]
        if tables:
            yield UpsertPlace(
                feed=feed.name,
                database=shard.database,
                servers=shard.replicas,
                ca_file=shard.ca_file,
                tables={each.name: _names_of(each) for each in tables},
                history_seconds={each.name: each.history_seconds for each in tables},
                retention_hours={each.name: each.retention_hours for each in tables},
            )


def _names_of(table: UpsertTable) -> UpsertNames:
    key = tuple(table.primary_key)
    is_sorted = {*table.sorted_by[: len(key)]} == {*key}
    return UpsertNames(table.name, tuple(table.columns), key if is_sorted else ())


@contextmanager
def _named(server: str) -> Iterator[None]:
    """Raises QueryFailed or StoreUnreachable for errors while an answer is read."""
    try:
        yield
    except ServerException as error:
        raise QueryFailed(f"{server}: {reason(error)}") from error
    except UnknownTypeError as error:
        raise QueryFailed(_unread(server, error)) from error
    except DRIVER_ERRORS as error:
        raise StoreUnreachable(
            f"ClickHouse at {server} went away within its answer: {reason(error)}"
        ) from error


def _unread(server: str, error: UnknownTypeError) -> str:
    """Returns the text for an answer that has a column of a type that the driver does not read."""
    return (
        f"{server}: {reason(error)}: name the columns one by one, with functions such as toString "
        "or finalizeAggregation where their types are of ClickHouse alone"
    )
