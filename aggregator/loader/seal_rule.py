"""Seal rule: when the buffer of a table becomes a block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from replicator.config.feed_settings import ClickHouseFeed

MIB = 1 << 20
PARTITION_BLOCKS = 3
"""Blocks that one partition buffers at most: one in flight, one that is full, one that fills."""
BUFFERED_PART = 0.5
"""Part of the memory that buffers may take; the rest is for blocks in flight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SealRule:
    """Limits at which a table's buffer is sealed.

    Args:
        partition_bytes_max: bytes in the buffers of a partition's tables at which the largest of
            them is sealed, full or not: many tables would fill the memory, and reading would
            pause until one of them reached its age.
        loader_bytes_max: the same for all partitions of a loader together.
    """

    bytes_max: int
    records_max: int
    age_seconds: float
    partition_bytes_max: int
    loader_bytes_max: int

    def while_buffered(self, size_bytes: Sequence[int]) -> SealRule:
        """Returns the rule that holds while the partitions of a loader buffer so much each.

        Near the end of the loader's memory a partition may have its share of it, and no more.
        """
        if not size_bytes or sum(size_bytes) < self.loader_bytes_max:
            return self
        share = self.loader_bytes_max // len([size for size in size_bytes if size])
        return replace(self, partition_bytes_max=min(share, self.partition_bytes_max))

    def is_full(self, size_bytes: int, records: int, age_seconds: float) -> bool:
        """Returns True if a buffer has reached a limit of its own."""
        return (
            size_bytes >= self.bytes_max
            or records >= self.records_max
            or age_seconds >= self.age_seconds
        )

    def largest(self, size_bytes: Mapping[str, int]) -> set[str]:
        """Returns the fewest tables without which the buffers of the others are small enough.

        Args:
            size_bytes: of the buffers of one partition, by table.
        """
        left, found = sum(size_bytes.values()), set[str]()
        if left < self.partition_bytes_max:
            return found
        for table in sorted(size_bytes, key=lambda table: -size_bytes[table]):
            if left < self.partition_bytes_max:
                break
            found.add(table)
            left -= size_bytes[table]
        return found


def seal_rule(feed: ClickHouseFeed, memory_bytes: int) -> SealRule:
    """Returns the rule of a loader's partitions.

    Args:
        memory_bytes: of the loader, for records that are read and not loaded.
    """
    bytes_max = int(feed.block_mib * MIB)
    return SealRule(
        bytes_max=bytes_max,
        records_max=feed.block_rows,
        age_seconds=feed.block_seconds,
        partition_bytes_max=int(BUFFERED_PART * PARTITION_BLOCKS * bytes_max),
        loader_bytes_max=int(BUFFERED_PART * memory_bytes),
    )
