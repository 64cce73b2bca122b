"""Query of a key coordinator in a world: batch after batch with the product's own source of ticks,
its fold and its checkpoints; what Spark does between them is played.

Spark writes the offset of a batch, does the batch, then writes that it is committed. A process may
end between any two of these; the next one does the same batch again, from the state of the one
before.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from aggregator.formats.decoders import decoder_of
from aggregator.loader.block_loading import BlockLoading
from aggregator.store.retry import RetryPolicy
from aggregator.upsert.checkpoint import Checkpoint
from aggregator.upsert.key_coordinator import (
    CoordinatorStopped,
    StateLost,
    TickResult,
    reason_of,
    reduced,
    tick_result,
)
from aggregator.upsert.row_task import RowWorker
from aggregator.upsert.tick import Tick
from aggregator.upsert.tick_posting import FactReader, TickPosting
from aggregator.upsert.tick_source import (
    BOOTSTRAP,
    TICK,
    initial_offset,
    next_offset,
    partitions_between,
    spark_rows,
)
from tests.world.blocking import in_thread, pause, wait
from tests.world.process import CURRENT
from tests.world.sinks.feed_scene import until
from tests.world.upserts import world_store

T = TypeVar("T")
State = Mapping[bytes, list[bytes]]
"""The two newest versions of each key."""
KEPT = 2
BATCH_SECONDS = (0.01, 0.15)
"""Time of each of Spark's own steps, at least and at most."""


class Posting:
    """Posting in memory, in the place of TickPostingFile."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.posting: TickPosting | None = None
        self.reader: FactReader | None = None
        self.changed = asyncio.Event()

    def write(self, posting: TickPosting) -> None:
        self.posting = posting
        self.changed.set()
        self.changed = asyncio.Event()

    def read(self) -> TickPosting | None:
        return self.posting

    def write_reader(self, reader: FactReader) -> None:
        self.reader = reader

    def read_reader(self) -> FactReader:
        assert self.reader is not None
        return self.reader


class Worker(RowWorker):
    """Worker whose event loop is that of the world."""

    def __post_init__(self) -> None:
        feed = self.feed
        self.store = world_store.store_of(feed, self.table, kept=2)
        policy = RetryPolicy(
            pause_seconds=feed.retry_seconds,
            pause_seconds_max=feed.retry_seconds_max,
            replicas=len(self.store.replicas),
        )
        self._loading = BlockLoading(self.store, policy, asyncio.Semaphore(1), "")
        self._decode = decoder_of(feed)

    def _awaited(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            return wait(lambda: work)
        finally:
            work.close()


class PlayedCoordinator:
    """Query of one table, in the place of KeyCoordinator.

    Args:
        states: states of all checkpoints of the world, by folder and batch.
    """

    def __init__(
        self,
        states: dict[tuple[Path, int], State],
        *,
        table: str,
        posting: Posting,
        checkpoint: Checkpoint,
        on_tick: Callable[[TickResult], None],
        since_order: Callable[[Tick], int],
    ) -> None:
        self._since_order = since_order
        self._states, self._table = states, table
        self._posting, self._checkpoint, self._on_tick = posting, checkpoint, on_tick
        self._dice = world_store.dice()

    def start(self) -> None:
        loop = self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[None] = loop.create_future()
        self._task = loop.create_task(in_thread(self._run))
        self._task.add_done_callback(self._over)
        process = CURRENT.get()
        assert process is not None
        process.at_kill.append(self._task.cancel)

    def _over(self, task: asyncio.Task[None]) -> None:
        if self._ended.done():
            return
        error = None if task.cancelled() else task.exception()
        if error is None:
            self._ended.set_result(None)
            return
        reason = CoordinatorStopped(f"{self._table}: {reason_of(error)}")
        reason.__cause__ = error
        self._ended.set_exception(error if isinstance(error, StateLost) else reason)

    def wait(self) -> None:
        wait(lambda: asyncio.shield(self._ended))

    def stop(self, tick: int, seconds: float) -> bool:
        """Stops the query behind a tick, or when time is up."""

        async def stopped() -> bool:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await until(lambda: self._ended.done() or self._committed() >= tick, 0.05)
            is_there = self._committed() >= tick
            self._task.cancel()
            if self._ended.done():
                self._ended.exception()
            return is_there

        return wait(stopped)

    def _committed(self) -> int:
        batch = self._last("commits")
        return -1 if batch is None else int(self._checkpoint.offset(batch)[TICK])

    def _last(self, folder: str) -> int | None:
        found = self._checkpoint.folder / folder
        numbers = [int(each.name) for each in found.iterdir()] if found.exists() else []
        return max(numbers, default=None)

    def _note(self, folder: str, batch: int, content: Mapping[str, Any]) -> None:
        path = self._checkpoint.folder / folder
        path.mkdir(exist_ok=True)
        (path / str(batch)).write_text(f"v1\n{{}}\n{json.dumps(content)}\n")

    def _run(self) -> None:
        parts = self._checkpoint.identity().parts
        posting = self._posting.read()
        assert posting is not None
        done = self._last("commits")
        state: State = {}
        start = initial_offset(posting)
        if done is not None:
            start = self._checkpoint.offset(done)
            found = self._states.get((self._checkpoint.folder, done))
            if found is None:
                self._checkpoint.give_up()
                raise StateLost(f"{self._table}: the state of batch {done} is lost")
            state = found
        batch = 0 if done is None else done + 1
        while True:
            planned = self._last("offsets")
            if planned is not None and planned >= batch:
                end = self._checkpoint.offset(batch)
            else:
                end = next_offset(self._posting.read(), start)
                if end == start:
                    changed = self._posting.changed
                    wait(changed.wait)
                    continue
                self._note("offsets", batch, end)
            self._step()
            state = self._batch(state, start, end, parts)
            self._step()
            self._states[self._checkpoint.folder, batch] = state
            if batch == 0:
                world_store.PLAYED["began"][self._checkpoint.folder] = self._loop.time()
            self._note("commits", batch, {})
            start, batch = end, batch + 1

    def _step(self) -> None:
        pause(self._dice.uniform(*BATCH_SECONDS))

    def _batch(
        self, state: State, start: Mapping[str, Any], end: Mapping[str, Any], parts: int
    ) -> State:
        """Does a batch; returns the state behind it."""
        reader = self._posting.read_reader()
        rows: dict[int, list[pa.RecordBatch]] = {part: [] for part in range(parts)}
        for partition in partitions_between(self._posting.read(), reader, start, end, parts):
            for facts in reader.read(partition.task, is_first_attempt=True):
                for each in spark_rows(facts, partition):
                    for part in range(parts):
                        mask = pa.compute.equal(each["part"], part)
                        rows[part].append(each.filter(mask))
        after = dict(state)
        changed: list[bytes] = []
        parcels: list[tuple[bytes, None, bytes]] = []
        for batches in rows.values():
            for one in reduced(batches):
                for row in one.to_pylist():
                    if row["parcel"] is not None:
                        parcels.append((len(parcels).to_bytes(4, "big"), None, row["parcel"]))
                        continue
                    key = row["key"]
                    known = after.get(key, [])
                    after[key] = self.newest(known, row["version"])
                    if key not in changed:
                        changed.append(key)
        if not end[BOOTSTRAP]:
            keys = [(key, b"".join(after[key]), None) for key in changed]
            columns = zip(*keys, *parcels, strict=True) if keys or parcels else [(), (), ()]
            table = pa.table(
                [pa.array(each, pa.binary()) for each in columns], ["key", "top", "parcel"]
            )
            posting = self._posting.read()
            assert posting is not None
            since = self._since_order(posting.tick(end[TICK]))
            self._on_tick(tick_result(end[TICK], table, 0.0, since))
        return after

    def newest(self, known: list[bytes], version: bytes) -> list[bytes]:
        """Returns the newest versions of a key, as max_by(version, version, 2) has them."""
        return sorted([*known, version], reverse=True)[:KEPT]
