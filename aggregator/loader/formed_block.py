"""Formed block: the rows of one table's block, ready to be encoded."""

from __future__ import annotations

import math
from dataclasses import dataclass

from aggregator.intents.table_range import TableRange
from aggregator.store.block_name import BlockName
from aggregator.tables.decoded import Decoded
from aggregator.tables.table_schema import TableSchema
from balancer.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True, eq=False)
class FormedBlock:
    """Rows of a block.

    Args:
        range: of the intent that names the block.
        is_as_intended: records and schema are those of the intent, so that a repeat of the block
            is the same block.
        incarnation: of the partition's log (see Intent).
        sealed_at: time at which this loader sealed the block, by the monotonic clock; a block that
            a predecessor sealed counts as old.
    """

    table: str
    range: TableRange
    decoded: Decoded
    schema: TableSchema
    is_as_intended: bool
    incarnation: int = 0
    sealed_at: float = -math.inf

    def name(self, feed: str, cluster: str, place: TopicPartition) -> BlockName:
        """Returns the name that the block was sealed under: an earlier insert of it may still run,
        also of records that are lost since."""
        return BlockName(
            feed,
            cluster,
            *place,
            self.table,
            self.range.sealed_begin,
            self.range.sealed_end,
            self.incarnation if self.schema.has_incarnations else None,
        )
