"""Block memory of a replicated table: the hashes of inserted blocks, by which repeats are found.

ZooKeeper keeps a node for each block. The oldest are deleted once there are more than the table's
deduplication window, or once they are too old.
"""

from __future__ import annotations

from dataclasses import dataclass

from clickhouse_driver import Client

PATH = (
    "SELECT zookeeper_path FROM system.replicas WHERE database = %(database)s AND table = %(table)s"
)
BLOCKS = """
SELECT count(), toInt64(toUnixTimestamp(min(ctime))) FROM system.zookeeper WHERE path = %(path)s
"""
WINDOW_PART = 0.9
"""Part of the window's seconds that is relied on: cleaning runs by another clock."""


@dataclass(frozen=True, slots=True)
class BlockMemory:
    """Blocks that a table knows.

    Args:
        count: number of blocks known.
        oldest_ms: Unix time at which the oldest of them was inserted; 0 if there is none.
        window: blocks that the table keeps.
        window_seconds: time for which it keeps them.
    """

    count: int
    oldest_ms: int
    window: int
    window_seconds: int

    def reaches(self, since_ms: int, now_ms: int) -> bool:
        """Returns True if every block that was inserted since a time is still known."""
        if self.count and self.oldest_ms < since_ms:
            return True
        is_recent = now_ms - since_ms < self.window_seconds * 1000 * WINDOW_PART
        return self.count < self.window and is_recent


def read_block_memory(
    client: Client, database: str, table: str, *, window: int, window_seconds: int
) -> BlockMemory | None:
    """Returns the blocks that a table knows; None for a table that is not replicated.

    Raises the errors of the driver and of the socket.
    """
    found = client.execute(PATH, {"database": database, "table": table})
    if not found:
        return None
    [(path,)] = found
    [(count, oldest_s)] = client.execute(BLOCKS, {"path": f"{path}/blocks"})
    return BlockMemory(count, oldest_s * 1000, window, window_seconds)
