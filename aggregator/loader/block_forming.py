"""Block forming: seals the buffers of all partitions, commits their intents, and loads the blocks.

For each block, in this order:

1. Records of a buffer are drafted and decoded.
2. The block is sealed: its range goes into the next intent.
3. The intent is committed, with the dead letters of the block in the same transaction.
4. The block is loaded, again and again until it is stored for good.
5. The table's marker stands behind the block from then on.

A block that a predecessor's intent names goes through 1 and 4 only.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from aggregator.formats.record_slice import RecordSlice
from aggregator.intents.intent import TableRange
from aggregator.loader.assignment import LoaderAssignment
from aggregator.loader.dead_letters import dead_letters
from aggregator.loader.held_partition import HeldPartition
from aggregator.loader.intent_committer import IntentCommitter
from aggregator.loader.partition_progress import Draft, SealRule
from aggregator.loader.receipts import BlockReceipt
from aggregator.tables.decoded import DeadRecord, Decoded
from aggregator.tables.table_schema import TableSchema
from balancer.plan import TopicPartition
from replicator.kafka.client.loss import Loss, LossKind
from replicator.runtime.run_in_thread import run_in_thread

log = logging.getLogger(__name__)

ROWS_MAX = 1_048_576
"""Most rows of one insert: ClickHouse would split more into several blocks."""
TICK_SECONDS = 0.02
TABLE_MISSING_SECONDS = 1.0


class BlockStore(Protocol):
    """Tables of the shard that a topic belongs to."""

    async def schema(self, topic: str, table: str) -> TableSchema | None:
        """Returns the schema of a table as last read; None: there is no such table."""

    async def decode(
        self, topic: str, slices: tuple[RecordSlice, ...], schema: TableSchema
    ) -> Decoded:
        """Decodes the records of one block."""

    async def load(
        self,
        place: TopicPartition,
        decoded: Decoded,
        schema: TableSchema,
        block: TableRange,
        *,
        is_replayed: bool,
    ) -> None:
        """Returns once the block is stored for good, as often as it has to be sent."""


@dataclass(eq=False)
class BlockForming:
    """Forms and loads the blocks of a loader's partitions.

    Args:
        partitions: of the loader; other parts add and remove some meanwhile.
        loaded: called with each block that is stored.
    """

    assignment: LoaderAssignment
    partitions: Mapping[TopicPartition, HeldPartition]
    committer: IntentCommitter
    store: BlockStore
    rule: SealRule
    loaded: Callable[[BlockReceipt], None]
    wake: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    """Set when there may be blocks to seal."""
    _tasks: dict[tuple[TopicPartition, str], asyncio.Task[None]] = field(
        init=False, default_factory=dict
    )

    async def run(self) -> None:
        """Forms and loads blocks until cancelled. Raises what a commit raises."""
        try:
            while True:
                self.wake.clear()
                self._raise_failures()
                for partition in list(self.partitions.values()):
                    self._start(partition)
                with suppress(TimeoutError):
                    async with asyncio.timeout(TICK_SECONDS):
                        await self.wake.wait()
        finally:
            await self._end(list(self._tasks.values()))

    async def drop(self, place: TopicPartition) -> None:
        """Ends the loads of a partition. A block that was sent may still be stored."""
        await self._end([task for (each, _), task in self._tasks.items() if each == place])

    def is_busy(self, place: TopicPartition) -> bool:
        """Returns True while a block of the partition is under way."""
        return any(each == place for each, _ in self._tasks)

    def _start(self, partition: HeldPartition) -> None:
        if partition.loss_to_park:
            return
        place, progress = partition.partition, partition.progress
        for draft in progress.replays():
            self._run(place, draft.table, self._replay(partition, draft))
        for table in progress.due(self.rule, time.monotonic()):
            if (place, table) not in self._tasks:
                self._run(place, table, self._load(partition, table))

    def _run(self, place: TopicPartition, table: str, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks[place, table] = task
        task.add_done_callback(lambda _: self.wake.set())

    def _raise_failures(self) -> None:
        for key, task in list(self._tasks.items()):
            if task.done():
                del self._tasks[key]
                if not task.cancelled():
                    task.result()

    @staticmethod
    async def _end(tasks: list[asyncio.Task[None]]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- one block

    async def _load(self, partition: HeldPartition, table: str) -> None:
        place, progress = partition.partition, partition.progress
        schema = await self.store.schema(place.topic, table)
        draft, decoded = await self._decoded(place, progress.draft(table, self.rule), schema)
        if not progress.can_seal(draft):
            return
        letters = dead_letters(place, self.assignment.cluster, table, draft.slices, decoded.dead)
        if letters and self.assignment.feed.dead_letters == "stop":
            first = decoded.dead[0]
            partition.loss_to_park = Loss(
                LossKind.RECORDS_REFUSED, first.offset, first.offset + 1, first.reason
            )
            return
        now_ms = time.time_ns() // 1_000_000
        progress.seal(draft, schema.hash if schema else "", now_ms)
        partition.loading_bytes += (size := sum(each.size_bytes for each in draft.slices))
        try:
            await self.committer.commit(partition, letters)
            partition.dead_letters += len(letters)
            block = TableRange(draft.begin, draft.end, draft.records, "", now_ms)
            await self._send(partition, draft, decoded, schema, block, is_replayed=False)
        finally:
            partition.loading_bytes -= size

    async def _replay(self, partition: HeldPartition, draft: Draft[RecordSlice]) -> None:
        place, block = partition.partition, draft.replayed
        assert block is not None
        schema = await self._schema_of_replayed(place, draft.table, block)
        decoded = await self._decode(place, draft, schema)
        if draft.records != block.records:
            log.warning(
                "event=block-changed %s %s-%d table=%s offsets=%d-%d records=%d intended=%d: "
                "only the rows that are missing are loaded",
                self.assignment.log_fields,
                *place,
                draft.table,
                block.begin,
                block.end,
                draft.records,
                block.records,
            )
        await self._send(partition, draft, decoded, schema, block, is_replayed=True)

    async def _schema_of_replayed(
        self, place: TopicPartition, table: str, block: TableRange
    ) -> TableSchema | None:
        """Returns the schema of a table whose block is loaded again; waits for a dropped table.

        A block without a schema had only dead letters.
        """
        is_told = False
        while True:
            schema = await self.store.schema(place.topic, table)
            if schema is not None or not block.schema:
                return schema
            if not is_told:
                is_told = True
                log.error(
                    "event=table-missing %s %s-%d table=%s offsets=%d-%d: a block of it may be "
                    "stored in part; create the table again, or drop the block (sluice aggregate "
                    "skip-replay)",
                    self.assignment.log_fields,
                    *place,
                    table,
                    block.begin,
                    block.end,
                )
            await asyncio.sleep(TABLE_MISSING_SECONDS)

    async def _send(
        self,
        partition: HeldPartition,
        draft: Draft[RecordSlice],
        decoded: Decoded,
        schema: TableSchema | None,
        block: TableRange,
        *,
        is_replayed: bool,
    ) -> None:
        if len(decoded) and schema:
            await self.store.load(
                partition.partition, decoded, schema, block, is_replayed=is_replayed
            )
        partition.progress.loaded(draft.table)
        partition.rows += len(decoded)
        self.loaded(
            BlockReceipt(
                place=partition.partition,
                table=draft.table,
                begin=block.begin,
                end=block.end,
                records=draft.records,
                rows=len(decoded),
                dead_letters=0 if is_replayed else len(decoded.dead),
                is_replayed=is_replayed,
                sealed_at_ms=block.sealed_at_ms,
                loaded_at_ms=time.time_ns() // 1_000_000,
            )
        )

    async def _decoded(
        self, place: TopicPartition, draft: Draft[RecordSlice], schema: TableSchema | None
    ) -> tuple[Draft[RecordSlice], Decoded]:
        """Returns a draft whose rows fit into one insert, and the rows."""
        while True:
            decoded = await self._decode(place, draft, schema)
            if len(decoded) <= ROWS_MAX or draft.records == 1:
                return draft, decoded
            middle = sorted(decoded.offset.tolist())[len(decoded) // 2]
            draft = draft.up_to(max(middle, draft.begin + 1))

    async def _decode(
        self, place: TopicPartition, draft: Draft[RecordSlice], schema: TableSchema | None
    ) -> Decoded:
        if schema is None:
            return await run_in_thread(all_dead, draft)
        return await self.store.decode(place.topic, draft.slices, schema)


def all_dead(draft: Draft[RecordSlice]) -> Decoded:
    """Returns the records of a table that does not exist: all of them are dead letters."""
    named = f"there is no table {draft.table!r}" if draft.table else "no header names its table"
    offsets = (offset for part in draft.slices for offset in part.offset.tolist())
    return Decoded(dead=tuple(DeadRecord(offset, named) for offset in offsets))
