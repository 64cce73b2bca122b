"""Mutations of an upsert table: rules 65 to 76, each taken out by itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from aggregator.loader.intent_effects import EffectProducer
from aggregator.store import recognition, shard_store
from aggregator.store.recognition import Decision, Verdict
from aggregator.upsert import (
    bootstrap,
    keeper,
    key_coordinator,
    query_session,
    seen_rows,
)
from aggregator.upsert.claims import TickRow, TickTable, What
from aggregator.upsert.keeper import KeeperRun, TableKeeper, claim_of
from aggregator.upsert.key_coordinator import TickResult
from aggregator.upsert.recovery import Found, Recovery, StateAction
from aggregator.upsert.row_task import RowWorker
from aggregator.upsert.settling import Settled, Settler
from aggregator.upsert.tick import Tick
from aggregator.upsert.tick_cut import Cut
from aggregator.upsert.tick_store import TickStore
from aggregator.upsert.visibility import ReplicaCount
from replicator.kafka.client.cluster import Fenced
from tests.world.sinks.feed_scene import until
from tests.world.upserts.spark import PlayedCoordinator


@dataclass(frozen=True, slots=True)
class UpsertMutation:
    """A rule that is taken out.

    Args:
        take_out: takes it out of the whole process, for good.
    """

    name: str
    rule: int
    take_out: Callable[[], None]
    family: str = "upserts"


def put(of: Any, name: str, made: Any) -> None:
    """Puts something in the place of a part of the product."""
    setattr(of, name, made)


def _claim_before_ends() -> None:
    def folded(self: KeeperRun, result: TickResult) -> None:
        if result.tick <= self.posting.claimed:
            return
        tick, is_repeat = self.posting.tick(result.tick), not self.posting.is_new
        claim = claim_of(tick, result.notes, len(result.ends))
        self.ticks.publish(claim, is_repeat=is_repeat)
        self.ticks.insert_ends(tick.number, result.ends, is_repeat=is_repeat)
        self._loop.call_soon_threadsafe(self._was_claimed, claim, result)

    put(KeeperRun, "folded", folded)


def _cut_before_claim() -> None:
    usual = getattr(KeeperRun, "_post")  # noqa: B009

    async def post(self: KeeperRun, tick: Tick) -> None:
        await usual(self, tick)
        self._is_claimed.set()

    put(KeeperRun, "_post", post)


def _part_is_block() -> None:
    usual = recognition.decide

    def decide(block: Any, sight: Any, **more: Any) -> Decision:
        found = any(block.among(each.rows).any() for each in sight.replicas)
        return Decision(Verdict.DONE) if found else usual(block, sight, **more)

    put(shard_store, "decide", decide)


def _end_names_new_row() -> None:
    usual = key_coordinator.ends

    def ends(*given: Any) -> Any:
        found = usual(*given)
        at = found.schema.get_field_index("row_id")
        return found.set_column(at, found.schema.field("row_id"), found["by_row_id"])

    put(key_coordinator, "ends", ends)


def _runner_up_forgotten() -> None:
    def newest(_: PlayedCoordinator, known: list[bytes], version: bytes) -> list[bytes]:
        return [max([*known, version])]

    put(PlayedCoordinator, "newest", newest)


def _old_checkpoint_kept() -> None:
    usual = keeper.recovery

    def recovery(found: Found) -> Recovery:
        made = usual(found)
        is_old = found.checkpoint is not None and made.state is StateAction.BOOTSTRAP
        return replace(made, state=StateAction.KEEP) if is_old else made

    put(keeper, "recovery", recovery)


def changed_cut(change: Callable[[Tick, int], Tick]) -> None:
    usual = keeper.cut

    def cut(
        before: Tick, logs: Any, answering: Any, clock_ms: int, *more: Any, **named: Any
    ) -> Cut:
        found = usual(before, logs, answering, clock_ms, *more, **named)
        return replace(found, tick=change(found.tick, clock_ms)) if found.tick else found

    put(keeper, "cut", cut)


def _lanes_numbered_anew() -> None:
    def sorted_lanes(tick: Tick, _: int) -> Tick:
        lanes, ranges = zip(*sorted(zip(tick.lanes, tick.ranges, strict=True)), strict=True)
        return replace(tick, lanes=lanes, ranges=ranges)

    changed_cut(sorted_lanes)


def _letters_by_another_producer() -> None:
    usual = getattr(KeeperRun, "_letters")  # noqa: B009

    async def letters(self: KeeperRun) -> Any:
        self._producer = EffectProducer(self._parts.home)
        return await usual(self)

    put(KeeperRun, "_letters", letters)


def _letters_left_out() -> None:
    async def letters(_: KeeperRun) -> None:
        return None

    put(KeeperRun, "_letters", letters)


def _settled_before_count() -> None:
    def counts(_: Settler, servers: Any, result: Settled, until: float) -> bool:
        result.counts.update(dict.fromkeys(servers, ReplicaCount(result.plan.point, 0)))
        return True

    put(Settler, "_counts", counts)


def _settled_for_all() -> None:
    usual = TickTable.publish

    def publish(self: TickTable, row: TickRow, **more: Any) -> None:
        servers = ("ch-1", "ch-2", "ch-3") if row.what is What.SETTLED else ()
        usual(self, row._replace(servers=servers), **more)

    put(TickTable, "publish", publish)


def _no_pushers() -> None:
    put(Settler, "_push", lambda *_: None)


def _levels_by_sequential_reads() -> None:
    put(query_session, "has_all", lambda *_: True)


def changed_seen(pattern: str, text: str) -> None:
    usual = seen_rows.seen
    put(seen_rows, "seen", lambda *given: re.sub(pattern, text, usual(*given)))


def _no_bound_on_rows() -> None:
    changed_seen(r"_row_id < \d+ AND ", "")


def _ends_below_mark() -> None:
    changed_seen(r"_ends\.tick <= ", "_ends.tick < ")


def _bootstrap_without_deletes() -> None:
    usual = bootstrap.slice_query

    def query(*given: Any) -> str:
        return re.sub(r"_deleted = 1 AND _time >= toDateTime\(\d+\) OR ", "", usual(*given))

    put(bootstrap, "slice_query", query)


def _redo_sends_nothing() -> None:
    usual = getattr(RowWorker, "_store")  # noqa: B009

    async def store(self: Any, task: Any, rows: Any, reading: Any, moment: Any) -> None:
        if task.is_new:
            await usual(self, task, rows, reading, moment)

    put(RowWorker, "_store", store)


def _redo_cuts_anew() -> None:
    usual = getattr(TableKeeper, "_with_gaps")  # noqa: B009

    async def with_gaps(self: TableKeeper, holder: Any, tick: Tick) -> Tick:
        await until(lambda: all(each.is_answering for each in self.parts.logs), 0.1)
        logs = {lane: it for each in self.parts.logs for lane, it in each.logs.items()}
        ranges = tuple(
            taken._replace(end=max(taken.end, it.end)) if (it := logs.get(lane)) else taken
            for lane, taken in zip(tick.lanes, tick.ranges, strict=True)
        )
        found: Tick = await usual(self, holder, replace(tick, ranges=ranges))
        await self.parts.tick_store.commit(holder, found)
        return found

    put(TableKeeper, "_with_gaps", with_gaps)


def _fenced_keeper_commits() -> None:
    usual = TickStore.commit

    async def commit(self: TickStore, holder: Any, tick: Tick, **more: Any) -> None:
        try:
            await usual(self, holder, tick, **more)
        except Fenced:
            await usual(self, await self.open(), tick)

    put(TickStore, "commit", commit)


MUTATIONS = (
    UpsertMutation("a tick is claimed before its ends", 69, _claim_before_ends),
    UpsertMutation("a tick is cut before the former is claimed", 65, _cut_before_claim),
    UpsertMutation("part of a block is the block", 69, _part_is_block),
    UpsertMutation("a tick that is done again sends no rows", 69, _redo_sends_nothing),
    UpsertMutation("a tick that is done again is cut anew", 65, _redo_cuts_anew),
    UpsertMutation("a fenced keeper commits ticks", 65, _fenced_keeper_commits),
    UpsertMutation("an end names the new row", 68, _end_names_new_row),
    UpsertMutation("the runner-up is forgotten", 68, _runner_up_forgotten),
    UpsertMutation("an old checkpoint is kept", 68, _old_checkpoint_kept),
    UpsertMutation("a bootstrap leaves deletes out", 73, _bootstrap_without_deletes),
    UpsertMutation("lanes are numbered anew", 66, _lanes_numbered_anew),
    UpsertMutation("letters of each tick have another producer", 42, _letters_by_another_producer),
    UpsertMutation("letters are left out", 42, _letters_left_out),
    UpsertMutation("a settle point goes before its count", 71, _settled_before_count),
    UpsertMutation("a settle point names all servers", 71, _settled_for_all),
    UpsertMutation("last parts are not pushed", 71, _no_pushers),
    UpsertMutation("levels by sequential reads", 70, _levels_by_sequential_reads),
    UpsertMutation("no bound on rows", 67, _no_bound_on_rows),
    UpsertMutation("ends below the mark alone", 67, _ends_below_mark),
)
