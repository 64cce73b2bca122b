"""Receipts: a row per block that a loader stored. Rows of an epoch's Spark job; progress never
depends on them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from balancer.topic_partition import TopicPartition

TIME = pa.timestamp("us", tz="UTC")
"""Spark's own resolution, which stored receipts have had from the beginning."""
RECEIPTS_MAX = 100_000
"""Receipts kept of one epoch."""
SCHEMA = pa.schema(
    [
        ("feed", pa.string()),
        ("cluster", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("table", pa.string()),
        ("begin", pa.int64()),
        ("end", pa.int64()),
        ("records", pa.int64()),
        ("rows", pa.int64()),
        ("dead_letters", pa.int64()),
        ("replayed", pa.bool_()),
        ("loader", pa.int32()),
        ("plan_version", pa.int64()),
        ("sealed_at", TIME),
        ("ended_at", TIME),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockReceipt:
    """A block that is stored: offsets begin..end-1 of one table.

    Args:
        records: in the range, dead letters included.
        dead_letters: records of the range that were set aside with this block's intent.
        is_replayed: a predecessor's intent had named the block.
        sealed_at_ms, loaded_at_ms: Unix times of its intent, and of the store's acknowledgement.
    """

    place: TopicPartition
    table: str
    begin: int
    end: int
    records: int
    rows: int
    dead_letters: int
    is_replayed: bool
    sealed_at_ms: int
    loaded_at_ms: int


class BlockReceipts:
    """Receipts of one loader and one epoch."""

    def __init__(self) -> None:
        self.kept: list[BlockReceipt] = []

    def add(self, receipt: BlockReceipt) -> None:
        """Keeps a receipt. Blocks beyond RECEIPTS_MAX are only counted in the log."""
        if len(self.kept) < RECEIPTS_MAX:
            self.kept.append(receipt)


def to_arrow(
    feed: str, cluster: str, loader: int, plan_version: int, receipts: Iterable[BlockReceipt]
) -> pa.RecordBatch:
    """Returns one row per receipt, with the column types of SCHEMA."""
    rows = [
        {
            "feed": feed,
            "cluster": cluster,
            "topic": each.place.topic,
            "partition": each.place.partition,
            "table": each.table,
            "begin": each.begin,
            "end": each.end,
            "records": each.records,
            "rows": each.rows,
            "dead_letters": each.dead_letters,
            "replayed": each.is_replayed,
            "loader": loader,
            "plan_version": plan_version,
            "sealed_at": each.sealed_at_ms * 1000,
            "ended_at": each.loaded_at_ms * 1000,
        }
        for each in receipts
    ]
    return pa.RecordBatch.from_pylist(rows, schema=SCHEMA)
