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
import math
import time
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from aggregator.formats.record_slice import RecordSlice
from aggregator.intents.table_range import KeeperMoment, TableRange
from aggregator.loader.block_loading import BlockRefused, TableChanged
from aggregator.loader.block_partition import BlockPartition
from aggregator.loader.column_search import ColumnSearch
from aggregator.loader.counters import REPLAYS_SKIPPED, ROW_LAG_SECONDS
from aggregator.loader.dead_letters import all_dead, dead_letters, first_beyond
from aggregator.loader.draft import Draft
from aggregator.loader.formed_block import FormedBlock
from aggregator.loader.forming_room import FormingRoom, Taken, forms_bytes
from aggregator.loader.intent_committer import IntentCommitter, IntentRefused
from aggregator.loader.left_tables import AskedStore, LeftTables, skip_order
from aggregator.loader.loader_assignment import LoaderAssignment
from aggregator.loader.loader_counts import LoaderCounts
from aggregator.loader.partition_error import partition_error
from aggregator.loader.produced import Produced
from aggregator.loader.receipts import BlockReceipt, BlockReceipts
from aggregator.loader.refused_records import RefusedRecords
from aggregator.loader.seal_rule import SealRule
from aggregator.store.shard_store import CannotBeRecognized
from aggregator.tables.decoded import DeadRecord, Decoded
from aggregator.tables.native_block import ROWS_MAX
from aggregator.tables.table_schema import INCARNATION, INCARNATION_TYPE, TableSchema
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.loss import Loss, LossKind
from replicator.runtime.run_in_thread import run_in_thread

log = logging.getLogger(__name__)

TICK_SECONDS = 0.02
TABLE_MISSING_SECONDS = 1.0
DEAD = frozenset({"dead"})
"""Stands for the columns that dead records may have been written for."""


class BlockStore(AskedStore, Protocol):
    """Tables of the shards that the topics belong to."""

    async def schema(self, topic: str, table: str, *, is_fresh: bool = False) -> TableSchema | None:
        """Returns the schema of a table; None: there is no such table.

        Args:
            is_fresh: reads the table's columns now.
        """

    async def decode(
        self, topic: str, slices: Sequence[RecordSlice], schema: TableSchema
    ) -> Decoded:
        """Decodes the records of one block."""

    async def moment(self, topic: str, table: str) -> KeeperMoment | None:
        """Returns a moment before which no later block of a table was sent; None: not known."""

    async def load(self, place: TopicPartition, block: FormedBlock, *, is_doubtful: bool) -> None:
        """Returns once the block is stored for good, as often as it has to be sent.

        Args:
            is_doubtful: the block may have been sent before.

        Raises:
            TableChanged: the table has other columns than the block, or is gone.
            BlockRefused: the server takes no such block.
            CannotBeRecognized: nobody can tell whether the block is stored.
        """


@dataclass(eq=False)
class BlockForming:
    """Forms and loads the blocks of a loader's partitions.

    Args:
        partitions: of the loader; other parts add and remove some meanwhile.
        receipts: of the blocks that are stored.
    """

    assignment: LoaderAssignment
    partitions: Mapping[TopicPartition, BlockPartition]
    committer: IntentCommitter
    store: BlockStore
    rule: SealRule
    receipts: BlockReceipts
    loader_counts: LoaderCounts = field(default_factory=LoaderCounts)
    room: FormingRoom = field(default_factory=FormingRoom)
    wake: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    """Set when there may be blocks to seal."""
    _refused: RefusedRecords = field(init=False)
    _tasks: dict[tuple[TopicPartition, str], asyncio.Task[None]] = field(
        init=False, default_factory=dict
    )
    _left: LeftTables = field(init=False)
    _search: ColumnSearch = field(
        init=False, default_factory=lambda: ColumnSearch(TABLE_MISSING_SECONDS)
    )

    def __post_init__(self) -> None:
        self._refused = RefusedRecords(self.assignment, self.loader_counts)
        self._left = LeftTables(
            self.assignment, self.store, self.rule, self.room, self._tasks, self.wake
        )
        self._stalled = self._left.stalled

    async def run(self) -> None:
        """Forms and loads blocks until cancelled. Raises what a commit raises."""
        try:
            while True:
                self.wake.clear()
                self._raise_failures()
                held = list(self.partitions.values())
                rule = self.rule.while_buffered([each.progress.buffered_bytes for each in held])
                for partition in self._left.keep_memory(held, rule, time.monotonic()):
                    self._start(partition, rule)
                with suppress(TimeoutError):
                    async with asyncio.timeout(TICK_SECONDS):
                        await self.wake.wait()
        finally:
            await self._end(list(self._tasks.values()))
            await self._left.ended()

    async def drop(self, place: TopicPartition) -> None:
        """Ends the loads of a partition. A block that was sent may still be stored."""
        await self._end([task for (each, _), task in self._tasks.items() if each == place])
        await self._left.ended(place)

    def filled(self) -> None:
        """Notes that records came in."""
        self.wake.set()

    def is_busy(self, place: TopicPartition) -> bool:
        """Returns True while a block of the partition is under way."""
        return any(each == place for each, _ in self._tasks)

    def _start(self, partition: BlockPartition, rule: SealRule) -> None:
        place, progress = partition.partition, partition.progress
        for draft in progress.replays():
            self._run(partition, draft.table, self._replay(partition, draft))
        for table in progress.due(rule, time.monotonic()):
            if (place, table) not in self._tasks:
                self._run(partition, table, self._load(partition, table))

    def _run(self, partition: BlockPartition, table: str, work: Coroutine[Any, Any, None]) -> None:
        place = partition.partition
        task = self._tasks[place, table] = asyncio.create_task(work)
        self._stalled.begin(place, table, time.monotonic())
        task.add_done_callback(lambda _: self.wake.set())

    def _raise_failures(self) -> None:
        for key, task in list(self._tasks.items()):
            if task.done():
                del self._tasks[key]
                self._stalled.end(*key)
                if task.cancelled():
                    continue
                try:
                    task.result()
                except IntentRefused:
                    pass  # the session parks the partition
                except Exception as error:
                    self._note(key[0], error)

    def _note(self, place: TopicPartition, error: Exception) -> None:
        """Notes an error of a partition's own; raises others."""
        partition = self.partitions.get(place)
        offset = partition.progress.offset if partition else -1
        fields = f"{self.assignment.log_fields} {place.topic}-{place.partition}"
        found = partition_error(error, offset, fields)
        if partition is not None:
            partition.error = found

    @staticmethod
    async def _end(tasks: list[asyncio.Task[None]]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- one block

    async def _load(self, partition: BlockPartition, table: str) -> None:
        place, progress = partition.partition, partition.progress
        schema = await self.store.schema(place.topic, table)
        columns = len(schema.columns) if schema else 0
        rule = self.rule.for_columns(columns)
        expected = rule.forms_bytes(*progress.buffer_of(table), columns)
        # To wait for room is no fault of the table.
        self._stalled.end(place, table)
        async with self.room.taken(expected) as room:
            self._stalled.begin(place, table, time.monotonic())
            await self._load_within(partition, progress.draft(table, rule), schema, room)

    async def _load_within(
        self,
        partition: BlockPartition,
        draft: Draft[RecordSlice],
        schema: TableSchema | None,
        room: Taken,
    ) -> None:
        """Forms and loads a block in the room that it has."""
        place, progress, table = partition.partition, partition.progress, draft.table
        if not draft.records:
            return
        draft, schema, decoded = await self._decoded(place, draft, schema)
        if decoded.dead and self._search.begins((place.topic, table), DEAD, time.monotonic()):
            # The table may take by now what it did not take when it was read last.
            newest = await self.store.schema(place.topic, table, is_fresh=True)
            if newest and (schema is None or newest.hash != schema.hash):
                draft, schema, decoded = await self._decoded(place, draft, newest)
        self.room.tell(room, forms_bytes(decoded, draft.slices))
        letters = await self._letters(partition, draft, decoded.dead)
        if not progress.can_seal(draft):
            return
        if self._mixes_logs(partition, draft, schema) or self._stops_at(partition, decoded.dead):
            return
        now_ms, sealed_at = time.time_ns() // 1_000_000, time.monotonic()
        moment = await self.store.moment(place.topic, table) if schema else None
        # The intent may have become full meanwhile.
        if not progress.can_seal(draft):
            return
        block = progress.seal(draft, schema.block_hash if schema else "", now_ms, moment)
        partition.loading_bytes += (size := draft.size_bytes)
        try:
            await self.committer.commit(partition, letters)
            del letters
            self._refused.note(place, table, decoded.dead, has_table=schema is not None)
            sending = self._send(partition, draft, decoded, schema, block, room, sealed_at)
            del decoded  # no frame keeps rows that are sent no more
            await sending
        finally:
            partition.loading_bytes -= size

    async def _replay(self, partition: BlockPartition, draft: Draft[RecordSlice]) -> None:
        place, block = partition.partition, draft.replayed
        assert block is not None
        order = skip_order(self.assignment, partition, draft.table, block)
        if order is not None:
            log.warning(
                "event=replay-skipped %s %s-%d table=%s offsets=%d-%d records=%d by=%s: %s",
                self.assignment.log_fields,
                *place,
                draft.table,
                block.begin,
                block.end,
                draft.records,
                order.who,
                order.why,
            )
            partition.progress.skipped(draft.table)
            self.loader_counts.add_of(place, REPLAYS_SKIPPED)
            return
        partition.loading_bytes += (size := draft.size_bytes)
        try:
            schema = await self._schema_of_sent(place, draft.table, block)
            columns = len(schema.columns) if schema else 0
            expected = self.rule.forms_bytes(size, draft.records, columns)
            self._stalled.end(place, draft.table)
            async with self.room.taken(expected) as room:
                self._stalled.begin(place, draft.table, time.monotonic())
                await self._replay_within(partition, draft, schema, block, room)
        finally:
            partition.loading_bytes -= size

    async def _replay_within(
        self,
        partition: BlockPartition,
        draft: Draft[RecordSlice],
        schema: TableSchema | None,
        block: TableRange,
        room: Taken,
    ) -> None:
        """Loads a block that may have been sent, in the room that it has."""
        place = partition.partition
        schema, decoded = await self._decode(place, draft, schema)
        self.room.tell(room, forms_bytes(decoded, draft.slices))
        # By the columns or rules of then others may have been dead, and nobody knows which.
        is_other = schema is not None and schema.block_hash != block.schema
        if is_other and not await self._set_aside(partition, draft, decoded, told=set()):
            return
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
        sending = self._send(partition, draft, decoded, schema, block, room)
        del decoded  # no frame keeps rows that are sent no more
        await sending

    async def _schema_of_sent(
        self, place: TopicPartition, table: str, block: TableRange
    ) -> TableSchema | None:
        """Returns the schema of a table whose block may have been sent; waits for a dropped table.

        A block without a schema had only dead letters.
        """
        if not block.schema:
            return None
        is_told = False
        while True:
            schema = await self.store.schema(place.topic, table)
            if schema is not None:
                return schema
            self._stalled.refused(place, table)
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
        partition: BlockPartition,
        draft: Draft[RecordSlice],
        decoded: Decoded,
        schema: TableSchema | None,
        block: TableRange,
        room: Taken,
        sealed_at: float = -math.inf,
    ) -> None:
        place, is_replayed = partition.partition, draft.replayed is not None
        is_doubtful = is_replayed
        told = {each.offset for each in decoded.dead}
        while len(decoded) and schema:
            if self._mixes_logs(partition, draft, schema):
                return
            if not schema.has_coordinates:
                self._stalled.must_stay(place, draft.table)
            is_as_intended = draft.records == block.records and schema.block_hash == block.schema
            formed = FormedBlock(
                draft.table,
                block,
                decoded,
                schema,
                is_as_intended,
                partition.intent.incarnation_at(draft.begin),
                sealed_at,
            )
            try:
                await self.store.load(place, formed, is_doubtful=is_doubtful)
                break
            except BlockRefused as refused:
                pause_seconds = refused.pause_seconds
            except TableChanged as changed:
                pause_seconds = TABLE_MISSING_SECONDS
                log.warning(
                    "event=table-changed %s %s-%d table=%s: %s",
                    self.assignment.log_fields,
                    *place,
                    draft.table,
                    changed,
                )
            except CannotBeRecognized as error:
                partition.loss_to_park = Loss(
                    LossKind.BLOCK_DOUBTFUL, block.begin, block.end, str(error)
                )
                return
            is_doubtful = True
            # It may take long: other blocks may have the room meanwhile.
            expected = room.size_bytes
            del formed, decoded
            self.room.tell(room, 0)
            await asyncio.sleep(pause_seconds)
            await self.store.schema(place.topic, draft.table, is_fresh=True)
            schema = await self._schema_of_sent(place, draft.table, block)
            await self.room.taken_again(room, expected)
            schema, decoded = await self._decode(place, draft, schema)
            self.room.tell(room, forms_bytes(decoded, draft.slices))
            if not await self._set_aside(partition, draft, decoded, told):
                return
        loaded_at_ms = time.time_ns() // 1_000_000
        partition.progress.loaded(draft.table)
        self._stalled.stored(place, draft.table)
        partition.rows += len(decoded)
        # Records of the oldest format have no time: -1.
        written_at_ms = decoded.timestamp_ms[decoded.timestamp_ms >= 0]
        if len(written_at_ms):
            lag_ms = np.maximum(loaded_at_ms - written_at_ms, 0)
            partition.loaded_lag_ms = int(lag_ms.min())
            lag_seconds = float(lag_ms.sum()) / 1000
            self.loader_counts.add(ROW_LAG_SECONDS, place.topic, draft.table, amount=lag_seconds)
        self.receipts.add(
            BlockReceipt(
                place=place,
                table=draft.table,
                begin=block.begin,
                end=block.end,
                records=draft.records,
                rows=len(decoded),
                dead_letters=0 if is_replayed else len(decoded.dead),
                is_replayed=is_replayed,
                sealed_at_ms=block.sealed_at_ms,
                loaded_at_ms=loaded_at_ms,
            )
        )

    async def _set_aside(
        self,
        partition: BlockPartition,
        draft: Draft[RecordSlice],
        decoded: Decoded,
        told: set[int],
    ) -> bool:
        """Produces dead letters of records that the columns of now do not take.

        Returns False if the partition is to be parked instead.

        Args:
            told: offsets of the block's records that are dead letters already; grows.
        """
        dead = [each for each in decoded.dead if each.offset not in told]
        if self._stops_at(partition, dead):
            return False
        if dead:
            letters = await self._letters(partition, draft, dead)
            await self.committer.commit(partition, letters)
            self._refused.note(partition.partition, draft.table, dead, has_table=True)
            told |= {each.offset for each in dead}
        return True

    async def _letters(
        self, partition: BlockPartition, draft: Draft[RecordSlice], dead: Sequence[DeadRecord]
    ) -> list[Produced]:
        if not dead:
            return []
        return await run_in_thread(
            dead_letters,
            self.assignment.feed.name,
            partition.partition,
            self.assignment.cluster,
            draft.table,
            draft.slices,
            dead,
            partition.intent.incarnation_at(draft.begin),
        )

    @staticmethod
    def _mixes_logs(
        partition: BlockPartition, draft: Draft[RecordSlice], schema: TableSchema | None
    ) -> bool:
        """Returns True if the partition is to be parked, since its table cannot tell the records of
        this log from those of a former one."""
        is_named = partition.intent.incarnation == 0 or schema is None or schema.has_incarnations
        if is_named:
            return False
        text = f"table {draft.table} lacks the column {INCARNATION} {INCARNATION_TYPE}"
        partition.loss_to_park = Loss(LossKind.RECORDS_REFUSED, draft.begin, draft.end, text)
        return True

    def _stops_at(self, partition: BlockPartition, dead: Sequence[DeadRecord]) -> bool:
        """Returns True if the partition is to be parked for its dead records."""
        if not dead or self.assignment.feed.dead_letters != "stop":
            return False
        first = dead[0]
        partition.loss_to_park = Loss(
            LossKind.RECORDS_REFUSED, first.offset, first.offset + 1, first.reason
        )
        return True

    async def _decoded(
        self, place: TopicPartition, draft: Draft[RecordSlice], schema: TableSchema | None
    ) -> tuple[Draft[RecordSlice], TableSchema | None, Decoded]:
        """Returns a draft whose rows fit into one insert, and its dead letters into one
        transaction, and what _decode returns."""
        while True:
            schema, decoded = await self._decode(place, draft, schema)
            if len(decoded) > ROWS_MAX and draft.records > 1:
                middle = sorted(decoded.offset.tolist())[len(decoded) // 2]
                draft = draft.up_to(max(middle, draft.begin + 1))
            elif (end := first_beyond(draft.slices, decoded.dead)) is not None:
                draft = draft.up_to(end)
            else:
                return draft, schema, decoded

    async def _decode(
        self, place: TopicPartition, draft: Draft[RecordSlice], schema: TableSchema | None
    ) -> tuple[TableSchema | None, Decoded]:
        """Returns the rows of a block, and the schema that they have: a newer one if records were
        written for columns that the given one does not have."""
        if schema is None:
            return None, await run_in_thread(all_dead, draft)
        decoded = await self.store.decode(place.topic, draft.slices, schema)
        if decoded.unknown_hashes:
            # If another partition reads these columns already, this waits for it.
            table, hashes = (place.topic, draft.table), decoded.unknown_hashes
            is_fresh = self._search.begins(table, hashes, time.monotonic())
            fresh = await self.store.schema(place.topic, draft.table, is_fresh=is_fresh)
            if fresh and fresh.hash != schema.hash:
                return fresh, await self.store.decode(place.topic, draft.slices, fresh)
        return schema, decoded
