"""Facts of an upsert table: read from the logs, tick by tick, or from the store at a bootstrap."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from aggregator.store.shard_store import ShardStore, StoreTimeouts
from aggregator.upsert.bootstrap import BootstrapPlan, Slice, read_slice
from aggregator.upsert.facts import LaneNote, notes_by_lane
from aggregator.upsert.row_task import RowTask, read_block
from aggregator.upsert.tick import Tick
from aggregator.upsert.tick_posting import TickPosting
from replicator.config.feed_settings import ClickHouseFeed
from replicator.config.topology import Appliance


@dataclass(frozen=True, slots=True)
class SliceTask:
    """Slice of a bootstrap for one task."""

    appliance: Appliance
    feed: str
    plan: BootstrapPlan
    which: Slice


@dataclass(frozen=True, slots=True)
class TableFacts:
    """Reader of the facts of one table (FactReader in tick_posting.py).

    Args:
        plan: of the bootstrap with which the checkpoint begins; None: its state begins empty.
    """

    appliance: Appliance
    feed: str
    table: str
    plan: BootstrapPlan | None = None

    def tick_tasks(self, posting: TickPosting, tick: Tick) -> Sequence[RowTask]:
        """Returns a task for each block of a tick."""
        return [
            RowTask(
                appliance=self.appliance,
                feed=self.feed,
                table=self.table,
                tick=tick,
                blocks=(block,),
                is_claimed=tick.number <= posting.claimed,
                is_new=posting.is_new and tick.number == posting.newest,
            )
            for block in range(tick.blocks)
        ]

    def bootstrap_tasks(self, generation: int, tick: int) -> Sequence[SliceTask]:
        """Returns the tasks that read the state at a tick from the store."""
        if self.plan is None or self.plan.tick != tick:
            raise ValueError(f"no bootstrap of {self.table} at tick {tick} was planned")
        plan = self.plan
        return [SliceTask(self.appliance, self.feed, plan, which) for which in plan.slices]

    def read(
        self, task: RowTask | SliceTask, *, is_first_attempt: bool
    ) -> Iterator[pa.RecordBatch]:
        """Does a task of either kind."""
        if isinstance(task, RowTask):
            yield from read_block(task, is_first_attempt=is_first_attempt)
            return
        feed = task.appliance.feed(task.feed)
        assert isinstance(feed, ClickHouseFeed)
        store = store_of(feed, self.table)
        try:
            yield from read_slice(store, task.plan, task.which, wait=time.sleep)
        finally:
            store.close()

    def notes_of(self, tick: Tick) -> tuple[LaneNote, ...]:
        """Returns the notes of a claimed tick, read again. Blocking."""
        task = RowTask(
            appliance=self.appliance,
            feed=self.feed,
            table=self.table,
            tick=tick,
            blocks=tuple(range(tick.blocks)),
            is_claimed=True,
        )
        return notes_by_lane(
            note
            for batch in read_block(task)
            for note in batch["note"].to_pylist()
            if note is not None
        )


def store_of(feed: ClickHouseFeed, table: str, *, kept: int = 1) -> ShardStore:
    """Returns the shard that keeps an upsert table.

    Args:
        kept: connections per replica that stay open while nobody uses them.
    """
    timeouts = StoreTimeouts(insert=feed.insert_timeout_seconds)
    shard = feed.shard_of_table(feed.tables[table])
    return ShardStore(shard, timeouts, feed=feed.name, kept=kept)
