"""Store of an upsert table: three servers that get inserts in any order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aggregator.upsert.mark import Level
from aggregator.upsert.tick import OPEN, tick_of
from aggregator.upsert.version import Version

if TYPE_CHECKING:
    from tests.aggregator.upsert.upsert_rules import Rules

SERVERS = ("a", "b", "c")
QUORUM = 2


@dataclass
class StoredRow:
    """Row on one server."""

    key: bytes
    version: Version
    until: int


@dataclass(frozen=True)
class Entry:
    """Insert: a part of a block of rows, a block of ends, or a row of the table of ticks.

    Args:
        lanes: that a part has rows of.
    """

    kind: str
    tick: int
    content: tuple[Any, ...] = ()
    lanes: frozenset[int] = frozenset()


class Server:
    """Server: what it has got so far.

    Args:
        name: of the place; a server that replaces another one has the same.
        number: that no other server ever had.
    """

    def __init__(self, name: str, number: int = 0) -> None:
        self.name = name
        self.number = number
        self.has: set[Entry] = set()
        self.rows: list[StoredRow] = []
        self.ends: dict[int, set[int]] = {}

    def apply(self, entry: Entry, source: Server | None = None) -> None:
        """Takes an insert; one that it has already changes nothing.

        Args:
            source: server whose part is copied, as far as it is settled there.
        """
        if entry in self.has:
            return
        self.has.add(entry)
        if entry.kind == "rows":
            settled = {it.version.row_id: it.until for it in source.rows} if source else {}
            for key, version in entry.content:
                until = tick_of(version.row_id) if version.is_delete else OPEN
                self.rows.append(StoredRow(key, version, settled.get(version.row_id, until)))
        elif entry.kind == "ends":
            self.ends.setdefault(entry.tick, set()).update(each.row_id for each in entry.content)

    def ended(self, begin: int, end: int, is_behind: Callable[[int, int, int], bool]) -> set[int]:
        """Returns the rows with ends behind a tick, up to another one."""
        return {
            row_id
            for tick, rows in self.ends.items()
            if is_behind(tick, begin, end)
            for row_id in rows
        }


@dataclass
class Store:
    """Servers, and the log of all inserts.

    Args:
        acknowledged: inserts that a quorum had at some time.
    """

    log: list[Entry] = field(default_factory=list)
    acknowledged: set[Entry] = field(default_factory=set)
    servers: dict[str, Server] = field(default_factory=lambda: {it: Server(it) for it in SERVERS})

    def put(self, entry: Entry, server: str) -> None:
        if entry not in self.log:
            self.log.append(entry)
        self.bring(entry, server, 0)

    def bring(self, entry: Entry, server: str, which: int) -> None:
        """Brings an insert to a server, from one of those that have it."""
        having = [it for it in self.servers.values() if entry in it.has]
        source = having[which % len(having)] if having else None
        self.servers[server].apply(entry, source)
        if sum(entry in it.has for it in self.servers.values()) >= QUORUM:
            self.acknowledged.add(entry)

    def drop(self, server: str, last: int) -> None:
        """Drops the ends up to a tick on a server, which fetches none of them any more."""
        found = self.servers[server]
        found.has.update(it for it in self.log if it.kind == "ends" and it.tick <= last)
        found.ends = {tick: rows for tick, rows in found.ends.items() if tick > last}

    def lacking(self, server: str) -> list[Entry]:
        """Returns the inserts that a server does not have."""
        return [each for each in self.log if each not in self.servers[server].has]

    def replace(self, server: str) -> bool:
        """Puts an empty server in the place of another one, if no insert is lost with it."""
        others = [it for name, it in self.servers.items() if name != server]
        if any(all(each not in it.has for it in others) for each in self.servers[server].has):
            return False
        self.servers[server] = Server(server, self.servers[server].number + 1)
        return True

    def ticks_of(self, kind: str) -> list[int]:
        """Returns the ticks of acknowledged inserts, from old to new."""
        return [each.tick for each in self.log if each.kind == kind and each in self.acknowledged]

    @property
    def claimed(self) -> int:
        return max(self.ticks_of("claim"), default=0)

    @property
    def points(self) -> list[int]:
        return self.ticks_of("settled")

    def points_of(self, server: str, rules: Rules) -> list[int]:
        """Returns the settle points that a server has."""
        found = self.servers[server]
        return [
            each.tick
            for each in self.log
            if each.kind == "settled"
            and each in self.acknowledged
            and any(rules.is_named(found, *name) for name in each.content)
        ]

    @property
    def horizon(self) -> int:
        return max(self.ticks_of("horizon"), default=0)

    @property
    def newest_stored(self) -> int:
        return max((each.tick for each in self.log if each.kind in ("rows", "ends")), default=0)

    def rows_in(self, ids: range) -> int:
        """Counts the rows of a block that a read with sequential consistency shows."""
        return sum(
            version.row_id in ids
            for each in self.acknowledged
            if each.kind == "rows"
            for _, version in each.content
        )

    def levels(self, server: str, lanes: int) -> dict[int, Level]:
        """Returns the levels of a server by lane: claims before which it lacks nothing."""
        lacking = set(self.lacking(server))
        numbered = list(enumerate(self.log))
        claims = [
            (at, it.tick) for at, it in numbered if it.kind == "claim" and it in self.acknowledged
        ]

        def level(is_of: Callable[[Entry], bool]) -> int:
            first = next((at for at, it in numbered if it in lacking and is_of(it)), len(numbered))
            return max((tick for at, tick in claims if at < first), default=0)

        updates = level(lambda it: it.kind == "ends")
        return {
            lane: Level(
                level(lambda it, lane=lane: it.kind == "rows" and lane in it.lanes), updates
            )
            for lane in range(lanes)
        }
