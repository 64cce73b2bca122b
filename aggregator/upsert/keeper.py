"""Keeper of an upsert table: cuts its ticks, and claims them once they are folded.

1. The table's transactional id is opened, which fences another keeper; the newest tick is read.
2. Ledger, store and checkpoint say how to go on (recovery.py): with the tick that was cut and not
   claimed, or with another one; with the state that Spark has, or with one read from the store.
3. The key coordinator's query starts. It reads the records of the posted tick, inserts the rows,
   and folds them.
4. The ends of a folded tick are inserted, then the tick is claimed.
5. The next tick is cut, committed together with the dead letters of the one before, and posted.

Steps 4 and 5 are repeated. Whatever fails, the keeper begins again with 1.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from typing import Protocol

from aggregator.loader.intent_effects import EffectProducer
from aggregator.loader.produced import Produced
from aggregator.upsert.bootstrap import BootstrapPlan
from aggregator.upsert.checkpoint import (
    Checkpoint,
    CheckpointHeld,
    Checkpoints,
    Identity,
    checkpoint_for,
    held_by,
)
from aggregator.upsert.claims import TickRow, TickTable, What
from aggregator.upsert.cluster_logs import ClusterLogs, logs_behind
from aggregator.upsert.fact_reader import UpsertFactReader
from aggregator.upsert.facts import LaneNote
from aggregator.upsert.keeper_report import after_claim, stopped_lanes, unsettled_events, with_look
from aggregator.upsert.key_coordinator import TickResult
from aggregator.upsert.range_reader import LostRange, lost_range, with_gap
from aggregator.upsert.recovery import Found, StateAction, TickAction, TickName, recovery
from aggregator.upsert.settle_schedule import SettleSchedule
from aggregator.upsert.table_orders import TableOrders
from aggregator.upsert.tick import Lane, Stop, Tick
from aggregator.upsert.tick_clock import ClockDiffers, TickClock
from aggregator.upsert.tick_cut import CutSettings, LaneLog, cut, tick_zero
from aggregator.upsert.tick_posting import TickPosting, TickPostingFile
from aggregator.upsert.tick_store import TickStore
from aggregator.upsert.upsert_metrics import UpsertReport
from aggregator.upsert.upsert_schema import FIRST_GENERATION
from replicator.config.upsert_table import UpsertTable
from replicator.kafka.client.cluster import Cluster, Fenced
from replicator.kafka.client.fenced_committer import Effects, FencedCommitter
from replicator.kafka.client.loss import Loss
from replicator.kafka.client.progress_expiry import read_expiry
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import RotateTable
from replicator.runtime.backoff import Backoff
from replicator.runtime.error_text import error_text
from replicator.runtime.gather import in_own_task
from replicator.runtime.run_in_thread import run_in_thread

log = logging.getLogger(__name__)

PAUSE_SECONDS = (1.0, 30.0)
"""Pauses before a keeper begins again."""
ORDERS_SECONDS = 1.0
"""Pause between two looks at the orders about a table."""
HOUR_MS = 3_600_000
REST_SECONDS = 60.0
"""Age of the newest tick at which a table at rest gets an empty one: it can be read as of a time a
minute ago, and what is older than the retention goes."""
IDLE_SECONDS = 5.0
"""Longest wait for something new in the logs, before they are looked at all the same."""
STOP_SECONDS = 5.0
"""Longest wait for the batch of a query that ends."""
HOLDER_SECONDS = 3 * STOP_SECONDS
"""Longest wait for a process that holds the checkpoint: it has lost the table, and is about to end.
Behind it the state is read from the store, as another one may stand still for long."""
HOLDER_LOOK_SECONDS = 0.2
CALM_SECONDS = 60.0
"""Time without a failure after which the pause is the shortest again."""


class ContradictoryProgress(Exception):
    """Ledger, store and state of a table contradict each other. An operator has to decide."""


class RotationDue(Exception):
    """A state of keys that is to be read from the store anew. The message says why."""


class QueryEnded(Exception):
    """A query of Spark that ended without an error."""


class TickQuery(Protocol):
    """Running query of the key coordinator."""

    def wait(self) -> None:
        """Waits until the query has ended; raises what ended it. Blocking."""

    def stop(self, tick: int, seconds: float) -> bool:
        """Ends the query behind a tick, or when time is up. Blocking."""


class LettersOf(Protocol):
    """Reader of records that could not be loaded."""

    async def __call__(self, tick: Tick, notes: Sequence[LaneNote]) -> list[Produced]:
        """Returns the dead letters of a tick.

        Args:
            notes: of the tick's lanes, with the offsets and reasons.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class KeeperParts:
    """Parts that a keeper works with.

    Args:
        home: cluster that keeps the ticks.
        ticks_of: the store's table of ticks, for a generation.
        logs: of each cluster that the table reads.
        changed: set when logs change.
        cut_settings: settings that ticks follow.
        clock: that ticks have their times of.
        facts: of the table.
        planned: plans a bootstrap at a claim, whose lanes are given. Blocking.
        letters_of: makes dead letters.
        order_log: returns all orders that are known.
        start: starts a query upon a checkpoint, and calls back for each tick. Blocking.
    """

    feed: str
    table: UpsertTable
    home: Cluster
    tick_store: TickStore
    ticks_of: Callable[[int], TickTable]
    logs: Sequence[ClusterLogs]
    changed: asyncio.Event
    cut_settings: CutSettings
    clock: TickClock
    checkpoints: Checkpoints
    posting: TickPostingFile
    facts: UpsertFactReader
    planned: Callable[[TickRow, Sequence[Lane]], BootstrapPlan]
    letters_of: LettersOf
    start: Callable[[Checkpoint, Callable[[TickResult], None]], TickQuery]
    settling: SettleSchedule
    orders: TableOrders
    order_log: Callable[[], OrderLog]


@dataclass(eq=False)
class TableKeeper:
    """Keeps one upsert table, until it is cancelled or another keeper has its id.

    Args:
        tell: takes the reason why the table stands still; empty once it moves.
        tell_losses: takes the lanes that take nothing, with the reasons.
    """

    parts: KeeperParts
    tell: Callable[[str], None] = lambda reason: None
    tell_losses: Callable[[Mapping[Lane, str]], None] = lambda losses: None
    report: UpsertReport = field(init=False)
    query: TickQuery | None = field(init=False, default=None)
    checkpoint: Checkpoint | None = field(init=False, default=None)
    """Checkpoint that the query continues."""
    events_by_tick: Mapping[int, int] = field(init=False, default_factory=dict)
    """Numbers of ends of the ticks that are not settled, as far as this process claimed them. It is
    replaced with each claim, as the thread of the metrics page reads it."""
    checked: TickName | None = field(init=False, default=None)
    """Newest tick of the ledger as the servers were asked for rows of later ones, which are of a
    ledger that lost ticks; None once another tick is cut. It reads a column of all rows."""
    _is_rotating: bool = field(init=False, default=False)
    """The next query begins with the state that the store has."""
    _lost: LostRange | None = field(init=False, default=None)
    """Loss that ended the last attempt of a tick; it is committed with the tick."""

    def __post_init__(self) -> None:
        self.report = UpsertReport(feed=self.parts.feed, table=self.parts.table.name)

    def report_now(self) -> UpsertReport:
        """Returns the report with what the servers and the state showed last."""
        report, look = self.report, self.parts.settling.look
        if held := self.checkpoint:
            report = replace(report, state_bytes=held.size_bytes(), state_keys=held.keys())
        return with_look(report, look, self.events_by_tick) if look else report

    def take_in(self, claim: TickRow) -> None:
        """Counts the ends of another claimed tick, and those of settled ticks no more."""
        events = {**self.events_by_tick, claim.tick: claim.events}
        self.events_by_tick = unsettled_events(events, self.parts.settling.look)

    async def keep(self) -> None:
        """Keeps the table until cancelled. Raises Fenced: another keeper has the table's id."""
        self.checked = None
        backoff = Backoff(*PAUSE_SECONDS)
        while True:
            began = time.monotonic()
            try:
                await in_own_task(self._begin())
            except Exception as error:
                first = first_of(error)
                if isinstance(first, Fenced):
                    raise first from None
                if isinstance(first, RotationDue):
                    log.info(
                        "event=upsert-rotates feed=%s table=%s: %s",
                        self.parts.feed,
                        self.parts.table.name,
                        first,
                    )
                    self._is_rotating = True
                    continue
                self._lost = lost_range(str(first))
                self.tell(error_text(first))
                log.error(
                    "event=upsert-failed feed=%s table=%s again_in_seconds=%.1f: %s",
                    self.parts.feed,
                    self.parts.table.name,
                    backoff.seconds,
                    error_text(first),
                )
            if time.monotonic() - began > CALM_SECONDS:
                backoff.reset()
            await asyncio.sleep(backoff.jittered(0.8, 1.2))
            backoff.grow()

    async def _begin(self) -> None:
        """Keeps the table until something fails."""
        parts = self.parts
        await parts.home.open()
        holder = await parts.tick_store.open()
        cut_last = await parts.tick_store.read_as_holder(holder)
        generation = cut_last.generation if cut_last else FIRST_GENERATION
        ticks = parts.ticks_of(generation)
        claim = await run_in_thread(ticks.newest, What.CLAIM)
        claimed = claim.tick if claim else 0
        identity = Identity(parts.feed, parts.table.name, generation, parts.table.state_partitions)
        cut_number = cut_last.number if cut_last else 0
        ledger = TickName(generation, cut_number)
        # A tick that is to be done again may have rows.
        is_checked = cut_number > claimed or ledger == self.checked
        with ExitStack() as holding:
            newest = await self._held(holding)
            found = Found(
                ledger=ledger if cut_last else None,
                claimed=TickName(generation, claimed),
                checkpoint=await run_in_thread(held_by, newest, identity),
                stored=0 if is_checked else await run_in_thread(ticks.newest_stored),
            )
            decided = recovery(found)
            if self._is_rotating:
                decided = replace(decided, state=StateAction.BOOTSTRAP)
            log.info(
                "event=upsert-begins feed=%s table=%s generation=%d cut=%d claimed=%d state=%s: %s",
                parts.feed,
                parts.table.name,
                generation,
                cut_number,
                claimed,
                decided.state,
                decided.reason,
            )
            if decided.action is TickAction.STOP:
                raise ContradictoryProgress(decided.reason)
            if cut_number == claimed:
                self.checked = ledger
            if cut_last and decided.action is TickAction.REDO:
                cut_last = await self._with_gaps(holder, cut_last)
            rotate = parts.orders.due(RotateTable, parts.order_log(), time.time_ns() // 1_000_000)
            chosen = await run_in_thread(checkpoint_for, parts.checkpoints, identity, decided)
            self._is_rotating = False
            facts = parts.facts
            if chosen.is_new:
                holding.enter_context(chosen.checkpoint.held())
                if rotate is not None:
                    # The state is read anew after the order was heard, for whatever reason.
                    parts.orders.done(rotate)
                if claim and cut_last:
                    plan = await run_in_thread(parts.planned, claim, cut_last.lanes)
                    facts = replace(facts, plan=plan)
            parts.posting.write_reader(facts)
            posting = TickPosting(generation, claimed, claimed, (cut_last,) if cut_last else ())
            run = KeeperRun(self, holder, ticks, posting, claim)
            await run.keep(chosen.checkpoint)

    async def _held(self, holding: ExitStack) -> Checkpoint | None:
        """Returns the newest checkpoint, held for this process; None if there is none, or another
        process does not let go of it."""
        newest = self.parts.checkpoints.newest()
        give_up_at = time.monotonic() + HOLDER_SECONDS
        while newest is not None:
            try:
                holding.enter_context(newest.held())
                break
            except CheckpointHeld as error:
                if time.monotonic() > give_up_at:
                    log.warning("event=upsert-checkpoint-left %s", error)
                    return None
            await asyncio.sleep(HOLDER_LOOK_SECONDS)
        return newest

    async def _with_gaps(self, holder: FencedCommitter, tick: Tick) -> Tick:
        """Returns a tick that is to be done again, with what its last attempt found to be lost and
        what an operator has accepted of it, once that is committed."""
        parts = self.parts
        found = tick if self._lost is None else with_gap(tick, self._lost)
        now_ms = time.time_ns() // 1_000_000
        accepted = parts.orders.accepted(found.gaps, parts.order_log(), now_ms)
        found = replace(found, gaps=tuple(with_acceptance(found.gaps, accepted)))
        if found != tick:
            await parts.tick_store.commit(holder, found)
        self._lost = None
        command = f"sluice upsert accept-loss --feed {parts.feed} --table {parts.table.name}"
        self.tell_lost(stopped_lanes(found, command))
        return found

    def tell_lost(self, losses: Mapping[Lane, str]) -> None:
        """Tells of the lanes that take nothing."""
        self.report = replace(self.report, stopped_lanes=len(losses))
        self.tell_losses(losses)


def with_acceptance(gaps: Sequence[Stop], accepted: Mapping[int, Loss]) -> list[Stop]:
    """Returns gaps, those that an operator has accepted as such.

    Args:
        accepted: losses by lane.
    """
    return [
        each._replace(is_accepted=True) if accepted.get(each.lane) == each.loss else each
        for each in gaps
    ]


@dataclass(eq=False)
class KeeperRun:
    """Work of a keeper from its beginning to its first failure.

    Args:
        holder: of the table's transactional id.
        posting: with the tick that was cut last, if there is one.
        claim: the newest one.
    """

    keeper: TableKeeper
    holder: FencedCommitter
    ticks: TickTable
    posting: TickPosting
    claim: TickRow | None
    _notes: Sequence[LaneNote] | None = field(init=False, default=None)
    """Notes of the newest claimed tick; None: not known in this run."""
    _is_claimed: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    """Set while the newest posted tick is claimed."""
    _cut_at: float = field(init=False, default=0.0)
    _loop: asyncio.AbstractEventLoop = field(init=False)
    _producer: EffectProducer = field(init=False)
    """Producer of all ticks of the holder: with the sequences of another one, brokers would take
    letters for repeats of earlier ones, and leave them out."""

    def __post_init__(self) -> None:
        self._producer = EffectProducer(self._parts.home)

    @property
    def _parts(self) -> KeeperParts:
        return self.keeper.parts

    async def keep(self, checkpoint: Checkpoint) -> None:
        """Runs the query and cuts ticks. Raises what ended either."""
        self._loop = asyncio.get_running_loop()
        if self.posting.newest <= self.posting.claimed:
            self._is_claimed.set()
        self._parts.posting.write(self.posting)
        query = await run_in_thread(self._parts.start, checkpoint, self.folded)
        self.keeper.query, self.keeper.checkpoint = query, checkpoint
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._wait(query))
                tasks.create_task(self._keep_cutting())
                tasks.create_task(self._parts.settling.keep(self.ticks))
                tasks.create_task(self._keep_rotating(checkpoint))
        finally:
            # The batch of a tick that is claimed ends at once; others are done again.
            self.keeper.query = None
            claimed = self.posting.claimed
            await asyncio.shield(run_in_thread(query.stop, claimed, STOP_SECONDS))

    async def _wait(self, query: TickQuery) -> None:
        await run_in_thread(query.wait)
        raise QueryEnded("the query of the key coordinator has ended by itself")

    async def _keep_rotating(self, checkpoint: Checkpoint) -> None:
        """Ends the run once the state is to be read anew. Raises RotationDue.

        A state that is half a retention old holds as many keys again that nobody can change any
        more.
        """
        table, orders = self._parts.table, self._parts.orders
        while True:
            await asyncio.sleep(ORDERS_SECONDS)
            now_ms = time.time_ns() // 1_000_000
            order = orders.due(RotateTable, self._parts.order_log(), now_ms)
            if order is not None:
                orders.done(order)
                raise RotationDue(f"an order of {order.who}: {order.why}")
            age_hours = (now_ms - checkpoint.begun_ms()) / HOUR_MS
            if age_hours > table.retention_hours / 2:
                raise RotationDue(f"the state is {age_hours:.0f} hours old")

    # -- claims

    def folded(self, result: TickResult) -> None:
        """Inserts the ends of a folded tick, and claims it. Called by Spark's thread, once for each
        tick, and again for a tick whose batch was not committed."""
        if result.tick <= self.posting.claimed:
            return
        tick, is_repeat = self.posting.tick(result.tick), not self.posting.is_new
        events = self.ticks.insert_ends(tick.number, result.ends, is_repeat=is_repeat)
        claim = claim_of(tick, result.notes, events)
        self.ticks.publish(claim, is_repeat=is_repeat)
        self._loop.call_soon_threadsafe(self._was_claimed, claim, result)

    def _was_claimed(self, claim: TickRow, result: TickResult) -> None:
        self.claim, self._notes = claim, result.notes
        self.posting = replace(self.posting, claimed=claim.tick)
        self._is_claimed.set()
        self.keeper.tell("")
        self.keeper.take_in(claim)
        tick, seconds = self.posting.tick(claim.tick), time.monotonic() - self._cut_at
        self.keeper.report = after_claim(self.keeper.report, tick, claim, result, seconds)

    # -- ticks

    async def _keep_cutting(self) -> None:
        expiry = await read_expiry(self._parts.home)
        while True:
            await self._is_claimed.wait()
            await self._pause()
            self._parts.changed.clear()
            # Dead letters of a tick go with the next one, whether that takes records or not.
            has_letters = self.claim is not None and self.claim.letters > 0
            is_old = self._age_seconds() >= min(REST_SECONDS, expiry.renewal_seconds)
            now_ms = await self._time_ms()
            logs = await logs_behind(self._parts.logs, self._newest)
            tick = self._next(logs, now_ms, is_refresh_due=is_old or has_letters)
            if tick is not None:
                await self._post(tick)
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(min(IDLE_SECONDS, expiry.renewal_seconds)):
                    await self._parts.changed.wait()

    async def _time_ms(self) -> int:
        """Returns the time, in Unix ms, once the clock can be trusted. Raises NotStored."""
        told = ""
        while True:
            try:
                now_ms = await run_in_thread(self._parts.clock.now_ms)
            except ClockDiffers as error:
                if not told:
                    log.error(
                        "event=upsert-clock-differs feed=%s table=%s: %s",
                        self._parts.feed,
                        self._parts.table.name,
                        error,
                    )
                told = str(error)
                self.keeper.tell(told)
                await asyncio.sleep(IDLE_SECONDS)
            else:
                if told:
                    self.keeper.tell("")
                return now_ms

    async def _pause(self) -> None:
        """Waits until the least time between two ticks is over."""
        left = self._cut_at + self._parts.table.tick_seconds - time.monotonic()
        if left > 0:
            await asyncio.sleep(left)

    def _age_seconds(self) -> float:
        """Returns the time since the last tick was committed; that of one of an earlier run is long
        ago."""
        return time.monotonic() - self._cut_at if self._cut_at else math.inf

    @property
    def _newest(self) -> Tick:
        """The newest tick; what stands for one before the first."""
        return self.posting.ticks[-1] if self.posting.ticks else tick_zero(self.ticks.generation)

    def _next(
        self,
        found_logs: Mapping[str, Mapping[Lane, LaneLog | None]],
        now_ms: int,
        *,
        is_refresh_due: bool,
    ) -> Tick | None:
        """Returns the next tick, and tells of lanes that lost records.

        Args:
            found_logs: of the clusters that answer, by name.
        """
        orders, order_log = self._parts.orders, self._parts.order_log()
        logs = {lane: log for some in found_logs.values() for lane, log in some.items()}
        before = self._newest
        found = cut(
            before,
            orders.unfrozen(logs, order_log, now_ms),
            found_logs,
            now_ms,
            self._parts.cut_settings,
            accepted=orders.accepted(before.stops, order_log, now_ms),
            is_refresh_due=is_refresh_due and bool(self.posting.ticks),
        )
        lanes = found.tick.lanes if found.tick else before.lanes
        self.keeper.tell_lost({lanes[at]: str(loss) for at, loss in found.losses.items()})
        return found.tick

    async def _post(self, tick: Tick) -> None:
        """Commits a tick with the dead letters of the one before, then posts it. Raises Fenced."""
        effects = await self._letters()
        self.keeper.checked = None
        await self._parts.tick_store.commit(self.holder, tick, effects=effects)
        self._cut_at = time.monotonic()
        self._is_claimed.clear()
        ticks = (*self.posting.ticks[-1:], tick)
        self.posting = replace(self.posting, ticks=ticks, is_new=True)
        self._parts.posting.write(self.posting)

    async def _letters(self) -> Effects | None:
        """Returns what produces the dead letters of the newest claimed tick."""
        if self.claim is None or not self.claim.letters:
            return None
        tick = self.posting.ticks[-1]
        notes = self._notes
        if notes is None:
            # Another process claimed the tick, and had not cut the next one.
            notes = await run_in_thread(self._parts.facts.notes_of, tick)
        letters = await self._parts.letters_of(tick, notes)
        return self._producer.effects(self.holder, letters)


def claim_of(tick: Tick, notes: Sequence[LaneNote], events: int) -> TickRow:
    """Returns the claim of a tick.

    Args:
        events: number of the rows that it ended.
    """
    return TickRow(
        tick.generation,
        tick.number,
        What.CLAIM,
        tick.time_ms,
        tick.ends,
        rows=sum(note.rows for note in notes),
        events=events,
        expired=sum(note.expired for note in notes),
        letters=sum(len(note.letters) for note in notes),
    )


def first_of(error: BaseException) -> BaseException:
    """Returns the error that a group of them began with; a fence comes before all others."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    found = [first_of(each) for each in error.exceptions]
    return next((each for each in found if isinstance(each, Fenced)), found[0])
