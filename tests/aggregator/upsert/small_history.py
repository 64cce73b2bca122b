"""A small history of two upsert tables, as rows of the tables that keep them and by brute force.

It is made by hand, without the code that keeps upsert tables: what a query must answer at a mark is
the largest record of each key among those of the ticks up to the mark.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from aggregator.upsert.seen_rows import ReadMark, UpsertNames
from aggregator.upsert.tick import OPEN, ROW_BITS
from aggregator.upsert.upsert_schema import ServerTraits, store_tables

TICKS = 12
SETTLED = (4, 8)
"""Settle points of the history; the table of the ends has the ends of all ticks."""
FRESH = ReadMark(tick=12, settled=8, known=12)
AT_SETTLED = ReadMark(tick=8, settled=8, known=8)
EARLIER = ReadMark(tick=6, settled=4, known=12)
COLUMNS = {
    "flights": {
        "flight": "UInt32",
        "carrier": "String",
        "delay": "Int32",
        "stops": "Array(UInt8)",
    },
    "carriers": {"carrier": "String", "title": "String", "rank": "Int32"},
}
KNOWN = {
    table: UpsertNames(table, tuple(columns), key=(next(iter(columns)),))
    for table, columns in COLUMNS.items()
}
AIRPORTS = [("AA", "Boston"), ("BB", "Chicago"), ("ZZ", "Denver")]
"""Rows of an append table."""
Row = dict[str, Any]


@dataclass(slots=True)
class Version:
    """Record of a key."""

    values: Row
    tick: int
    order: tuple[int, int]
    row_id: int
    is_delete: bool
    end: tuple[int, str, int] | None = None
    """Tick, kind, and the row that ended it."""

    @property
    def row(self) -> Row:
        """The row as a query of all columns sees it, virtual ones included."""
        return {
            **self.values,
            "$validFrom": self.tick,
            "$kafkaOffset": self.order[1],
            "$rowId": self.row_id,
            "$isDelete": int(self.is_delete),
        }


class Sight(NamedTuple):
    """Rows that a query sees: those of each upsert table, and those of the append table."""

    flights: list[Row]
    carriers: list[Row]
    airports: list[Row]


@dataclass(slots=True)
class SmallHistory:
    """Versions of both tables."""

    versions: dict[str, list[Version]] = field(default_factory=dict)

    @classmethod
    def make(cls, seed: int = 7) -> SmallHistory:
        chance = random.Random(seed)
        history = cls()
        history.add("flights", lambda: _flight(chance), 90, chance)
        history.add("carriers", lambda: _carrier(chance), 24, chance)
        return history

    def add(self, table: str, make: Callable[[], Row], count: int, chance: random.Random) -> None:
        key = next(iter(COLUMNS[table]))
        ticks = sorted(chance.randint(1, TICKS) for _ in range(count))
        number = dict.fromkeys(range(TICKS + 1), 0)
        versions = []
        for offset, tick in enumerate(ticks):
            row_id = (tick << ROW_BITS) + number[tick]
            number[tick] += 1
            order = (tick * 10 + chance.randint(-30, 30), offset)
            versions.append(Version(make(), tick, order, row_id, chance.random() < 0.15))
        _end_all(versions, key)
        self.versions[table] = versions

    def seen(self, mark: ReadMark) -> Sight:
        """Returns what a query sees at a mark, by brute force."""
        found = {}
        for table, versions in self.versions.items():
            key = next(iter(COLUMNS[table]))
            best: dict[Any, Version] = {}
            for each in versions:
                if each.tick <= mark.tick:
                    other = best.get(each.values[key])
                    if other is None or each.order > other.order:
                        best[each.values[key]] = each
            rows = []
            for each in best.values():
                if not each.is_delete:
                    until = each.end[0] if each.end and each.end[0] <= mark.known else None
                    rows.append({**each.row, "$validUntil": until})
            found[table] = rows
        airports = [{"carrier": carrier, "city": city} for carrier, city in AIRPORTS]
        return Sight(found["flights"], found["carriers"], airports)

    def all_versions(self, mark: ReadMark) -> list[Row]:
        """Returns all versions of flights up to a mark, with what ended them by then."""
        rows = []
        for each in self.versions["flights"]:
            if each.tick <= mark.tick:
                end = each.end if each.end and each.end[0] <= mark.tick else None
                until = each.tick if each.is_delete else end and end[0]
                rows.append(
                    {
                        **each.row,
                        "$validUntil": until,
                        "$endKind": end and end[1],
                        "$endedBy": end and end[2],
                    }
                )
        return rows

    def statements(self, database: str) -> Iterator[str]:
        """Yields statements that make the tables on a server that is alone, and their rows."""
        yield from tables(database, ServerTraits())
        yield from self.rows(database, servers=("",))

    def rows(self, database: str, servers: Sequence[str]) -> Iterator[str]:
        """Yields statements that insert the rows.

        Args:
            servers: that are settled.
        """
        for table, versions in self.versions.items():
            rows = [_row(each) for each in versions]
            yield _insert(f"{database}.{table}__rows", rows)
            ends = [
                (each.row_id, each.end[0], each.end[2], each.end[1], 0, each.order[1], _hash(each))
                for each in versions
                if each.end
            ]
            yield _insert(f"{database}.{table}__updates", ends)
            claims = [(1, tick, "claim", tick * 1000, ()) for tick in range(1, TICKS + 1)]
            settled = [(1, tick, "settled", tick * 1000, tuple(servers)) for tick in SETTLED]
            names = "(generation, tick, what, time_ms, servers)"
            yield _insert(f"{database}.{table}__ticks {names}", [*claims, *settled])
        yield _insert(f"{database}.airports", AIRPORTS)


def ordinary_tables(database: str, sight: Sight) -> Iterator[str]:
    """Yields statements that make ordinary tables of what is seen at a mark."""
    some = {"flights": sight.flights, "carriers": sight.carriers}
    for table, columns in COLUMNS.items():
        texts = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        key = next(iter(columns))
        yield f"CREATE TABLE {database}.{table} ({texts}) ENGINE = MergeTree ORDER BY {key}"
        yield _insert(
            f"{database}.{table}", [[row[name] for name in columns] for row in some[table]]
        )
    yield (
        f"CREATE TABLE {database}.airports (carrier String, city String) ENGINE = MergeTree "
        "ORDER BY carrier"
    )
    yield _insert(f"{database}.airports", AIRPORTS)


class _Rules(NamedTuple):
    """Settings of an upsert table that its tables follow from."""

    name: str
    columns: dict[str, str]
    sorted_by: tuple[str, ...]
    retention_hours: float = 336.0


def tables(database: str, traits: ServerTraits) -> Iterator[str]:
    """Yields statements that make the tables on a server."""
    for table, columns in COLUMNS.items():
        rules = _Rules(table, columns, (next(iter(columns)),))
        for each in store_tables(rules):
            yield each.create(database, traits)
    yield (
        f"CREATE TABLE {database}.airports (carrier String, city String) ENGINE = MergeTree "
        "ORDER BY carrier"
    )


def _insert(target: str, rows: Sequence[Sequence[object]]) -> str:
    """Returns a statement that needs no data from its client, which 18.16 would wait for."""
    items = ", ".join(f"row.{number}" for number in range(1, len(rows[0]) + 1))
    texts = ", ".join(f"({', '.join(map(_text, row))})" for row in rows)
    return f"INSERT INTO {target} SELECT {items} FROM (SELECT arrayJoin([{texts}]) AS row)"


def _row(each: Version) -> tuple[object, ...]:
    until = each.tick if each.is_delete else _until(each)
    time = datetime(2026, 11, 1 + each.tick % 3)
    place = ("west", "flights", 0, each.order[1], 0)
    own = (each.row_id, until, int(each.is_delete), _hash(each), each.order[0], time)
    return (*each.values.values(), *place, *own)


def _until(each: Version) -> int:
    """Returns the first settle point at or after the end, as settling leaves it."""
    end = each.end[0] if each.end else OPEN
    return min((point for point in SETTLED if point >= end), default=OPEN)


def _hash(each: Version) -> str:
    key = str(next(iter(each.values.values())))
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        kind = "UInt8" if isinstance(value, list) else "String"
        return f"CAST({list(value)} AS Array({kind}))"
    if isinstance(value, datetime):
        return f"toDateTime('{value}')"
    return f"'{value}'" if isinstance(value, str) else str(value)


def _end_all(versions: list[Version], key: str) -> None:
    """Ends each version that another one of its key takes the place of, tick by tick."""
    newest: dict[Any, Version] = {}
    for tick in range(1, TICKS + 1):
        several: dict[Any, list[Version]] = {}
        for each in versions:
            if each.tick == tick:
                several.setdefault(each.values[key], []).append(each)
        for value, some in several.items():
            before = newest.get(value)
            best = max([*some, *([before] if before else [])], key=lambda each: each.order)
            for each in [*some, *([before] if before else [])]:
                if each is best or each.is_delete or each.end:
                    continue
                newer = "deleted" if best.is_delete else "superseded"
                each.end = (tick, "late" if best is before else newer, best.row_id)
            newest[value] = best


def _flight(chance: random.Random) -> Row:
    return {
        "flight": chance.randint(1, 20),
        "carrier": chance.choice(["AA", "BB", "CC"]),
        "delay": chance.randint(-10, 90),
        "stops": [chance.randint(1, 5) for _ in range(chance.randint(0, 3))],
    }


def _carrier(chance: random.Random) -> Row:
    carrier = chance.choice(["AA", "BB", "CC", "DD"])
    return {
        "carrier": carrier,
        "title": f"{carrier} {chance.randint(1, 9)}",
        "rank": chance.randint(1, 5),
    }
