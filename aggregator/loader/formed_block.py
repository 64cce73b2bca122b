"""Formed block: the rows of one table's block, ready to be encoded."""

from __future__ import annotations

import math
from dataclasses import dataclass

from aggregator.intents.table_range import TableRange
from aggregator.tables.decoded import Decoded
from aggregator.tables.table_schema import TableSchema


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
