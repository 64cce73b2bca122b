"""Table sink: the parts of a loader session of a feed into tables."""

from __future__ import annotations

import time
from collections.abc import Mapping

from aggregator.formats.record_slice import RecordSlice
from aggregator.formats.routing import by_table
from aggregator.intents.intent import Intent
from aggregator.loader.block_forming import BlockForming
from aggregator.loader.block_partition import BlockPartition, held_for_blocks
from aggregator.loader.forming_room import FormingRoom
from aggregator.loader.intent_committer import IntentCommitter
from aggregator.loader.loader_assignment import LoaderAssignment
from aggregator.loader.loader_counts import LoaderCounts
from aggregator.loader.receipts import BlockReceipts
from aggregator.loader.seal_rule import MIB, PARTITION_BLOCKS, READ_PART, seal_rule
from aggregator.loader.shard_tables import ShardTables
from aggregator.loader.sink import Intents
from balancer.topic_partition import TopicPartition
from replicator.config.feed_settings import ClickHouseFeed


class TableSink:
    """Sink of a feed whose records become blocks of tables.

    Args:
        partitions: of the session; other parts add and remove some meanwhile.
        tables: of the shards that the topics belong to.
        receipts: of the blocks that are stored.
    """

    def __init__(
        self,
        feed: ClickHouseFeed,
        assignment: LoaderAssignment,
        partitions: dict[TopicPartition, BlockPartition],
        intents: IntentCommitter,
        tables: ShardTables,
        memory_mib: int,
        receipts: BlockReceipts,
        loader_counts: LoaderCounts,
    ) -> None:
        rule = seal_rule(feed, memory_mib * MIB)
        self.tables = tables
        self.forming = BlockForming(
            assignment,
            partitions,
            intents,
            tables,
            rule,
            receipts,
            loader_counts,
            FormingRoom(rule.forms_bytes_max),
        )
        self.partition_bytes_max = PARTITION_BLOCKS * rule.bytes_max
        self.read_bytes_max = int(READ_PART * memory_mib * MIB)
        self.flush_seconds = feed.reference_seconds
        self._header = feed.header if feed.table_from == "header" else None

    def now(self) -> float:
        return time.monotonic()

    def hold(self, place: TopicPartition, intent: Intent, leader_epoch: int) -> BlockPartition:
        return held_for_blocks(place, intent, leader_epoch)

    def route(
        self, place: TopicPartition, records: RecordSlice, incarnation: int
    ) -> Mapping[str, RecordSlice]:
        """Returns the records by table. A table of any log is the same."""
        return by_table(records, topic=place.topic, header=self._header)

    async def recall(self, intents: Intents) -> Intents:
        """Returns intents as they are: those of tables say everything themselves."""
        return intents

    def unloaded(self) -> Mapping[str, str]:
        return self.tables.unloaded()

    async def close(self) -> None:
        await self.tables.close()
