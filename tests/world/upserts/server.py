"""Server of ClickHouse with the tables of an upsert table: inserts make a part for each day, and
mutations bring ends into rows.

As 18.16 does it (decision 0102): a mutation leaves out the last part of each day that a quorum
insert made; each replica runs the sub-queries by itself, and the first one that is done with a part
hands it to all others. A partition that is dropped goes from one server after another, and the
hashes of its blocks with it.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from clickhouse_driver.errors import ServerException

from aggregator.tables.table_schema import COORDINATES, Column
from aggregator.upsert.table_names import ROW_ID, UNTIL, UPSERT_COLUMNS
from aggregator.upsert.tick import OPEN
from aggregator.upsert.upsert_schema import PUBLISHED, TICKS_COLUMNS, UPDATES_COLUMNS
from tests.world.sinks.keeper import Keeper, KeptTable, Part
from tests.world.sinks.server import Server
from tests.world.upserts.questions import answered
from tests.world.upserts.stored import (
    ROWS,
    TICKS,
    UPDATES,
    USER_COLUMNS,
    UpsertRow,
    upsert_rows_of,
)
from tests.world.virtual_loop import VirtualLoop

WINDOW_SECONDS = 604_800.0
LEAST = re.compile(rf"{UNTIL} = least\({UNTIL}, toUInt32\((\d+)\)\)")
SETTLED_ENDS = re.compile(r"IN \(SELECT row_id FROM \S+ WHERE tick > (\d+) AND tick <= (\d+)\)$")
GUARD = re.compile(r"throwIf\(.* AND tick <= \d+\) < (\d+) AND ")
DROP = re.compile(r"ALTER TABLE `[^`]+`\.`([^`]+)` DROP PARTITION (\d+)$")
OPEN_ROWS = re.compile(rf"{UNTIL} > (\d+) AND {ROW_ID} < (\d+)")
RETRY_SECONDS = 0.5
CONSISTENT = "select_sequential_consistency"
LACKS_QUORUM_PART = 289


@dataclass(frozen=True, slots=True)
class Mutation:
    """Mutation of the table of rows, as its statement says.

    Args:
        parts: number of parts that the log had, which it is about.
        ends_least: ends that a server needs before it may begin; 0: none.
    """

    parts: int
    until: int
    after: int
    up_to: int
    row_id_end: int
    ends_least: int

    @classmethod
    def of(cls, statement: str, parts: int) -> Mutation:
        least, ends = LEAST.search(statement), SETTLED_ENDS.search(statement)
        rows, guard = OPEN_ROWS.search(statement), GUARD.search(statement)
        assert least and ends and rows, statement
        return cls(
            parts, int(least[1]), int(ends[1]), int(ends[2]), int(rows[2]),
            int(guard[1]) if guard else 0,
        )  # fmt: skip


class UpsertKeeper(Keeper):
    """Keeper of the shard of an upsert table."""

    def __init__(self) -> None:
        own = {
            name: Column(name, kind, *(("DEFAULT", str(OPEN)) if name == UNTIL else ()))
            for name, kind in UPSERT_COLUMNS.items()
        }
        columns = {
            ROWS: (*_columns({**USER_COLUMNS, **COORDINATES}), *own.values()),
            UPDATES: _columns(UPDATES_COLUMNS),
            TICKS: _columns(TICKS_COLUMNS),
        }
        super().__init__(
            [KeptTable(name, WINDOW_SECONDS, columns=of) for name, of in columns.items()]
        )
        self.mutations: list[Mutation] = []
        self.results: dict[tuple[Part, int], Mapping[int, int]] = {}
        """For each part and mutation, what the first server that was done made of it."""
        self.numbers: dict[Part, int] = {}
        """Number of each part in the log of rows."""
        self.dropped: set[Part] = set()
        """Parts of partitions that were dropped; servers may have some of them still."""

    def last_parts(self) -> set[Part]:
        """Returns the last part of each day, which mutations leave out."""
        return set({part.rows[0].day: part for part in self.tables[ROWS].log}.values())  # type: ignore[attr-defined]

    def commit(self, table: KeptTable, part: Part, replica: str, quorum: int, now: float) -> None:
        if table.name == ROWS:
            self.numbers[part] = len(table.log)
        super().commit(table, part, replica, quorum, now)

    def drop(self, table: str, partition: int) -> None:
        """Drops the parts of a partition that are there now."""
        kept = self.tables[table]
        for part in kept.log:
            if part.rows[0].partition == partition:  # type: ignore[attr-defined]
                self.dropped.add(part)
                kept.blocks.pop(part.block_id, None)
        self.wake()

    def can_lose(self, replica: str) -> bool:
        are_closed = all(it.quorum is None for it in self.tables.values())
        return are_closed and all(
            holders - {replica}
            for part, holders in self.holders.items()
            if part not in self.dropped
        )


def _columns(types: Mapping[str, str]) -> tuple[Column, ...]:
    return tuple(Column(name, kind) for name, kind in types.items())


class UpsertServer(Server):
    """Server with its disk."""

    keeper: UpsertKeeper

    def __init__(
        self, name: str, keeper: UpsertKeeper, loop: VirtualLoop, dice: random.Random
    ) -> None:
        self.until: dict[Part, dict[int, int]] = {}
        """Values that mutations have written into a part, by row id."""
        self.done: dict[Part, int] = {}
        """Number of the mutations that a part has behind it."""
        self.started_at = self.made_at = 0.0
        self.lagging: set[str] = set()
        """Tables of which it fetches no part for a while."""
        self.mutates_at = 0.0
        """Time up to which its mutations wait for others."""
        super().__init__(name, keeper, loop, dice)

    def start(self) -> None:
        if not self.is_up:
            self.started_at = self.loop.time()
            super().start()
            self.begin(self._mutate())

    def rebuild(self) -> bool:
        if self.keeper.can_lose(self.name):
            self.until, self.done, self.made_at = {}, {}, self.loop.time()
            self.replica_name = f"{self.name}-{self.made_at:.3f}"
        return super().rebuild()

    # -- queries

    def answered(
        self, query: str, parameters: Mapping[str, Any], settings: Mapping[str, Any]
    ) -> list[tuple[Any, ...]]:
        if query.startswith("ALTER TABLE"):
            if not self.has_session:
                raise ServerException("Session with ZooKeeper expired", 999)
            if dropped := DROP.match(query):
                self.keeper.drop(dropped[1], int(dropped[2]))
                return []
            mutation = Mutation.of(query, len(self.keeper.tables[ROWS].log))
            self.keeper.mutations.append(mutation)
            self.keeper.wake()
            return []
        return answered(self, query, parameters, is_consistent=bool(settings.get(CONSISTENT)))

    def rows(self, table: str, *, is_consistent: bool = False) -> Iterable[UpsertRow]:
        """Returns the rows of a table on the disk. Raises ServerException.

        Args:
            is_consistent: refuse if the last quorum part is missing, and leave out one whose quorum
                is open.
        """
        self.check_table(table)
        kept = self.keeper.tables[table]
        parts = self.parts[table]
        hidden = None
        if is_consistent:
            if not self.has_session:
                raise ServerException("Session with ZooKeeper expired", 999)
            hidden = kept.quorum.part if kept.quorum else None
            last = next((it for it in reversed(kept.log) if it is not hidden), None)
            if last is not None and last not in parts:
                raise ServerException("replica is not in quorum", LACKS_QUORUM_PART)
        found: list[UpsertRow] = []
        for part in parts:
            if part is not hidden:
                found += part.rows  # type: ignore[arg-type]
        return found

    def until_of(self, part: Part, row: UpsertRow) -> int:
        """Returns the value of _until of a row."""
        own = int(row.values.get(UNTIL, OPEN))
        return self.until.get(part, {}).get(row.values[ROW_ID], own)

    def untils(self) -> dict[int, int]:
        """Returns _until of all rows on the disk, by row id."""
        return {
            row.values[ROW_ID]: self.until_of(part, row)  # type: ignore[attr-defined, arg-type]
            for part in self.parts[ROWS]
            for row in part.rows
        }

    def ends_between(self, after: int, up_to: int) -> list[UpsertRow]:
        """Returns the ends of the ticks in (after, up_to] that it has."""
        return [it for it in self.rows(UPDATES) if after < it.values["tick"] <= up_to]

    def horizon(self) -> int:
        """Returns the newest horizon that it knows; 0 without any."""
        found = (it.values["tick"] for it in self.rows(TICKS) if what_of(it) == "horizon")
        return max(found, default=0)

    def parts_to_do(self) -> list[int]:
        """Returns for each mutation that is not done the number of parts that lack it."""
        kept = self.keeper
        found = [
            sum(
                self.done.get(part, 0) <= number and kept.numbers.get(part, of.parts) < of.parts
                for part in self.parts[ROWS]
            )
            for number, of in enumerate(kept.mutations)
        ]
        return [each for each in found if each]

    # -- inserts

    def parts_of(self, table: str, block_id: str, data: bytes) -> list[Part]:
        by_day: dict[int, list[UpsertRow]] = {}
        for row in upsert_rows_of(data):
            by_day.setdefault(row.day, []).append(row)
        return [
            Part(
                self.keeper.new_name(),
                f"{day}_{hashlib.sha256(repr([it.values for it in rows]).encode()).hexdigest()}",
                tuple(rows),  # type: ignore[arg-type]
            )
            for day, rows in sorted(by_day.items())
        ]

    # -- replication

    @property
    def is_filling(self) -> bool:
        """True while a new disk lacks parts of the log."""
        return self.made_at > 0 and any(map(self._is_behind, self.keeper.tables.values()))

    def _pull(self, table: KeptTable) -> None:
        super()._pull(table)
        parts, queue, kept = self.parts[table.name], self.queues[table.name], self.keeper
        for part in kept.dropped.intersection(parts):
            del parts[part]
            kept.holders[part].discard(self.name)
        self.queues[table.name] = [it for it in queue if it not in kept.dropped]

    async def _fetch(self, table: KeptTable, part: Part) -> None:
        if table.name in self.lagging or part in self.keeper.dropped:
            await self.step(0.001, 0.02)
            return
        await super()._fetch(table, part)
        if self.made_at and part in self.parts[table.name]:
            self._take_results(part)

    def _take_results(self, part: Part) -> None:
        """Has a part that a new disk gets be as far as others have it: it is fetched so."""
        kept = self.keeper
        for number, of in enumerate(kept.mutations):
            if part in kept.numbers and kept.numbers[part] < of.parts:
                if (part, number) not in kept.results:
                    return
                self.until.setdefault(part, {}).update(kept.results[part, number])
            self.done[part] = number + 1

    # -- mutations

    async def _mutate(self) -> None:
        changed = asyncio.Event()
        self.keeper.woken.append(changed.set)
        try:
            while True:
                changed.clear()
                has_waiting = False
                for part in list(self.parts[ROWS]):
                    if self._is_due(part):
                        await self.step(0.001, 0.02)
                        has_waiting |= not self._mutated(part)
                if not has_waiting:
                    await changed.wait()
                elif not changed.is_set():
                    await asyncio.sleep(RETRY_SECONDS)
                await self.step(0.001, 0.01)
        finally:
            self.keeper.woken.remove(changed.set)

    def _is_due(self, part: Part) -> bool:
        is_behind = self.done.get(part, 0) < len(self.keeper.mutations)
        return is_behind and part in self.keeper.numbers and part not in self.keeper.last_parts()

    def _mutated(self, part: Part) -> bool:
        """Has a part take all mutations that it lacks; returns False if it has to try again."""
        kept = self.keeper
        if not self.has_session or self.loop.time() < self.mutates_at:
            return False
        for number in range(self.done.get(part, 0), len(kept.mutations)):
            of = kept.mutations[number]
            if kept.numbers[part] < of.parts:
                key = part, number
                if key not in kept.results:
                    lacks_ends = len(self.ends_between(of.after, of.up_to)) < of.ends_least
                    if lacks_ends and self.horizon() <= of.after:
                        return False
                    kept.results[key] = self._result(part, of)
                self.until.setdefault(part, {}).update(kept.results[key])
            self.done[part] = number + 1
        return True

    def _result(self, part: Part, of: Mutation) -> Mapping[int, int]:
        ended = {it.values["row_id"] for it in self.ends_between(of.after, of.up_to)}
        found = {}
        for row in part.rows:
            row_id, until = row.values[ROW_ID], self.until_of(part, row)  # type: ignore[attr-defined, arg-type]
            if until > of.up_to and row_id < of.row_id_end and row_id in ended:
                found[row_id] = min(until, of.until)
        return found


def what_of(row: UpsertRow) -> str:
    """Returns the kind of a row of the table of ticks."""
    return PUBLISHED[row.values["what"] - 1]
