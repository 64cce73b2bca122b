"""Settle schedule: looks at the servers of an upsert table, settles it every settle_seconds, and
has its horizon follow.

A failure is logged, and tried again: ticks go on without settle points, and only reads get slower.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from clickhouse_driver import Client

from aggregator.store.identifier import quoted
from aggregator.store.shard_store import NotStored, ShardStore
from aggregator.upsert.claims import ClaimsMissing, TickRow, TickTable, What, settle_point
from aggregator.upsert.horizon import Horizon
from aggregator.upsert.mark import TableMark
from aggregator.upsert.server_levels import ServerLevels, look_at_servers
from aggregator.upsert.settling import Settled, Settler, settle_plan
from aggregator.upsert.table_names import UNTIL, rows_table
from aggregator.upsert.table_orders import TableOrders
from aggregator.upsert.tick import OPEN
from replicator.config.upsert_table import UpsertTable
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import SettleTable
from replicator.runtime.report_once import ReportOnce
from replicator.runtime.run_in_thread import run_in_thread

log = logging.getLogger(__name__)

LOOK_SECONDS = 2.0
"""Pause between two looks at the servers."""
COUNT_SECONDS = 600.0
"""Pause between two counts of dead rows, which read a column of all rows."""
DEAD = "SELECT count(), countIf({until} < {open}) FROM {table}"
TIMES_MAX = 1000
"""Claimed ticks whose times are remembered."""


class ServerLook(NamedTuple):
    """Look at the servers of a table.

    Args:
        claim: the newest one.
        settled: the newest settle point; None if there is none.
        mark_ms: by address, the time of the newest tick that a server has whole; None: not known.
        dead_rows: share of the stored rows that have ended, as it was counted last.
        horizon: that is published; None if there is none.
    """

    mark: TableMark
    claim: TickRow
    settled: TickRow | None
    mark_ms: Mapping[str, int | None] = MappingProxyType({})
    dead_rows: float | None = None
    horizon: TickRow | None = None


@dataclass(eq=False)
class SettleSchedule:
    """Settling of one table.

    Args:
        settler_of: makes the settling, given the table of ticks.
        order_log: returns all orders that are known.
        look: the last one at the servers; None before the first.
    """

    feed: str
    table: UpsertTable
    store: ShardStore
    settler_of: Callable[[TickTable], Settler]
    orders: TableOrders
    order_log: Callable[[], OrderLog]
    look: ServerLook | None = field(init=False, default=None)
    _levels: ServerLevels = field(init=False)
    _horizon: Horizon = field(init=False)
    _settled_at: float = field(init=False, default=-math.inf)
    _counted_at: float = field(init=False, default=-math.inf)
    _counted: float | None = field(init=False, default=None)
    _points_from: int = field(init=False, default=0)
    """First settle point that is asked for."""
    _times: dict[int, int] = field(init=False, default_factory=dict)
    """Times of claimed ticks that were looked at, by number."""
    _reports: ReportOnce = field(init=False, default_factory=ReportOnce)

    def __post_init__(self) -> None:
        table = self.table
        self._levels = ServerLevels(table.server_lag_seconds)
        self._horizon = Horizon(
            self.store, table.name, table.history_seconds, table.retention_hours
        )

    async def keep(self, ticks: TickTable) -> None:
        """Settles the table until cancelled."""
        look_seconds = min(LOOK_SECONDS, self.table.settle_seconds)
        while True:
            await asyncio.sleep(look_seconds)
            try:
                await run_in_thread(self._round, ticks)
            except (NotStored, ClaimsMissing) as error:
                if self._reports.is_news(self.table.name, str(error)):
                    log.error(
                        "event=settling-fails feed=%s table=%s: %s",
                        self.feed,
                        self.table.name,
                        error,
                    )
            else:
                self._reports.settle(self.table.name)

    def _round(self, ticks: TickTable) -> None:
        """Looks at the servers, and settles what is due. Blocking.

        Raises NotStored, ClaimsMissing: look again.
        """
        claim = ticks.newest(What.CLAIM)
        if claim is None:
            return
        sights, failures = look_at_servers(self.store, self.table.name)
        mark = self._levels.take(claim.tick, sights, failures, time.monotonic())
        points = ticks.settle_points(self._points_from)
        horizon = ticks.newest(What.HORIZON)
        self.look = ServerLook(
            mark,
            claim,
            points[-1] if points else None,
            self._times_of({each: self._levels.held[each].mark for each in sights}, claim),
            self._dead_rows(mark),
            horizon,
        )
        names = [sights[address].server for address in mark.servers]
        if not names or not mark.tick:
            return
        at_mark = claim if claim.tick == mark.tick else ticks.claims(mark.tick, mark.tick)[0]
        now_ms = time.time_ns() // 1_000_000
        order = self.orders.due(SettleTable, self.order_log(), now_ms)
        plan = settle_plan(
            points,
            at_mark,
            names,
            seconds_since_last=math.inf if order else time.monotonic() - self._settled_at,
            settle_seconds=self.table.settle_seconds,
            horizon=horizon.tick if horizon else 0,
        )
        if order is not None:
            self.orders.done(order)
        # Points before the last one that each server has say nothing any more.
        self._points_from = min(settle_point(points, claim.tick, name) for name in names)
        if plan is not None:
            self._settled_at = time.monotonic()
            settled = self.settler_of(ticks).settle(plan, timeout_seconds=self.table.settle_seconds)
            self._log(settled, time.monotonic() - self._settled_at)
        self._horizon.follow(ticks, claim, time.monotonic())

    def _times_of(self, marks: Mapping[str, int], claim: TickRow) -> dict[str, int | None]:
        """Returns the times of ticks that servers have, as far as their claims were looked at."""
        self._times[claim.tick] = claim.time_ms
        while len(self._times) > TIMES_MAX:
            del self._times[min(self._times)]
        return {server: self._times.get(tick) for server, tick in marks.items()}

    def _dead_rows(self, mark: TableMark) -> float | None:
        """Returns the share of dead rows, counted now and then on a server that has the mark."""
        replica = next((it for it in self.store.replicas if str(it) in mark.servers), None)
        if replica is None or time.monotonic() - self._counted_at < COUNT_SECONDS:
            return self._counted
        self._counted_at = time.monotonic()
        database, table = self.store.database, self.table.name
        try:
            self._counted = self.store.answer_of(
                replica, lambda it: read_dead_share(it.client, database, table)
            )
        except NotStored as error:
            # A figure for people: settling goes on without it.
            log.debug("event=not-counted feed=%s table=%s: %s", self.feed, table, error)
        return self._counted

    def _log(self, settled: Settled, seconds: float) -> None:
        log.info(
            "event=settled feed=%s table=%s tick=%d published=%s servers=%d seconds=%.2f",
            self.feed,
            self.table.name,
            settled.plan.point,
            str(settled.is_published).lower(),
            len(settled.servers),
            seconds,
        )


def read_dead_share(client: Client, database: str, table: str) -> float | None:
    """Returns the share of the stored rows that have ended, as far as that is settled; None for a
    table without rows. Reads one column of all rows.

    Raises the errors of the driver and of the socket.
    """
    query = DEAD.format(until=UNTIL, open=OPEN, table=quoted(database, rows_table(table)))
    [(rows, dead)] = client.execute(query)
    return dead / rows if rows else None
