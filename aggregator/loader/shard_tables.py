"""Shard tables: the shards that a loader's topics belong to, with the schemas of their tables."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from aggregator.formats.decoders import Decoder, decoder_of
from aggregator.formats.record_slice import RecordSlice
from aggregator.intents.table_range import KeeperMoment
from aggregator.loader.block_loading import BlockLoading, part_digest
from aggregator.loader.counters import SCHEMA_CHANGES, SCHEMA_FAILURES, SCHEMA_READS
from aggregator.loader.formed_block import FormedBlock
from aggregator.loader.loader_assignment import LoaderAssignment
from aggregator.loader.loader_counts import LoaderCounts
from aggregator.store.outgoing_block import BlockRows, OutgoingBlock
from aggregator.store.recognition import Identities
from aggregator.store.retry import RetryPolicy
from aggregator.store.schema_reader import TableFacts
from aggregator.store.shard_store import NotStored, ShardStore, StoreTimeouts
from aggregator.tables.column_type import unloadable_element
from aggregator.tables.decoded import Decoded
from aggregator.tables.native_block import rows_of_inserts
from aggregator.tables.table_schema import Column, TableSchema, changed_tables
from balancer.topic_partition import TopicPartition
from replicator.config.feed_settings import ClickHouseFeed
from replicator.config.topology import Appliance
from replicator.runtime.report_once import ReportOnce
from replicator.runtime.run_in_thread import run_in_thread

log = logging.getLogger(__name__)

MISSING_SECONDS = 1.0
"""Interval at which a table that is missing is looked for again: it may be new."""


MOMENT_SECONDS = 1.0
"""Age up to which a moment is used again: an earlier one than need be is true as well."""
TRIAL_SECONDS, TRIALS_AT_ONCE = 1.0, 2
"""Age up to which a table's answer to an insert without rows is used again, and the number of
tables of a shard that are asked at the same time: one may give no answer for long."""


class _Taken(NamedTuple):
    """Answer of a table to an insert without rows, and when it came by the monotonic clock."""

    at: float
    takes: bool


class _Known(NamedTuple):
    """Moment of a table, and when it was read by the monotonic clock."""

    at: float
    moment: KeeperMoment | None


@dataclass(slots=True)
class _Shard:
    """A shard, and its schemas as last read."""

    store: ShardStore
    loading: BlockLoading
    schemas: Mapping[str, TableSchema]
    read_at: float
    read_at_ms: int
    lock: asyncio.Lock
    moments: dict[str, _Known] = field(default_factory=dict)
    taken: dict[str, _Taken] = field(default_factory=dict)
    trials: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(TRIALS_AT_ONCE))


class ShardTables:
    """Tables of a feed, by the topics of a loader.

    Args:
        make_store: makes the store of a shard.
    """

    def __init__(
        self,
        appliance: Appliance,
        assignment: LoaderAssignment,
        loader_counts: LoaderCounts | None = None,
        make_store: Callable[..., ShardStore] = ShardStore,
    ) -> None:
        assert isinstance(assignment.feed, ClickHouseFeed)
        self._assignment, self._feed = assignment, assignment.feed
        self._loader_counts = loader_counts or LoaderCounts()
        self._make_store = make_store
        self._refresh_seconds = appliance.aggregator.refresh_seconds
        self._inserts_at_once = appliance.aggregator.inserts_at_once
        self._slots = asyncio.Semaphore(self._inserts_at_once)
        self._decoder: Decoder = decoder_of(self._feed)
        self._shards: dict[int, _Shard] = {}
        self._by_topic: dict[str, _Shard] = {}
        self._reports = ReportOnce()
        self._waiting: dict[tuple[str, str], str] = {}
        """Reasons by topic and table, for tables that no block may be inserted into."""
        self._unloaded: dict[tuple[str, str], str] = {}

    async def schema(self, topic: str, table: str, *, is_fresh: bool = False) -> TableSchema | None:
        """Returns the schema of a table; None: there is no such table.

        Waits while no replica answers, and while the table takes no blocks.
        """
        while True:
            schema = await self._read(topic, table, is_fresh=is_fresh)
            refusal = self._shard(topic).store.refusal(table)
            self._note(topic, table, refusal)
            if not refusal:
                return schema
            await asyncio.sleep(MISSING_SECONDS)

    async def _read(self, topic: str, table: str, *, is_fresh: bool) -> TableSchema | None:
        """Returns a table's schema, read anew if need be."""
        shard = self._shard(topic)
        async with shard.lock:
            age = time.monotonic() - shard.read_at
            ordered_at_ms = self._assignment.orders.refreshed_at_ms(table)
            is_old = age > self._refresh_seconds or (
                ordered_at_ms is not None and shard.read_at_ms < ordered_at_ms
            )
            is_unsuitable = table not in shard.schemas or bool(shard.store.refusal(table))
            is_missing = is_unsuitable and age > MISSING_SECONDS
            while is_fresh or is_old or is_missing:
                try:
                    read = partial(shard.store.schemas, is_thorough=is_fresh or is_missing)
                    schemas = await run_in_thread(read)
                except NotStored as error:
                    self._loader_counts.add(SCHEMA_FAILURES)
                    self._tell(topic, error)
                    if not is_missing and not is_fresh:
                        break  # the schemas that were read before still serve
                    await asyncio.sleep(MISSING_SECONDS)
                    continue
                self._reports.settle(topic)
                changed = changed_tables(shard.schemas, schemas)
                self._loader_counts.add(SCHEMA_READS)
                self._loader_counts.add(SCHEMA_CHANGES, amount=changed)
                shard.schemas = schemas
                shard.read_at, shard.read_at_ms = time.monotonic(), time.time_ns() // 1_000_000
                break
            found = shard.schemas.get(table)
            self._note_columns(topic, table, found)
            return found

    def unloaded(self) -> Mapping[str, str]:
        """Returns why columns of tables are not loaded, by topic."""
        found: dict[str, str] = {}
        for (topic, _), text in sorted(self._unloaded.items()):
            found[topic] = f"{found[topic]}; {text}" if topic in found else text
        return found

    def _note_columns(self, topic: str, table: str, schema: TableSchema | None) -> None:
        """Tells of columns that stay at their default, whatever records hold."""
        columns = schema.unloaded if schema else ()
        if not columns:
            self._unloaded.pop((topic, table), None)
            self._reports.settle((topic, table))
            return
        names = ", ".join(map(_described, columns))
        text = f"columns of {table} are of types that cannot be loaded: {names:.300}"
        self._unloaded[topic, table] = text
        if self._reports.is_news((topic, table), text):
            log.warning(
                "event=columns-not-loaded %s topic=%s table=%s: each row gets the default of %s",
                self._assignment.log_fields,
                topic,
                table,
                names[:300],
            )

    def _note(self, topic: str, table: str, refusal: str) -> None:
        """Notes whether a table takes blocks. Its records wait meanwhile, and are not lost."""
        about = (topic, table)
        if not refusal:
            if self._waiting.pop(about, None) is not None:
                fields = self._assignment.log_fields
                log.info("event=table-taken %s topic=%s table=%s", fields, *about)
            return
        text = f"{self._shard(topic).store.database}.{table} {refusal}"
        if self._waiting.get(about) != text:
            fields = self._assignment.log_fields
            log.error("event=table-refused %s topic=%s table=%s: %s", fields, *about, text)
        self._waiting[about] = text

    async def decode(
        self, topic: str, slices: Sequence[RecordSlice], schema: TableSchema
    ) -> Decoded:
        """Decodes the records of one block."""
        return await run_in_thread(self._decoder, slices, schema)

    async def moment(self, topic: str, table: str) -> KeeperMoment | None:
        """Returns a moment before which no later block of a table was sent; None: not known."""
        shard = self._shard(topic)
        known = shard.moments.get(table)
        if known is not None and time.monotonic() - known.at < MOMENT_SECONDS:
            return known.moment
        at = time.monotonic()
        try:
            found = await run_in_thread(shard.store.moment, table)
        except NotStored:
            return None  # the insert tells; until then every part is looked at
        shard.moments[table] = _Known(at, found)
        return found

    async def load(self, place: TopicPartition, block: FormedBlock, *, is_doubtful: bool) -> None:
        """Returns once the block is stored for good (see BlockStore.load)."""
        shard = self._shard(place.topic)
        for outgoing in await run_in_thread(self._outgoing, place, block):
            await shard.loading.load(outgoing, is_doubtful=is_doubtful)

    def refuses(self, topic: str, table: str) -> bool:
        """Returns True if the server has refused the last insert into a table."""
        return self._shard(topic).loading.refuses(table)

    async def takes_blocks(self, topic: str, table: str, *, may_be_missing: bool) -> bool:
        """Returns True if a table is there, and takes an insert without rows.

        The partitions that ask about it share the answers.

        Args:
            may_be_missing: records of the table become dead letters if it is not there.
        """
        schema = await self._read(topic, table, is_fresh=False)
        shard = self._shard(topic)
        if schema is None and may_be_missing:
            return True
        if schema is None or shard.store.refusal(table) or shard.loading.is_held(table):
            return False
        async with shard.trials:
            known = shard.taken.get(table)
            if known is None or time.monotonic() - known.at > TRIAL_SECONDS:
                try:
                    await run_in_thread(shard.store.insert_nothing, schema)
                    takes = True
                except NotStored:
                    takes = False
                known = shard.taken[table] = _Taken(time.monotonic(), takes)
        return known.takes

    def is_held(self, topic: str, table: str) -> bool:
        """Returns True while nothing is inserted into a table because it has too many parts."""
        shard = self._by_topic.get(topic)
        return shard is not None and shard.loading.is_held(table)

    @property
    def waiting(self) -> Mapping[tuple[str, str], str]:
        return self._waiting

    def facts(self, topic: str, table: str) -> TableFacts | None:
        """Returns a table as it was read last; None if it was not, or was not there."""
        shard = self._by_topic.get(topic)
        return shard.store.facts(table) if shard is not None else None

    async def close(self) -> None:
        """Ends the connections to all shards."""
        for shard in self._shards.values():
            await run_in_thread(shard.store.close)

    def _outgoing(self, place: TopicPartition, block: FormedBlock) -> list[OutgoingBlock]:
        """Returns the block, or its parts if its rows leave other columns to the server: an insert
        names a column for all its rows or for none."""
        parts = rows_of_inserts(block.decoded, block.schema)
        if len(parts) == 1:
            return [self._part(place, block, block.decoded, "")]
        return [
            self._part(place, block, block.decoded.where(rows), part_digest(rows)) for rows in parts
        ]

    def _part(
        self, place: TopicPartition, block: FormedBlock, decoded: Decoded, part: str
    ) -> OutgoingBlock:
        cluster, schema = self._assignment.cluster, block.schema
        rows = BlockRows(decoded, schema, cluster, *place, block.incarnation)
        return OutgoingBlock(
            name=block.name(self._assignment.feed.name, cluster, place),
            rows=rows,
            native=rows.native(),
            part=part,
            identities=Identities(decoded.offset, decoded.row),
            has_coordinates=schema.has_coordinates,
            is_as_intended=block.is_as_intended,
            sealed_at_ms=block.range.sealed_at_ms,
            sealed_at=block.sealed_at,
            moment=block.range.moment,
        )

    def _shard(self, topic: str) -> _Shard:
        if (known := self._by_topic.get(topic)) is None:
            # Asked for each block, and the patterns take longer than all else that is asked.
            known = self._by_topic[topic] = self._matching(topic)
        return known

    def _matching(self, topic: str) -> _Shard:
        feed = self._feed
        number = feed.shard_number(topic)
        assert number is not None, f"{topic} is not a topic of {feed.name}"
        if number not in self._shards:
            timeouts = StoreTimeouts(insert=feed.insert_timeout_seconds)
            shard = feed.shards[number]
            store = self._make_store(shard, timeouts, feed=feed.name, kept=self._inserts_at_once)
            policy = RetryPolicy(
                pause_seconds=feed.retry_seconds,
                pause_seconds_max=feed.retry_seconds_max,
                replicas=len(shard.replicas),
            )
            loading = BlockLoading(
                store,
                policy,
                self._slots,
                self._assignment.log_fields,
                loader_counts=self._loader_counts,
            )
            never = -self._refresh_seconds - MISSING_SECONDS
            self._shards[number] = _Shard(store, loading, {}, never, 0, asyncio.Lock())
        return self._shards[number]

    def _tell(self, topic: str, error: NotStored) -> None:
        if self._reports.is_news(topic, str(error)):
            log.warning("event=schemas-unknown %s: %s", self._assignment.log_fields, error)


def _described(column: Column) -> str:
    """Returns name and type of a column that cannot be loaded, and the element that is why."""
    element = unloadable_element(column.type)
    reason = f" (for its element {element})" if element else ""
    return f"{column.name} {column.type}{reason}"
