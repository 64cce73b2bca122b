"""Server levels: the newest tick that each server of a shard holds whole, and the mark of all.

A server has a claimed tick if it was found complete after the claim was read: it had every part
that was committed then, and the rows and ends of the tick were committed before. Reads with
select_sequential_consistency prove less: 18.16 looks for the last quorum part only, and a server
that took this one itself may lack the one before.

A server that is not complete keeps what it had. Settling takes the mark (mark.py) and the servers
that have it from here, and metrics their ages; a query looks at its server itself
(query_session.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from threading import Thread
from typing import NamedTuple

from clickhouse_driver import Client

from aggregator.store.recognition import has_uncommitted, is_complete, replica_path
from aggregator.store.replica import Replica
from aggregator.store.shard_store import NotStored, ShardStore
from aggregator.upsert.mark import Claimed, Level, TableMark, table_mark
from aggregator.upsert.table_names import rows_table, ticks_table, updates_table
from replicator.runtime.clock import monotonic, sleep

MADE = """
SELECT uptime(), max(toInt64(toUnixTimestamp(metadata_modification_time))), count()
FROM system.tables WHERE database = %(database)s AND name IN %(tables)s
"""


ANSWER_SECONDS = 3.0
"""Longest wait for a look at a server."""
LOOKS = 3
LOOK_PAUSE_SECONDS = 0.1
INCOMPLETE = "fetches parts since it came, and was never seen complete"


class ServerSight(NamedTuple):
    """Look at a server.

    Args:
        server: name of the replica; empty for one that is not replicated.
        uptime_seconds: of the server; less than before means that it was started again.
        made_s: time at which its tables were made or altered last.
        has_rows, has_updates, has_ticks: the server had every part of the table when the look
            began, and shows no rows of inserts that were not committed.
    """

    server: str
    uptime_seconds: int
    made_s: int
    has_rows: bool
    has_updates: bool
    has_ticks: bool = True


def read_sight(client: Client, database: str, table: str) -> ServerSight:
    """Looks at a server. Raises the errors of the driver and of the socket."""
    rows, updates = rows_table(table), updates_table(table)
    path = replica_path(client, database, rows)
    [(uptime, made, count)] = client.execute(
        MADE, {"database": database, "tables": (rows, updates)}
    )
    is_there = count == 2
    has_rows = is_there and is_complete(client, database, rows)
    return ServerSight(
        path.rpartition("/")[2],
        uptime,
        made,
        has_rows and not (path and has_uncommitted(client, database, rows, path)),
        is_there and is_complete(client, database, updates),
        is_complete(client, database, ticks_table(table)),
    )


@dataclass(frozen=True, slots=True)
class HeldTicks:
    """Newest ticks that a server holds. Pure.

    Args:
        rows, updates: newest tick whose rows, and whose ends, it has; 0 if none is known.
        sight: the last look at it.
    """

    rows: int = 0
    updates: int = 0
    sight: ServerSight | None = None

    @property
    def mark(self) -> int:
        """Newest tick that the server can show. A part that it lacks may hold rows of any lane, so
        that it has the same tick of all."""
        return Level(self.rows, self.updates).mark

    def seen(self, sight: ServerSight, claimed: int) -> HeldTicks:
        """Returns the ticks after a look.

        A server that is not complete keeps what it had, as parts do not go: unless it was started
        again, or its tables were made anew, on an empty disk perhaps.

        Args:
            claimed: newest claimed tick, as it was read before the look.
        """
        before = (
            self if self.sight is not None and is_same_server(self.sight, sight) else HeldTicks()
        )
        return HeldTicks(
            max(claimed, before.rows) if sight.has_rows else before.rows,
            max(claimed, before.updates) if sight.has_updates else before.updates,
            sight,
        )


def is_same_server(before: ServerSight, after: ServerSight) -> bool:
    """Returns True if nothing can have taken parts away between two looks."""
    return before.uptime_seconds <= after.uptime_seconds and before.made_s == after.made_s


@dataclass(slots=True)
class ServerLevels:
    """Ticks that the servers of a shard hold, and the mark of a table that follows. Pure.

    Args:
        lag_seconds_max: time for which a server may lack a claimed tick.
        mark: that readers were given before; it never goes back.
    """

    lag_seconds_max: float
    mark: int = 0
    held: dict[str, HeldTicks] = field(default_factory=dict)
    _claims: list[Claimed] = field(default_factory=list)

    def take(
        self,
        claimed: int,
        sights: Mapping[str, ServerSight],
        failures: Mapping[str, str],
        now_seconds: float,
    ) -> TableMark:
        """Takes in a look at all servers; returns the mark.

        Args:
            claimed: newest claimed tick, as it was read before the look.
            sights: by address, of the servers that answered.
            failures: by address, why the others did not.
            now_seconds: on a monotonic clock.
        """
        for address, sight in sights.items():
            self.held[address] = self.held.get(address, HeldTicks()).seen(sight, claimed)
        for address in failures:
            # What it has when it answers again is looked at anew.
            self.held.pop(address, None)
        self._saw(claimed, now_seconds)
        reasons = {address: INCOMPLETE for address, each in self.held.items() if not each.mark}
        reasons.update(failures)
        marks = {address: None if address in reasons else self.held[address].mark
                 for address in (*self.held, *failures)}  # fmt: skip
        found = table_mark(marks, self._claims, now_seconds, self.lag_seconds_max, before=self.mark)
        self.mark = max(self.mark, found.tick or 0)
        return replace(found, left_out={**found.left_out, **reasons})

    def _saw(self, claimed: int, now_seconds: float) -> None:
        """Keeps the claims that say how long a server lacks one: the newest, and those before that
        were seen not long ago."""
        oldest = now_seconds - 2 * self.lag_seconds_max
        last = self._claims[-1:]
        self._claims = [each for each in self._claims[:-1] if each.seen_seconds >= oldest] + last
        if not last or last[0].tick < claimed:
            self._claims.append(Claimed(claimed, now_seconds))


def look_at_servers(
    store: ShardStore, table: str, *, seconds: float = ANSWER_SECONDS
) -> tuple[dict[str, ServerSight], dict[str, str]]:
    """Looks at all replicas of a shard at once; returns sights, and failures, by address. Blocking.

    Args:
        seconds: longest wait. A server that hangs does not hold up the looks at the others.
    """
    answers: dict[str, ServerSight | str] = {}

    def look(replica: Replica) -> None:
        try:
            answers[str(replica)] = store.answer_of(
                replica, lambda it: _patient_sight(it.client, store.database, table)
            )
        except NotStored as error:
            answers[str(replica)] = error.problem.text

    threads = [Thread(target=look, args=(each,), daemon=True) for each in store.replicas]
    for thread in threads:
        thread.start()
    deadline = monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, deadline - monotonic()))
    found = dict(answers)
    silent = f"has not answered for {seconds:g} s"
    failures = {
        address: text
        for address in map(str, store.replicas)
        if isinstance(text := found.get(address, silent), str)
    }
    return {at: sight for at, sight in found.items() if isinstance(sight, ServerSight)}, failures


def _patient_sight(client: Client, database: str, table: str) -> ServerSight:
    """Looks at a server, and again if it is not complete: a server that fetches the part of a tick
    is seldom caught at it twice."""
    for _ in range(LOOKS - 1):
        sight = read_sight(client, database, table)
        if sight.has_rows and sight.has_updates:
            return sight
        sleep(LOOK_PAUSE_SECONDS)
    return read_sight(client, database, table)
