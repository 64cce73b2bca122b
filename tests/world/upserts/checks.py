"""Checks of an upsert table: rules 65 to 73 of docs/invariants.md.

- Ticks are claimed in order, each once, and only with all rows and ends on the quorum (69).
- Every server that may be asked shows at every mark what brute force over the logs says (67, 68,
  70 to 73), and so does its view at its newest settle point (71).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from clickhouse_driver.errors import ServerException

from aggregator.upsert.query_mark import FRESH, SETTLED, At
from aggregator.upsert.query_session import QuerySession, ServerUnfit
from aggregator.upsert.reader import Reader, UpsertPlace, places_of
from aggregator.upsert.seen_rows import ReadMark, rows_at
from aggregator.upsert.table_names import ROW_ID, TIME
from aggregator.upsert.tick import Tick, tick_of
from aggregator.upsert.visibility import MarkRefused, row_id_end, shown_since_s
from replicator.config.feed_settings import ClickHouseFeed
from tests.world.checks.wrong import Wrong
from tests.world.sinks.keeper import Observer, Part
from tests.world.upserts.server import UpsertKeeper, UpsertServer, what_of
from tests.world.upserts.stored import ROWS, TABLE, TICKS, UPDATES
from tests.world.upserts.truth import SeenRow, Truth
from tests.world.virtual_loop import VirtualLoop

if TYPE_CHECKING:
    from tests.world.upserts.scene import Course


class DirectClient:
    """Client of a server whose questions take no time."""

    def __init__(self, server: UpsertServer) -> None:
        self._server = server

    def execute(
        self,
        query: str,
        parameters: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Any:
        return self._server.answered(query, parameters or {}, settings or {})


class MarkReader(Reader):
    """Reader whose marks can be asked for."""

    def mark(self, session: QuerySession, place: UpsertPlace, at: At) -> ReadMark:
        """Returns the mark of the table on a server. Raises ServerUnfit, MarkRefused."""
        return self._mark(session, place, TABLE, at, is_all_versions=False).mark


class UpsertChecks(Observer):
    """Checks of one table. Whatever they find ends the history at that moment."""

    def __init__(
        self,
        loop: VirtualLoop,
        feed: ClickHouseFeed,
        keeper: UpsertKeeper,
        servers: Mapping[str, UpsertServer],
        truth: Truth,
        quorum: int,
        dice: random.Random,
        course: Course,
    ) -> None:
        self._course = course
        self._loop, self._keeper, self._servers, self._truth = loop, keeper, servers, truth
        self._quorum, self._dice = quorum, dice
        (self._place,) = places_of(feed)
        self._reader = MarkReader([self._place])
        self.claimed = self.settled = self.horizon = 0
        self.shown = 0
        """Answers that were compared."""
        self._claims: dict[int, Mapping[str, Any]] = {}
        self._claimed_by: dict[int, Part] = {}
        self._settled_at = 0.0
        self.armed: Callable[[str], object] | None = None
        """Called with the query id of each insert whose data was sent."""
        keeper.observer = self
        truth.tick_seen.append(self._tick_seen)

    def wrong(self, text: str) -> None:
        self._loop.fail(Wrong(text))

    def sent(self, query_id: str) -> None:
        if self.armed is not None:
            self.armed(query_id)

    # -- claims

    def committed(self, table: str, part: Part) -> None:
        if table != TICKS:
            return
        for row in part.rows:
            values: Mapping[str, Any] = row.values  # type: ignore[attr-defined]
            if what_of(row) == "claim":  # type: ignore[arg-type]
                self._claimed_by.setdefault(values["tick"], part)
                self._claim(values)
            elif what_of(row) == "settled":  # type: ignore[arg-type]
                self.settled = max(self.settled, values["tick"])
                self._settled_at = self._loop.time()
                if len(set(values["servers"])) < self._quorum:
                    self.wrong(f"settle point {values['tick']} has no quorum (71)")
                self._loop.call_soon(self.look)
            elif what_of(row) == "horizon":  # type: ignore[arg-type]
                self.horizon = max(self.horizon, values["tick"])

    def _tick_seen(self, tick: Tick) -> None:
        """Checks that the tick before one that was cut is claimed, with a quorum."""
        if (before := tick.number - 1) and (
            before not in self._claimed_by
            or len(self._keeper.had[self._claimed_by[before]]) < self._quorum
        ):
            self.wrong(f"tick {tick.number} is cut, the claim before it has no quorum (69)")

    def _claim(self, values: Mapping[str, Any]) -> None:
        number = values["tick"]
        if number in self._claims:
            if self._claims[number] != values:
                self.wrong(f"tick {number} is claimed twice: {self._claims[number]}, {values} (69)")
            return
        if number != self.claimed + 1:
            self.wrong(f"tick {number} is claimed behind {self.claimed} (69)")
        tick = self._truth.ticks.get(number)
        if tick is None:
            self.wrong(f"tick {number} is claimed, and was not committed (65)")
            return
        if tuple(values["ends"]) != tick.ends:
            self.wrong(f"tick {number} is claimed with {values['ends']}: {tick} (65)")
        self._claims[number], self.claimed = values, number
        self._check_rows(number)
        self._check_ends(values)
        self._loop.call_soon(self.look)

    def _check_rows(self, number: int) -> None:
        """Checks that the quorum has the row of each record of a tick, and no other."""
        tick = self._truth.ticks[number]
        places = {
            tick.row_id(tick.lanes.index(lane), offset): (lane, offset)
            for lane, records in self._truth.rows_of(number).items()
            for offset, row in records.items()
            if row is not None
        }
        told, gap = self._truth.rows_of(number), self._truth.gap_of(number)
        wanted = {row_id: told[lane][offset] for row_id, (lane, offset) in places.items()}
        found: dict[int, Any] = {}
        for part in self._keeper.tables[ROWS].log:
            for row in part.rows:
                values: Mapping[str, Any] = row.values  # type: ignore[attr-defined]
                if tick_of(row_id := values[ROW_ID]) == number:
                    if row_id in found:
                        self.wrong(f"row {row_id} of tick {number} is stored twice (69)")
                    found[row_id] = values
                    if len(self._keeper.had[part]) < self._quorum:
                        self.wrong(f"tick {number} is claimed, and {row_id} has no quorum (69)")
        lost = {places[it] for it in wanted.keys() - found.keys()} & gap
        self._truth.leave_out(number, lost)
        if missing := [it for it in sorted(wanted.keys() - found.keys()) if places[it] not in lost]:
            self.wrong(f"tick {number} is claimed without the rows {missing} (69)")
        for row_id, values in found.items():
            row = wanted.get(row_id)
            same = (values["id"], values["version"], values["name"], bool(values["gone"]))
            if row is None or same != tuple(row)[:4]:
                self.wrong(f"row {row_id} is {same}, its record says {row} (69)")

    def _check_ends(self, claim: Mapping[str, Any]) -> None:
        """Checks that the quorum has as many ends of a tick as its claim says."""
        number, ids = claim["tick"], set()
        for part in self._keeper.tables[UPDATES].log:
            for row in part.rows:
                values: Mapping[str, Any] = row.values  # type: ignore[attr-defined]
                if values["tick"] == number:
                    ids.add(values["row_id"])
                    if len(self._keeper.had[part]) < self._quorum:
                        self.wrong(f"tick {number} is claimed, and an end has no quorum (69)")
        if len(ids) != claim["events"]:
            self.wrong(f"tick {number} is claimed with {claim['events']} ends, has {len(ids)} (69)")

    # -- answers

    def look(self) -> None:
        """Compares what servers show at several marks with the truth."""
        longest = self._course.settled_seconds_max
        is_loaded = self._loop.time() < self._course.seconds
        if longest and is_loaded and self._loop.time() - self._settled_at > longest:
            self.wrong(f"no settle point has come for {longest:g} s (71)")
        for server in self._servers.values():
            if server.is_up and not server.is_stopped and not server.lacks_tables:
                tick = self._dice.randint(0, self.claimed)
                for at in (FRESH, SETTLED, At(tick=tick)):
                    self._check(server, at)
                self._check_view(server)

    def _check(self, server: UpsertServer, at: At) -> None:
        found = self.answer(server, at)
        if found is None:
            return
        tick, rows = found
        self.shown += 1
        wanted = self._truth.visible(tick)
        if rows != wanted:
            self.wrong(f"{server.name} shows at {at}, tick {tick}: {_difference(rows, wanted)}")

    def answer(self, server: UpsertServer, at: At) -> tuple[int, list[SeenRow]] | None:
        """Returns the tick and the rows that a server shows at a mark; None if it is unfit."""
        client: Any = DirectClient(server)
        try:
            session = QuerySession.begin(client, self._place.database, server.name, [TABLE])
            mark = self._reader.mark(session, self._place, at)
            text = rows_at(self._place.tables[TABLE], mark)
            rows = server.answered(text, {}, session.settings)
        except (ServerUnfit, MarkRefused, ServerException):
            return None
        return mark.tick, sorted(rows)  # type: ignore[arg-type]

    def _check_view(self, server: UpsertServer) -> None:
        """Checks what the view of a server shows, as upsert_schema.settled_view has it.

        It cannot look for parts that a new disk does not have yet (docs/upsert.md).
        """
        if server.is_filling:
            return
        points = [
            (it.values["tick"], it.values["time_ms"])
            for it in server.rows(TICKS)
            if what_of(it) == "settled" and server.replica_name in it.values["servers"]
        ]
        point, time_ms = max(points, default=(0, 0))
        if point < self.horizon:
            return  # a mark that may not be read any more: days of it may be dropped
        since_s = shown_since_s(time_ms, self._course.retention_hours)
        text = (
            f"SELECT `id` WHERE {ROW_ID} < {row_id_end(point)} AND _until > {point} "
            f"AND {TIME} >= toDateTime({since_s})"
        )
        rows = sorted(server.answered(text, {}, {}))
        wanted = self._truth.visible(point)
        if rows != wanted:
            self.wrong(
                f"the view of {server.name} shows at tick {point}: {_difference(rows, wanted)} (71)"
            )


def _difference(rows: list[Any], wanted: list[SeenRow]) -> str:
    more = [it for it in rows if it not in wanted]
    less = [it for it in wanted if it not in rows]
    return f"{len(rows)} rows for {len(wanted)}, more {more[:3]}, less {less[:3]} (67, 68, 70)"
