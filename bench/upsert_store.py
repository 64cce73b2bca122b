"""Tables of all systems on an engine, which the cases of upsert tables fill, settle and ask."""

from __future__ import annotations

import time
from threading import Lock
from typing import NamedTuple

from aggregator.upsert.seen_rows import ReadMark
from aggregator.upsert.settling import open_condition, update_statement
from aggregator.upsert.table_names import rows_table, updates_table
from bench.upsert_engines import Connection, Engine
from bench.upsert_systems import BEST, DATABASE, SYSTEMS, TABLE, TICK_ROWS, Load, statements

BLOCK_ROWS = 200_000
MUTATION_SECONDS_MAX, MERGES_SECONDS_MAX = 900.0, 300.0
LOOK_SECONDS = 0.05
ROWS_TABLE, UPDATES_TABLE = rows_table(TABLE.name), updates_table(TABLE.name)


class Settled(NamedTuple):
    """Settling of ends of rows, and what it took of the engine."""

    ends: int
    seconds: float
    cpu_seconds: float
    peak_rss_mb: float


class Store:
    """Tables on an engine; those that it had before are dropped.

    Args:
        is_ours_only: only the tables of Sluice are filled.
    """

    def __init__(self, engine: Engine, load: Load, *, is_ours_only: bool = False) -> None:
        self.engine, self.load = engine, load
        self.connection = engine.connect()
        self.systems = [each for each in SYSTEMS if each != BEST or engine.has_best]
        self.rows = 0
        self.settled = 0
        self._is_ours_only = is_ours_only
        self._lock = Lock()
        found = f"SELECT name FROM system.tables WHERE database = '{DATABASE}'"
        for (name,) in self.connection.ask(found):
            self.connection.ask(f"DROP TABLE {name}")
        for statement in statements(engine.traits, has_best=engine.has_best):
            self.connection.ask(statement)

    def fill(self) -> None:
        """Adds the base."""
        # A key has one row in a block at most, as its row and that which ends it collapse in order.
        block = min(BLOCK_ROWS, self.load.keys)
        for first in range(0, self.load.rows, block):
            self.add(self.connection, min(block, self.load.rows - first))
        if not self._is_ours_only:
            self.connection.ask(self.load.winners())

    def add(self, connection: Connection, count: int) -> None:
        """Adds the next rows to all tables."""
        for statement in self.load.inserts(self.rows, count, has_best=self.engine.has_best):
            if not self._is_ours_only or f"INTO {TABLE.name}__" in statement:
                connection.ask(statement)
        with self._lock:
            self.rows += count

    def mark(self) -> ReadMark:
        """Returns the newest mark."""
        with self._lock:
            tick = self.rows // TICK_ROWS
            return ReadMark(tick, self.settled, tick)

    def settle(self, connection: Connection) -> int:
        """Settles to the newest tick, and returns the ends."""
        tick, after = self.mark().tick, self.settled
        [(ends,)] = connection.ask(
            f"SELECT uniqExact(row_id) FROM {UPDATES_TABLE} WHERE tick > {after} AND tick <= {tick}"
        )
        connection.ask(update_statement(DATABASE, TABLE.name, after, tick, int(ends), 1))
        none_left(
            connection, "system.mutations WHERE is_done = 0", within_seconds=MUTATION_SECONDS_MAX
        )
        condition = open_condition(DATABASE, TABLE.name, after, tick)
        [(left,)] = connection.ask(f"SELECT count() FROM {ROWS_TABLE} WHERE {condition}")
        assert left == 0, f"{left} rows were left open"
        with self._lock:
            self.settled = tick
        return int(ends)

    def timed_settle(self) -> Settled:
        """Settles all that is open."""
        tree = self.engine.tree()
        cpu, began = tree.cpu_seconds(), time.monotonic()
        ends = self.settle(self.connection)
        seconds, cpu = time.monotonic() - began, tree.cpu_seconds() - cpu
        return Settled(ends, seconds, cpu, tree.peak_rss_mb)

    def wait_merged(self) -> None:
        """Waits until no merges of parts run, whose work would be counted else."""
        none_left(self.connection, "system.merges", within_seconds=MERGES_SECONDS_MAX)

    def stored_bytes(self, *tables: str) -> int:
        """Returns the bytes on disk of tables."""
        names = ", ".join(f"'{each}'" for each in tables)
        [(size,)] = self.connection.ask(
            f"SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND table IN ({names})"
        )
        return int(size)

    def stored(self) -> tuple[int, float]:
        """Returns rows and bytes per row of the table of rows, with its ends."""
        [(rows,)] = self.connection.ask(f"SELECT count() FROM {ROWS_TABLE}")
        return int(rows), self.stored_bytes(ROWS_TABLE, UPDATES_TABLE) / int(rows)


def none_left(connection: Connection, what: str, *, within_seconds: float) -> None:
    """Waits until a table has no rows of a kind. Raises TimeoutError.

    Args:
        what: table and condition.
    """
    until = time.monotonic() + within_seconds
    while connection.ask(f"SELECT count() FROM {what}") != [(0,)]:
        if time.monotonic() > until:
            raise TimeoutError(f"there are still rows: {what}")
        time.sleep(LOOK_SECONDS)
