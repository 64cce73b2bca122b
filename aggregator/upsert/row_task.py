"""Row task: blocks of a tick, from the records of its ranges to inserted rows and facts.

A task may be done any number of times, by any number of processes at once: a block has the same
bytes each time, and a block that may have been sent before is looked for by its row ids.
"""

from __future__ import annotations

import asyncio
import time
from asyncio import AbstractEventLoop
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Coroutine,
    Iterator,
    Sequence,
)
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from threading import Lock, Thread
from typing import Any, TypeVar

import msgspec
import numpy as np
import pyarrow as pa
import uvloop

from aggregator.formats.decoders import Decoder, decoder_of
from aggregator.formats.record_slice import RecordSlice
from aggregator.intents.table_range import KeeperMoment
from aggregator.loader.block_loading import BlockLoading, BlockRefused, TableChanged
from aggregator.store.retry import RetryPolicy
from aggregator.store.shard_store import NotStored, ShardStore, StoreTimeouts
from aggregator.tables.table_schema import TableSchema
from aggregator.upsert.facts import LaneNote, note_batch
from aggregator.upsert.range_reader import (
    PATIENCE_SECONDS,
    LaneSpan,
    RangeAway,
    RangeReader,
    spans_of,
    without_gaps,
)
from aggregator.upsert.row_block import RowBlock, RowBlockName, Sending, check_rows_table
from aggregator.upsert.row_facts import LaneRecords, RowReading, TickRows
from aggregator.upsert.stored_rows import StoreAway, StoredRows, stored_rows
from aggregator.upsert.table_names import rows_table
from aggregator.upsert.tick import ROW_BITS, Tick
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import ClickHouseFeed
from replicator.config.topology import Appliance
from replicator.config.upsert_table import UpsertTable
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Cluster
from replicator.runtime.backoff import Backoff
from replicator.runtime.run_in_thread import run_in_thread

PART_BYTES = 32 << 20
"""Bytes of records that one insert takes; of a block with more, several inserts are made."""
RECORD_BYTES = 64
"""Bytes that a record takes in memory beside its own, roughly."""
SCHEMA_SECONDS = 30.0
"""Age up to which the columns of a table are used again."""
REFUSED_SECONDS = 300.0
"""Time for which a block is sent again and again."""
KEPT_CONNECTIONS = 2

T = TypeVar("T")


class RowsNotStored(Exception):
    """Block that the store does not take, or rows that it does not show. Do the task again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowTask:
    """Blocks of a tick for one task. Executors may be anywhere: all they need is in it, pickled.

    Args:
        blocks: numbers of the blocks.
        is_claimed: all rows of the tick are in the store; nothing is written.
        is_new: no process has begun with the tick before, so that no block is looked for (decision
            0106).
        patience_seconds: time without an answer of brokers after which the task fails.
    """

    appliance: Appliance
    feed: str
    table: str
    tick: Tick
    blocks: tuple[int, ...]
    is_claimed: bool = False
    is_new: bool = False
    patience_seconds: float = PATIENCE_SECONDS
    refused_seconds: float = REFUSED_SECONDS
    part_bytes: int = PART_BYTES


def store_of(
    feed: ClickHouseFeed,
    table: UpsertTable,
    *,
    kept: int = 1,
    make: Callable[..., ShardStore] = ShardStore,
) -> ShardStore:
    """Returns the shard that keeps an upsert table.

    Args:
        kept: connections per replica that stay open while nobody uses them.
        make: makes the store.
    """
    timeouts = StoreTimeouts(insert=feed.insert_timeout_seconds)
    return make(feed.shard_of_table(table), timeouts, feed=feed.name, kept=kept)


def row_tasks(task: RowTask, tasks_max: int) -> list[RowTask]:
    """Returns the blocks of a tick as so many tasks at most, each with blocks that follow each
    other. Which task has a block changes nothing of it.

    Args:
        task: with all other fields; its blocks do not matter.
    """
    blocks = range(task.tick.blocks)
    count = max(min(tasks_max, len(blocks)), 1)
    limits = [len(blocks) * number // count for number in range(count + 1)]
    parts = (blocks[begin:end] for begin, end in pairwise(limits))
    return [replace(task, blocks=tuple(part)) for part in parts if part]


def read_block(task: RowTask, *, is_first_attempt: bool = False) -> Iterator[pa.RecordBatch]:
    """Inserts the rows of a task's blocks, and yields their facts and the notes of their lanes.

    The facts of rows come once these are stored on as many replicas as the quorum demands.

    Args:
        is_first_attempt: Spark has not begun with the task before.

    Raises:
        RangeLost: records are gone from their log, and the tick is not claimed.
        RangeAway, RowsNotStored, StoreAway: do the task again.
        NoRowsTable, Forbidden: an operator has to act.
    """
    worker = worker_of(task.appliance, task.feed, task.table)
    yield from worker.read(replace(task, is_new=task.is_new and is_first_attempt))


@dataclass(eq=False)
class RowWorker:
    """Connections and columns that a process keeps between the tasks of a table.

    Its event loop runs in a thread of its own, as tasks come one after the other.

    Args:
        make_store: makes the store of the table's shard.
    """

    appliance: Appliance
    feed: ClickHouseFeed
    table: UpsertTable
    make_store: Callable[..., ShardStore] = ShardStore
    store: ShardStore = field(init=False)
    _loading: BlockLoading = field(init=False)
    _decode: Decoder = field(init=False)
    _clusters: dict[str, Cluster] = field(init=False, default_factory=dict)
    _schema: TableSchema | None = field(init=False, default=None)
    _read_at: float = field(init=False, default=0.0)
    _loop: AbstractEventLoop = field(init=False)
    _thread: Thread = field(init=False)

    def __post_init__(self) -> None:
        feed = self.feed
        self.store = store_of(feed, self.table, kept=KEPT_CONNECTIONS, make=self.make_store)
        policy = RetryPolicy(
            pause_seconds=feed.retry_seconds,
            pause_seconds_max=feed.retry_seconds_max,
            replicas=len(self.store.replicas),
        )
        fields = f"feed={feed.name} table={self.table.name}"
        self._loading = BlockLoading(self.store, policy, asyncio.Semaphore(1), fields)
        self._decode = decoder_of(feed)
        self._loop = uvloop.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="row-worker", daemon=True)
        self._thread.start()

    def read(self, task: RowTask) -> Iterator[pa.RecordBatch]:
        """Does a task; yields its batches."""
        batches = self._batches(task)

        async def following() -> pa.RecordBatch | None:
            return await anext(batches, None)

        try:
            while (batch := self._awaited(following())) is not None:
                yield batch
        finally:
            self._awaited(batches.aclose())

    def close(self) -> None:
        """Ends all connections."""

        async def closed() -> None:
            for cluster in self._clusters.values():
                await cluster.close()
            await asyncio.sleep(0)  # sockets are closed in the next turn

        self._awaited(closed())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self.store.close()

    def _awaited(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _batches(self, task: RowTask) -> AsyncGenerator[pa.RecordBatch]:
        for block in task.blocks:
            async for batch in self._block(task, block):
                yield batch

    async def _block(self, task: RowTask, block: int) -> AsyncIterator[pa.RecordBatch]:
        tick, ids = task.tick, task.tick.block_row_ids(block)
        spans = _spans(tick, ids)
        left = without_gaps(spans, tick.gaps)
        reading = await self._reading(tick)
        earlier, moment = None, None
        if task.is_new:
            moment = await self._moment()
        else:
            earlier = await self._stored(task, ids)
        silent = {each.number for each in spans}
        known = [np.empty(0, np.int64)]
        clusters = await self._opened(task, spans)
        reader = RangeReader(clusters, task.patience_seconds)
        # Rows of a claimed tick are all there. Dead letters of what is lost are gone with it.
        records = reader.read_left(left) if task.is_claimed else reader.read(left)
        async for part in parts_of(records, task.part_bytes):
            rows, reading = await self._rows(part, reading)
            if task.is_claimed:
                notes = [msgspec.structs.replace(note, rows=0) for note in rows.notes]
            else:
                notes = list(rows.notes)
                await self._store(task, rows, reading, moment)
                known.append(rows.row_id)
                if len(rows):
                    yield rows.facts
            silent -= {note.lane for note in notes}
            yield note_batch(tick.number, notes)
        if earlier is not None:
            others = earlier.without(np.concatenate(known))
            if len(others) and not task.is_claimed:
                others = await self._settled(task, ids, others)
            if len(others):
                facts, counts = others.facts(reading)
                silent -= {note.lane for note in counts}
                yield facts
                yield note_batch(tick.number, counts)
        if silent:
            yield note_batch(tick.number, [LaneNote(lane) for lane in sorted(silent)])

    # -- records

    async def _opened(self, task: RowTask, spans: Sequence[LaneSpan]) -> dict[str, Cluster]:
        """Returns the clusters of spans, open. Raises RangeAway."""
        settings = self.appliance.replicator
        for name in {each.lane.cluster for each in spans} - self._clusters.keys():
            cluster = Cluster(
                name,
                self.appliance.cluster(ClusterName(name)),
                client_id=f"sluice-rows-{self.feed.name}-{self.table.name}",
                request_timeout_ms=settings.request_timeout_ms,
                idle_seconds=settings.connections_idle_seconds,
            )
            topics = {each.lane.topic for each in spans if each.lane.cluster == name}
            backoff, began = Backoff(0.1, 1.0), time.monotonic()
            while True:
                try:
                    await cluster.open(topics)
                    break
                except Unreachable as error:
                    if time.monotonic() - began > task.patience_seconds:
                        raise RangeAway(str(error)) from error
                await asyncio.sleep(backoff.jittered(0.5, 1.0))
                backoff.grow()
            self._clusters[name] = cluster
        return self._clusters

    async def _rows(
        self, part: Sequence[LaneRecords], reading: RowReading
    ) -> tuple[TickRows, RowReading]:
        """Returns the rows of records, and the reading that they were read with: that of newer
        columns, if records were written for columns that the table did not have."""
        rows = await run_in_thread(reading.rows, part)
        if rows.decoded.unknown_hashes:
            fresh = await self._reading(reading.tick, is_fresh=True)
            if fresh.schema.hash != reading.schema.hash:
                return await run_in_thread(fresh.rows, part), fresh
        return rows, reading

    # -- store

    async def _reading(self, tick: Tick, *, is_fresh: bool = False) -> RowReading:
        """Returns the reading of a tick by the columns of the table. Raises NoRowsTable."""
        name = rows_table(self.table.name)
        age = time.monotonic() - self._read_at
        if self._schema is None or is_fresh or age > SCHEMA_SECONDS:
            try:
                # A replica that is silent does not matter while another one has told the columns.
                is_thorough = self._schema is None
                schemas = await run_in_thread(partial(self.store.schemas, is_thorough=is_thorough))
            except NotStored as error:
                if self._schema is None:
                    raise RowsNotStored(str(error)) from error
            else:
                self._schema = check_rows_table(name, schemas.get(name))
                self._read_at = time.monotonic()
        assert self._schema is not None
        if refusal := self.store.refusal(name):
            self._schema = None
            raise RowsNotStored(f"{self.store.database}.{name} {refusal}")
        is_json = self.feed.format == "json"
        return RowReading(tick, self.table, self._schema, self._decode, is_json)

    async def _store(
        self,
        task: RowTask,
        rows: TickRows,
        reading: RowReading,
        moment: KeeperMoment | None,
    ) -> None:
        """Returns once rows are stored. Raises RowsNotStored.

        Args:
            moment: before which no row of the task was sent; None: not known.
        """
        if not len(rows):
            return
        tick, now_ms = task.tick, time.time_ns() // 1_000_000
        sending = Sending(is_first=task.is_new, moment=moment, now_ms=now_ms)
        name = RowBlockName(
            self.feed.name,
            self.table.name,
            tick.generation,
            int(rows.row_id[0]),
            int(rows.row_id[-1]) + 1,
        )
        try:
            async with asyncio.timeout(task.refused_seconds):
                while not await self._tried(name, RowBlock(tick, rows, reading.schema), sending):
                    sending = replace(sending, is_first=False)
        except TableChanged as changed:
            self._schema = None
            raise RowsNotStored(str(changed)) from changed
        except TimeoutError:
            problem = self._loading.problems.get(name.table)
            text = problem.text if problem else "rows of the block wait for their quorum"
            raise RowsNotStored(f"{name}: {text}") from None

    async def _tried(self, name: RowBlockName, block: RowBlock, sending: Sending) -> bool:
        """Returns True once a block is stored, False after the pause for one that is refused."""
        try:
            for part in await run_in_thread(block.outgoing, name, sending):
                await self._loading.load(part, is_doubtful=not sending.is_first)
        except BlockRefused as refused:
            await asyncio.sleep(refused.pause_seconds)
            return False
        return True

    async def _moment(self) -> KeeperMoment | None:
        try:
            return await run_in_thread(self.store.moment, rows_table(self.table.name))
        except NotStored:
            return None  # the insert tells; until then every part is looked at

    async def _stored(self, task: RowTask, ids: range) -> StoredRows:
        """Returns the rows of a block that the store has. Raises StoreAway."""
        backoff, began = Backoff(0.1, 1.0), time.monotonic()
        while True:
            try:
                name = rows_table(self.table.name)
                return await run_in_thread(stored_rows, self.store, name, ids)
            except StoreAway:
                if time.monotonic() - began > task.patience_seconds:
                    raise
            await asyncio.sleep(backoff.jittered(0.5, 1.0))
            backoff.grow()

    async def _settled(self, task: RowTask, ids: range, rows: StoredRows) -> StoredRows:
        """Returns those of some rows that stay in the store: a row that waits for its quorum may
        come to nothing. Raises RowsNotStored."""
        backoff, began = Backoff(0.1, 1.0), time.monotonic()
        wanted = rows.row_id
        while True:
            now = await self._stored(task, ids)
            rows = now.where(np.isin(now.row_id, wanted))
            if (rows.copies >= max(self.store.quorum, 1)).all():
                return rows
            if time.monotonic() - began > task.refused_seconds:
                first = int(rows.row_id[0])
                raise RowsNotStored(f"rows of the ids from {first} on wait for their quorum")
            await asyncio.sleep(backoff.jittered(0.5, 1.0))
            backoff.grow()


async def parts_of(
    records: AsyncIterator[LaneRecords], bytes_max: int
) -> AsyncIterator[list[LaneRecords]]:
    """Yields records in parts of so many bytes at most, or of one record.

    Where a part ends is a function of the records alone, not of the answers they came in.
    """
    held: list[LaneRecords] = []
    size = 0
    async for each in records:
        left: RecordSlice | None = each.records
        while left:
            sizes = size + np.cumsum(left.record_bytes + RECORD_BYTES)
            taken = int(np.searchsorted(sizes, bytes_max, side="right"))
            taken = max(taken, 0 if held else 1)
            if taken == len(left):
                held.append(LaneRecords(each.lane, left))
                size = int(sizes[-1])
                break
            if taken:
                held.append(LaneRecords(each.lane, left.at(slice(0, taken)).owned()))
            yield held
            held, size = [], 0
            left = left.at(slice(taken, len(left))).owned()
    if held:
        yield held


def _spans(tick: Tick, ids: range) -> list[LaneSpan]:
    """Returns the records of a block: those whose first row it has."""
    each = tick.rows_per_record
    first, last = (-(-(at - (tick.number << ROW_BITS)) // each) for at in (ids.start, ids.stop))
    return spans_of(tick, first, last)


_kept: dict[tuple[str, str], RowWorker] = {}
_lock = Lock()


def worker_of(appliance: Appliance, feed: str, table: str) -> RowWorker:
    """Returns what this process keeps for a table, made anew if settings have changed."""
    with _lock:
        worker = _kept.get((feed, table))
        if worker is not None and worker.appliance != appliance:
            with suppress(Exception):
                worker.close()
            worker = None
        if worker is None:
            settings = appliance.feed(feed)
            assert isinstance(settings, ClickHouseFeed)
            worker = _kept[feed, table] = RowWorker(appliance, settings, settings.tables[table])
        return worker
