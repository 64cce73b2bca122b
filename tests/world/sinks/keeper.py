"""Keeper of a shard: what ZooKeeper knows of replicated tables.

For each table it has the log of parts, the hashes of inserted blocks, and the insert that still
waits for its quorum. Source: StorageReplicatedMergeTree, ReplicatedMergeTreeBlockOutputStream and
ReplicatedMergeTreeCleanupThread of ClickHouse 18.16, with the checks that decision 0027 lists.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from aggregator.tables.table_schema import COORDINATES, INCARNATION, INCARNATION_TYPE, Column


class Identity(NamedTuple):
    """Coordinates of a row of a table.

    Args:
        incarnation: of the log that it is of; 0 in a table that does not tell logs apart.
    """

    table: str
    topic: str
    partition: int
    offset: int
    row: int
    incarnation: int = 0


class Row(NamedTuple):
    """Row as it is stored."""

    cluster: str
    identity: Identity
    id: int
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Part of a table: the rows of one insert.

    Args:
        block_id: token or hash by which a repeat is recognized.
    """

    name: str
    block_id: str
    rows: tuple[Row, ...]


@dataclass(slots=True, eq=False)
class OpenQuorum:
    """Insert that waits until enough replicas have its part."""

    part: Part
    needed: int
    replicas: set[str]


TABLE_ZXID = 1
"""Transaction that made the tables."""


class KnownBlock(NamedTuple):
    """Hash of an inserted block, with time and transaction of the insert."""

    at: float
    zxid: int


@dataclass(slots=True, eq=False)
class KeptTable:
    """Table as the keeper knows it.

    Args:
        window_seconds: time for which the hash of a block is kept.
        window: blocks whose hashes are kept.
        tells_logs: each row names the log that it is of.
    """

    name: str
    window_seconds: float
    window: int = 10_000
    columns: tuple[Column, ...] = (
        Column("id", "UInt64"),
        Column("name", "String"),
        *(Column(name, kind) for name, kind in COORDINATES.items()),
    )
    tells_logs: bool = False
    log: list[Part] = field(default_factory=list)
    blocks: dict[str, KnownBlock] = field(default_factory=dict)
    """Inserts by block id, the oldest first."""
    changed_zxid: int = TABLE_ZXID
    """Transaction that changed the list of blocks last."""
    quorum: OpenQuorum | None = None
    refusal: tuple[int, str] | None = None
    """Error that every insert gets at once: ClickHouse's code, and its text."""
    is_full: bool = False
    """Too many parts: inserts are refused, and the number of parts tells so."""

    def __post_init__(self) -> None:
        if self.tells_logs:
            self.columns = (*self.columns, Column(INCARNATION, INCARNATION_TYPE))

    def forget_old(self, now: float, zxid: int) -> None:
        """Removes the hashes that have left the deduplication window."""
        late = list(self.blocks)[: -self.window] if len(self.blocks) > self.window else []
        late += [it for it, each in self.blocks.items() if now - each.at > self.window_seconds]
        for block_id in late:
            self.blocks.pop(block_id, None)
            self.changed_zxid = zxid


class Holder(Protocol):
    """Server that may have a part."""

    is_up: bool
    is_stopped: bool


class Observer:
    """Observer of a shard; does nothing."""

    def sent(self, query_id: str) -> None:
        """Called when a client has given a block's data to its socket."""

    def committed(self, table: str, part: Part) -> None:
        """Called when a part has come into the log of a table."""


class Keeper:
    """Keeper of one shard, without delays: those are of the servers that ask."""

    def __init__(self, tables: list[KeptTable]) -> None:
        self.tables = {it.name: it for it in tables}
        self.servers: dict[str, Holder] = {}
        self.sessions: set[str] = set()
        """Replicas whose session lives: they are active."""
        self.holders: dict[Part, set[str]] = {}
        """Replicas that have a part of the log on their disks."""
        self.had: dict[Part, set[str]] = {}
        """Replicas that have a part, or had it before they were rebuilt."""
        self.part_of: dict[Identity, Part] = {}
        self.observer = Observer()
        self.woken: list[Callable[[], object]] = []
        """Called when a log or a quorum has changed."""
        self.zxid = TABLE_ZXID
        """Transaction of the last change."""
        self.known_since: dict[tuple[str, Part], int] = {}
        """Transactions that told the keeper of a replica's part."""
        self._parts = 0

    def new_name(self) -> str:
        """Returns the name of the next part."""
        self._parts += 1
        return f"all_{self._parts}"

    def commit(self, table: KeptTable, part: Part, replica: str, quorum: int, now: float) -> None:
        """Puts a part into the log, with its hash and its quorum."""
        self.zxid += 1
        table.log.append(part)
        table.blocks[part.block_id] = KnownBlock(now, self.zxid)
        table.changed_zxid = self.known_since[replica, part] = self.zxid
        self.holders[part] = {replica}
        self.had[part] = {replica}
        if quorum > 1:
            table.quorum = OpenQuorum(part, quorum, {replica})
        self.observer.committed(table.name, part)
        for row in part.rows:
            self.part_of[row.identity] = part
        self.wake()

    def has(self, table: KeptTable, part: Part, replica: str) -> None:
        """Notes that a replica has a part of the log."""
        self.zxid += 1
        self.known_since[replica, part] = self.zxid
        self.holders[part].add(replica)
        self.had[part].add(replica)
        quorum = table.quorum
        if quorum is not None and quorum.part is part:
            quorum.replicas.add(replica)
            if len(quorum.replicas) >= quorum.needed:
                table.quorum = None
        self.wake()

    def is_served(self, part: Part) -> bool:
        """Returns True if a replica that answers has a part of the log."""
        holders = (it for name, it in self.servers.items() if name in self.holders[part])
        return any(it.is_up and not it.is_stopped for it in holders)

    def copies(self, identity: Identity) -> int:
        """Returns the number of replicas that have a row for good, or had it on a disk that is
        lost."""
        part = self.part_of.get(identity)
        return len(self.had[part]) if part is not None else 0

    def can_lose(self, replica: str) -> bool:
        """Returns True if the other replicas have all parts of the log."""
        are_closed = all(it.quorum is None for it in self.tables.values())
        return are_closed and all(holders - {replica} for holders in self.holders.values())

    def lose(self, replica: str) -> None:
        """Forgets what a replica has, as when it is created anew."""
        for part, holders in self.holders.items():
            holders.discard(replica)
            self.known_since.pop((replica, part), None)

    def wake(self) -> None:
        """Lets all that wait for a change look again."""
        for act in list(self.woken):
            act()
