"""Settle schedule: looks at the servers of an upsert table, has its horizon follow, and settles the
table every settle_seconds.

Each is a task of its own: a settling waits for servers as long as it may take, and what the horizon
lets go for a server that does not drop it. Whatever fails is told, and tried again: ticks go on
without settle points, and only reads get slower.

Answers are taken in on the event loop: threads of a run that was cancelled may go on for a while
beside those of the next one.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from clickhouse_driver import Client

from aggregator.store.identifier import quoted
from aggregator.store.shard_store import NotStored, ShardStore
from aggregator.upsert.claims import ClaimsMissing, TickRow, TickTable, What, settle_point
from aggregator.upsert.horizon import Horizon
from aggregator.upsert.mark import TableMark
from aggregator.upsert.server_levels import ServerLevels, look_at_servers
from aggregator.upsert.settle_plan import SettlePlan, settle_plan
from aggregator.upsert.settling import Settled, Settler
from aggregator.upsert.table_names import UNTIL, rows_table
from aggregator.upsert.table_orders import TableOrders
from aggregator.upsert.tick import OPEN
from aggregator.upsert.visibility import shown_since_s
from replicator.config.upsert_table import UpsertTable
from replicator.notices.condition import Kind
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import SettleTable
from replicator.runtime.clock import monotonic
from replicator.runtime.run_in_thread import run_in_thread

log = logging.getLogger(__name__)

T = TypeVar("T")
LOOK_SECONDS = 2.0
"""Pause between two looks at the servers."""
SETTLING_SECONDS_MAX = 300.0
"""Longest settling. One that takes longer is gone on with by the next one, at the same point."""
LOST_SECONDS = 600.0
"""Pause between two settlings while ends are lost: each has the servers read all rows."""
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


class _Seen(NamedTuple):
    """Look as far as settling and the horizon need it.

    Args:
        claim: the newest one.
        at_mark: claim of the mark.
        names: of the servers that get queries.
    """

    points: Sequence[TickRow]
    claim: TickRow
    at_mark: TickRow
    names: Sequence[str]
    horizon: TickRow | None


@dataclass(eq=False)
class SettleSchedule:
    """Settling of one table.

    Args:
        settler_of: makes the settling, given the table of ticks.
        order_log: returns all orders that are known.
        tell: takes what is wrong, by its kind; an empty text once it is over.
        clock: monotonic, in seconds.
        look_seconds: see LOOK_SECONDS.
        look: the last one at the servers; None before the first.
    """

    feed: str
    table: UpsertTable
    store: ShardStore
    settler_of: Callable[[TickTable], Settler]
    orders: TableOrders
    order_log: Callable[[], OrderLog]
    tell: Callable[[Kind, str], None] = lambda kind, text: None
    clock: Callable[[], float] = monotonic
    look_seconds: float = LOOK_SECONDS
    look: ServerLook | None = field(init=False, default=None)
    _new_at: float = field(init=False, default=-math.inf)
    """Time at which a mark was taken for a settle point."""
    _settled_at: float = field(init=False, default=-math.inf)
    """Time at which a settling ended."""
    _unreached: TickRow | None = field(init=False, default=None)
    """Settle point with which a settling has begun, until it is published."""
    _rests_until: float = field(init=False, default=-math.inf)
    """Time before which no settling looks again whether ends are lost."""
    _counted_at: float = field(init=False, default=-math.inf)
    _counted: float | None = field(init=False, default=None)
    _times: dict[int, int] = field(init=False, default_factory=dict)
    """Times of claimed ticks that were looked at, by number."""
    _told: dict[tuple[Kind, str], str] = field(init=False, default_factory=dict)
    """Texts that were told last, by kind and part of the work; empty where all is well."""

    async def keep(self, ticks: TickTable) -> None:
        """Settles the table until cancelled."""
        # Its tables may have been made anew since the run before.
        table, points_from = self.table, 0
        levels = ServerLevels(table.server_lag_seconds)
        horizon = Horizon(self.store, table.name, table.history_seconds, table.retention_hours)
        self._unreached = None
        self._times, self._counted, self._counted_at = {}, None, -math.inf
        pause_seconds = min(self.look_seconds, table.settle_seconds)
        settling: asyncio.Task[None] | None = None
        following: asyncio.Task[None] | None = None
        async with asyncio.TaskGroup() as tasks:
            while True:
                await asyncio.sleep(pause_seconds)
                # A look that began before the end of a settling may lack its point.
                is_free = settling is None or settling.done()
                seen = await self._tried("look", partial(self._look, ticks, levels, points_from))
                if seen is None:
                    continue
                # Points before the last one that each server has say nothing any more.
                points_from = min(
                    settle_point(seen.points, seen.claim.tick, name) for name in seen.names
                )
                if following is None or following.done():
                    following = tasks.create_task(self._follow(horizon, ticks, seen.claim))
                if is_free and (plan := self._due(seen)) is not None:
                    settling = tasks.create_task(self._settle(ticks, plan))

    async def _tried(self, of: str, work: Callable[[], T]) -> T | None:
        """Does work in a thread, and returns its result; None if servers did not do their part.

        Args:
            of: what the work is for, as each is told by itself.
        """
        try:
            result = await run_in_thread(work)
        except (NotStored, ClaimsMissing) as error:
            if self._is_news(Kind.SETTLING_FAILS, str(error), of=of):
                log.error("event=settling-fails %s: %s", self._name, error)
            return None
        self._is_news(Kind.SETTLING_FAILS, "", of=of)
        return result

    def _look(self, ticks: TickTable, levels: ServerLevels, points_from: int) -> _Seen | None:
        """Looks at the servers; returns None while none gets queries. Blocking.

        Args:
            points_from: first settle point that is asked for.

        Raises NotStored, ClaimsMissing: look again.
        """
        claim = ticks.newest(What.CLAIM)
        if claim is None:
            return None
        sights, failures = look_at_servers(self.store, self.table.name)
        mark = levels.take(claim.tick, sights, failures, self.clock())
        points = ticks.settle_points(points_from)
        if points_from and not points:
            raise ClaimsMissing(f"a server has no settle point from tick {points_from} on")
        horizon = ticks.newest(What.HORIZON)
        self.look = ServerLook(
            mark,
            claim,
            points[-1] if points else None,
            self._times_of({each: levels.held[each].mark for each in sights}, claim),
            self._dead_rows(mark),
            horizon,
        )
        names = [sights[address].server for address in mark.servers]
        if not names or not mark.tick:
            return None
        at_mark = claim if claim.tick == mark.tick else ticks.claims(mark.tick, mark.tick)[0]
        return _Seen(points, claim, at_mark, names, horizon)

    async def _follow(self, horizon: Horizon, ticks: TickTable, claim: TickRow) -> None:
        """Has the horizon follow, and what lies before it go."""
        await self._tried("horizon", partial(horizon.follow, ticks, claim, self.clock()))
        text = "; ".join(horizon.refused.values())
        if self._is_news(Kind.UPSERT_NOT_DROPPED, text):
            log.error("event=upsert-not-dropped %s: %s", self._name, text)

    def _due(self, seen: _Seen) -> SettlePlan | None:
        """Returns what is to be settled now, by the last look."""
        order = self.orders.due(SettleTable, self.order_log(), time.time_ns() // 1_000_000)
        now = self.clock()
        if order is not None:
            self.orders.done(order)
        horizon = seen.horizon
        plan = settle_plan(
            seen.points,
            seen.at_mark,
            seen.names,
            seconds_since_new=now - self._new_at if order is None else math.inf,
            seconds_since_last=now - self._settled_at,
            settle_seconds=self.table.settle_seconds,
            horizon=horizon.tick if horizon else 0,
            shown_since_s=(
                shown_since_s(horizon.time_ms, self.table.retention_hours) if horizon else 0
            ),
            unreached=self._unreached if order is None else None,
        )
        if plan is None:
            return None
        is_resting = now < self._rests_until and order is None
        if is_resting and not any(map(plan.can_count, seen.names)):
            return None
        if not plan.is_begun or plan.point == seen.at_mark.tick:
            self._new_at = now
        return plan

    async def _settle(self, ticks: TickTable, plan: SettlePlan) -> None:
        began = self.clock()
        self._unreached = TickRow(plan.generation, plan.point, What.SETTLED, plan.time_ms)
        seconds_max = min(self.table.settle_seconds, SETTLING_SECONDS_MAX)
        settle = partial(self.settler_of(ticks).settle, plan, timeout_seconds=seconds_max)
        settled = await self._tried("settling", settle)
        self._settled_at = self.clock()
        if settled is None:
            return
        if settled.is_published:
            self._unreached = None
            self._is_news(Kind.UPSERT_ENDS_LOST, "")
        # Where neither holds, no server could be asked.
        elif settled.are_ends_lost:
            self._rests_until = self._settled_at + LOST_SECONDS
            text = lost_text(settled)
            if self._is_news(Kind.UPSERT_ENDS_LOST, text):
                log.error("event=upsert-ends-lost %s: %s", self._name, text)
        self._log(settled, self._settled_at - began)

    @property
    def _name(self) -> str:
        return f"feed={self.feed} table={self.table.name}"

    def _is_news(self, kind: Kind, text: str, *, of: str = "") -> bool:
        """Tells what is wrong, or that it is over; returns True for a text that differs.

        That all is well is told once as well: the process before this one may have left a trouble.

        Args:
            text: empty if nothing is wrong.
            of: part of the work, where parts may fail by themselves.
        """
        if self._told.get((kind, of)) == text:
            return False
        self._told[kind, of] = text
        texts = (each for (known, _), each in self._told.items() if each and known is kind)
        self.tell(kind, "; ".join(texts))
        return bool(text)

    def _times_of(self, marks: Mapping[str, int], claim: TickRow) -> dict[str, int | None]:
        """Returns the times of ticks that servers have, as far as their claims were looked at."""
        self._times[claim.tick] = claim.time_ms
        while len(self._times) > TIMES_MAX:
            del self._times[min(self._times)]
        return {server: self._times.get(tick) for server, tick in marks.items()}

    def _dead_rows(self, mark: TableMark) -> float | None:
        """Returns the share of dead rows, counted now and then on a server that has the mark."""
        replica = next((it for it in self.store.replicas if str(it) in mark.servers), None)
        if replica is None or self.clock() - self._counted_at < COUNT_SECONDS:
            return self._counted
        self._counted_at = self.clock()
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
            "event=settled %s tick=%d published=%s servers=%d seconds=%.2f",
            self._name,
            settled.plan.point,
            str(settled.is_published).lower(),
            len(settled.servers),
            seconds,
        )


def lost_text(settled: Settled) -> str:
    """Returns what is wrong where no server has all ends, for an operator."""
    plan = settled.plan
    named = [name for name in plan.after if plan.can_count(name)]
    found = "; ".join(f"{server} {text}" for server, text in sorted(settled.failures.items()))
    return (
        f"no server that answers has a settle point at or behind the horizon, tick {plan.horizon}, "
        f"before which ends are dropped: queries are refused ({found}). Bring back one of those "
        f"that had it: {', '.join(named) or 'none is known'}; see docs/upsert.md, Lost ends"
    )


def read_dead_share(client: Client, database: str, table: str) -> float | None:
    """Returns the share of the stored rows that have ended, as far as that is settled; None for a
    table without rows. Reads one column of all rows.

    Raises the errors of the driver and of the socket.
    """
    query = DEAD.format(until=UNTIL, open=OPEN, table=quoted(database, rows_table(table)))
    [(rows, dead)] = client.execute(query)
    return dead / rows if rows else None
