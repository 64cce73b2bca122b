"""Server levels: the newest tick that each server of a shard holds whole, and the mark of all.

A server has a claimed tick if it was found complete after the claim was read: it had every part
that was committed then, and the rows and ends of the tick were committed before. Reads with
select_sequential_consistency prove less: 18.16 looks for the last quorum part only, and a server
that took this one itself may lack the one before.

The mark is the least level of the servers that get queries. One that is silent, or behind by more
than `server_lag_seconds`, gets none, and returns by itself once it has reached the mark again, so
that the mark never goes back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from clickhouse_driver import Client

from aggregator.store.recognition import is_complete
from aggregator.store.shard_store import NotStored, ShardStore
from aggregator.upsert.claims import TickRow
from aggregator.upsert.table_names import rows_table, updates_table

NAME = """
SELECT replica_name FROM system.replicas WHERE database = %(database)s AND table = %(table)s
"""
MADE = """
SELECT uptime(), max(toInt64(toUnixTimestamp(metadata_modification_time))), count()
FROM system.tables WHERE database = %(database)s AND name IN %(tables)s
"""


class ServerSight(NamedTuple):
    """Look at a server.

    Args:
        server: name of the replica; empty for one that is not replicated.
        uptime_seconds: of the server; less than before means that it was started again.
        made_s: time at which its tables were made or altered last.
        has_rows, has_updates: the server had every part of the table when the look began.
    """

    server: str
    uptime_seconds: int
    made_s: int
    has_rows: bool
    has_updates: bool


def read_sight(client: Client, database: str, table: str) -> ServerSight:
    """Looks at a server. Raises the errors of the driver and of the socket."""
    rows, updates = rows_table(table), updates_table(table)
    names = client.execute(NAME, {"database": database, "table": rows})
    [(uptime, made, count)] = client.execute(
        MADE, {"database": database, "tables": (rows, updates)}
    )
    is_there = count == 2
    return ServerSight(
        names[0][0] if names else "",
        uptime,
        made,
        is_there and is_complete(client, database, rows),
        is_there and is_complete(client, database, updates),
    )


@dataclass(frozen=True, slots=True)
class ServerLevel:
    """Level of a server. Pure.

    Args:
        rows, updates: newest tick whose rows, and whose ends, it has; 0 if none is known.
        time_ms: time of the level's tick.
    """

    rows: int = 0
    updates: int = 0
    time_ms: int = 0
    sight: ServerSight | None = None

    @property
    def level(self) -> int:
        """Newest tick that the server can be asked for."""
        return min(self.rows, self.updates)

    @property
    def server(self) -> str:
        return self.sight.server if self.sight else ""

    def seen(self, sight: ServerSight, claim: TickRow) -> ServerLevel:
        """Returns the level after a look.

        A server that is not complete keeps its level, as parts do not go: unless it was started
        again, or its tables were made anew, on an empty disk perhaps.

        Args:
            claim: newest claim, as it was read before the look.
        """
        before = self if self.sight is not None and _is_same(self.sight, sight) else ServerLevel()
        rows = max(claim.tick, before.rows) if sight.has_rows else before.rows
        updates = max(claim.tick, before.updates) if sight.has_updates else before.updates
        has_grown = min(rows, updates) > before.level
        return ServerLevel(rows, updates, claim.time_ms if has_grown else before.time_ms, sight)


def _is_same(before: ServerSight, after: ServerSight) -> bool:
    """Returns True if nothing can have taken parts away between two looks."""
    return before.uptime_seconds <= after.uptime_seconds and before.made_s == after.made_s


class Mark(NamedTuple):
    """Mark of a table, and the servers that answer at it.

    Args:
        tick: newest tick that each of the servers has.
        servers: numbers of the replicas, in the order of the configuration; none: wait.
        left_out: by number, why a replica gets no queries.
    """

    tick: int
    servers: tuple[int, ...]
    left_out: Mapping[int, str]


@dataclass(slots=True)
class ServerLevels:
    """Levels of the servers of a shard, and the mark. Pure.

    Args:
        lag_seconds: time of ticks by which a server may be behind.
        mark: tick of the mark; it never goes back.
    """

    lag_seconds: float
    mark: int = 0
    levels: dict[int, ServerLevel] = field(default_factory=dict)

    def take(
        self,
        claim: TickRow,
        sights: Mapping[int, ServerSight],
        failures: Mapping[int, str],
    ) -> Mark:
        """Takes in a look at all servers; returns the mark.

        Args:
            claim: newest claim, as it was read before the look.
            sights: by number of the replica, of those that answered.
            failures: by number of the replica, why the others did not.
        """
        for at, sight in sights.items():
            self.levels[at] = self.levels.get(at, ServerLevel()).seen(sight, claim)
        for at in failures:
            # What it has when it answers again is looked at anew.
            self.levels.pop(at, None)
        left_out = dict(failures)
        left_out.update(
            (at, reason)
            for at, level in self.levels.items()
            if (reason := self._reason(level, claim))
        )
        servers = tuple(at for at in sorted(self.levels) if at not in left_out)
        self.mark = max(self.mark, min((self.levels[at].level for at in servers), default=0))
        return Mark(self.mark, servers, left_out)

    def _reason(self, level: ServerLevel, claim: TickRow) -> str:
        """Returns why a server that answers gets no queries; empty if it gets some."""
        if not level.level:
            return "was not complete yet since it was seen first, or came back"
        behind = (claim.time_ms - level.time_ms) / 1000 if level.level < claim.tick else 0.0
        if behind > self.lag_seconds:
            return f"is {behind:.0f} s behind: it has tick {level.level} of {claim.tick}"
        if level.level < self.mark:
            return f"has tick {level.level}, and others answered at {self.mark} already"
        return ""


def look_at_servers(store: ShardStore, table: str) -> tuple[dict[int, ServerSight], dict[int, str]]:
    """Looks at all replicas of a shard; returns sights, and failures, by number. Blocking."""
    sights: dict[int, ServerSight] = {}
    failures: dict[int, str] = {}
    for at, replica in enumerate(store.replicas):
        try:
            sights[at] = store.answer_of(
                replica, lambda it: read_sight(it.client, store.database, table)
            )
        except NotStored as error:
            failures[at] = error.problem.text
    return sights, failures
