"""Fact reader: the facts of an upsert table's ticks from the log, and those of a bootstrap from the
store, as tasks of Spark."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from aggregator.upsert.bootstrap import BootstrapPlan, Slice, read_slice
from aggregator.upsert.facts import LaneNote, notes_by_lane
from aggregator.upsert.range_reader import PATIENCE_SECONDS
from aggregator.upsert.row_task import RowTask, read_block, row_tasks, worker_of
from aggregator.upsert.stored_rows import StoreAway
from aggregator.upsert.tick import Tick
from aggregator.upsert.tick_posting import TickPosting, UnknownTick
from replicator.config.topology import Appliance


@dataclass(frozen=True, slots=True)
class SliceTask:
    """Slices of a bootstrap for one task."""

    plan: BootstrapPlan
    slices: tuple[Slice, ...]


@dataclass(frozen=True, slots=True)
class UpsertFactReader:
    """Reader of one table's facts (see FactReader).

    Args:
        feed, table: names.
        tasks_max: tasks of a tick, and of a bootstrap.
        plan: of the bootstrap with which a new checkpoint begins; None: it begins at tick 0.
    """

    appliance: Appliance
    feed: str
    table: str
    tasks_max: int
    plan: BootstrapPlan | None = None
    patience_seconds: float = PATIENCE_SECONDS

    def tick_tasks(self, posting: TickPosting, tick: Tick) -> Sequence[RowTask]:
        """Returns the tasks of a tick."""
        task = RowTask(
            appliance=self.appliance,
            feed=self.feed,
            table=self.table,
            tick=tick,
            blocks=(),
            is_claimed=tick.number <= posting.claimed,
            is_new=posting.is_new and tick.number == posting.newest,
            patience_seconds=self.patience_seconds,
        )
        return row_tasks(task, self.tasks_max)

    def bootstrap_tasks(self, generation: int, tick: int) -> Sequence[SliceTask]:
        """Returns the tasks of the bootstrap. Raises UnknownTick if it is planned for another
        tick."""
        if self.plan is None or self.plan.tick != tick:
            planned = "none is planned" if self.plan is None else f"one at {self.plan.tick} is"
            raise UnknownTick(f"generation {generation}: no bootstrap at tick {tick}: {planned}")
        slices, count = self.plan.slices, self.tasks_max
        parts = (slices[number::count] for number in range(min(count, len(slices))))
        return [SliceTask(self.plan, part) for part in parts]

    def read(
        self, task: RowTask | SliceTask, *, is_first_attempt: bool
    ) -> Iterator[pa.RecordBatch]:
        """Does a task of either kind."""
        if isinstance(task, RowTask):
            yield from read_block(task, is_first_attempt=is_first_attempt)
            return
        store = worker_of(self.appliance, self.feed, self.table).store
        for each in task.slices:
            yield from read_slice(store, task.plan, each, wait=self._patience())

    def notes_of(self, tick: Tick) -> tuple[LaneNote, ...]:
        """Returns the notes of a claimed tick, read again. Blocking; raises what `read_block`
        raises."""
        task = RowTask(
            appliance=self.appliance,
            feed=self.feed,
            table=self.table,
            tick=tick,
            blocks=tuple(range(tick.blocks)),
            is_claimed=True,
            patience_seconds=self.patience_seconds,
        )
        return notes_by_lane(
            note
            for batch in read_block(task)
            for note in batch["note"].to_pylist()
            if note is not None
        )

    def _patience(self) -> Callable[[float], None]:
        began = time.monotonic()

        def wait(seconds: float) -> None:
            if time.monotonic() - began > self.patience_seconds:
                raise StoreAway(f"no server has all rows of {self.table}, and all ends of them")
            time.sleep(seconds)

        return wait
