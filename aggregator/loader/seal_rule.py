"""Seal rule: when the buffer of a table becomes a block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from replicator.config.feed_settings import ClickHouseFeed

MIB = 1 << 20
PARTITION_BLOCKS = 3
"""Blocks that one partition buffers at most: one in flight, one that is full, one that fills."""
PARTITION_BUFFERED_PART = 0.5
"""Part of these that is in no block."""
READ_PART = 0.5
"""Part of the memory for records that are read and not loaded. FORMS_PART is for other forms of
them, the rest for responses of brokers and what is opened of them."""
FORMS_PART = 0.25
BUFFERED_PART = 0.25
"""Part of the memory for records that are in no block; the rest of READ_PART is for blocks."""
FORMS = 3
"""Forms of a block: decoded, encoded, and as it is sent."""
CELL_BYTES = 16
"""Memory of a cell that holds nothing: an offset into the column's data or a number, and masks."""
BLOCK_PART = 1 / 16
"""Largest part of the memory that the records of one block take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SealRule:
    """Limits at which a table's buffer is sealed.

    Args:
        partition_bytes_max: bytes in the buffers of a partition's tables at which the largest of
            them is sealed, full or not: many tables would fill the memory, and reading would
            pause until one of them reached its age.
        loader_bytes_max: the same for all partitions of a loader together.
        forms_bytes_max: memory for the forms of blocks (see FormingRoom).
    """

    bytes_max: int
    records_max: int
    age_seconds: float
    partition_bytes_max: int
    loader_bytes_max: int
    forms_bytes_max: int = 1 << 62

    def for_columns(self, count: int) -> SealRule:
        """Returns the rule for a table with so many columns: a row takes memory in each of them,
        whatever its record holds."""
        rows = self.forms_bytes_max // (FORMS * CELL_BYTES * max(count, 1))
        return replace(self, records_max=max(1, min(self.records_max, rows)))

    def stops_reading(self, partition_bytes: int, loader_bytes: int) -> bool:
        """Returns True if a partition is not fetched.

        Args:
            partition_bytes, loader_bytes: read and not loaded, with blocks under way.
        """
        is_full = partition_bytes >= PARTITION_BLOCKS * self.bytes_max
        return is_full or loader_bytes >= self.read_bytes_max

    @property
    def read_bytes_max(self) -> float:
        """Bytes of a loader's partitions that are read and not loaded, at most."""
        return self.loader_bytes_max * READ_PART / BUFFERED_PART

    def forms_bytes(self, size_bytes: int, records: int, columns: int) -> int:
        """Returns the memory that the forms of a buffer's next block take, as it is expected.

        Args:
            size_bytes, records: of the buffer.
        """
        cells = CELL_BYTES * columns * min(records, self.records_max)
        return FORMS * (min(size_bytes, self.bytes_max) + cells)

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
        memory_bytes: of the loader.
    """
    bytes_max = int(min(feed.block_mib * MIB, BLOCK_PART * memory_bytes))
    return SealRule(
        bytes_max=bytes_max,
        records_max=feed.block_rows,
        age_seconds=feed.block_seconds,
        partition_bytes_max=int(PARTITION_BUFFERED_PART * PARTITION_BLOCKS * bytes_max),
        loader_bytes_max=int(BUFFERED_PART * memory_bytes),
        forms_bytes_max=int(FORMS_PART * memory_bytes),
    )
