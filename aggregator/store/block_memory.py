"""Block memory of a replicated table: the hashes of inserted blocks, by which repeats are found.

ZooKeeper keeps a node for each block. The oldest are deleted once there are more than the table's
deduplication window, or once they are too old. Which blocks are known is told by the order of
ZooKeeper's transactions: clocks of loaders, servers and ZooKeeper may differ.
"""

from __future__ import annotations

from typing import NamedTuple

from clickhouse_driver import Client

from aggregator.intents.table_range import KeeperMoment

PATH = (
    "SELECT zookeeper_path FROM system.replicas WHERE database = %(database)s AND table = %(table)s"
)
HASHES = """
SELECT czxid, pzxid, toInt64(toUnixTimestamp(ctime)) FROM system.zookeeper
WHERE path = %(path)s AND name = 'blocks'
"""
BLOCKS = """
SELECT count(), min(czxid), toInt64(toUnixTimestamp(max(ctime))) FROM system.zookeeper
WHERE path = %(path)s
"""
WINDOW_PART = 0.9
"""Part of the window's seconds that is relied on."""


class HashList(NamedTuple):
    """List of a table's hashes in ZooKeeper.

    Args:
        table: transaction that made the list.
        zxid: transaction that changed it last.
        made_s: Unix time by ZooKeeper's clock at which it was made.
    """

    table: int
    zxid: int
    made_s: int

    def has(self, moment: KeeperMoment) -> bool:
        """Returns True if the moment is one of this list, and not of an earlier table's."""
        return moment.table == self.table and moment.zxid <= self.zxid


class BlockMemory(NamedTuple):
    """Blocks that a table knows.

    Args:
        blocks: number of blocks known.
        oldest: transaction that inserted the oldest of them.
        newest_s: Unix time by ZooKeeper's clock at which the newest one was inserted.
    """

    blocks: int
    oldest: int
    newest_s: int

    def reaches(
        self, moment: KeeperMoment | None, of: HashList, *, window: int, window_seconds: int
    ) -> bool:
        """Returns True if every block that was inserted after a moment is still known.

        Args:
            moment: None: nobody knows when the block was sent.
            of: list of the hashes.
            window: blocks that the table keeps.
            window_seconds: blocks that are older than the newest one by more are deleted.
        """
        if moment is not None and not of.has(moment):
            return False
        # The oldest are deleted first. So while one from before the moment is there, no later one
        # is gone.
        if moment is not None and self.blocks and self.oldest <= moment.zxid:
            return True
        # Servers compare these times of ZooKeeper when they delete: no other clock is asked.
        is_young = self.newest_s - of.made_s < window_seconds * WINDOW_PART
        return self.blocks < window and is_young


def read_hash_list(client: Client, path: str) -> HashList | None:
    """Returns the list of a table's hashes; None if ZooKeeper does not have the table.

    Raises the errors of the driver and of the socket.

    Args:
        path: of the table in ZooKeeper.
    """
    found = client.execute(HASHES, {"path": path})
    return HashList(*found[0]) if found else None


def read_moment(client: Client, database: str, table: str) -> KeeperMoment | None:
    """Returns the moment of now; None for a table that is not replicated."""
    path = _path(client, database, table)
    hashes = read_hash_list(client, path) if path else None
    return KeeperMoment(hashes.zxid, hashes.table) if hashes else None


def is_remembered(
    client: Client,
    database: str,
    table: str,
    moment: KeeperMoment | None,
    *,
    window: int,
    window_seconds: int,
) -> bool:
    """Returns True if a table knows every block that was inserted after a moment.

    Raises the errors of the driver and of the socket.
    """
    path = _path(client, database, table)
    if not path:
        return False
    [blocks] = client.execute(BLOCKS, {"path": f"{path}/blocks"})
    hashes = read_hash_list(client, path)
    memory = BlockMemory(*blocks)
    return hashes is not None and memory.reaches(
        moment, hashes, window=window, window_seconds=window_seconds
    )


def _path(client: Client, database: str, table: str) -> str:
    found = client.execute(PATH, {"database": database, "table": table})
    return str(found[0][0]) if found else ""
