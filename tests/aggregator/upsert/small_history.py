"""A small history of two upsert tables, as rows of the tables that keep them and by brute force.

It is made by hand, without the code that keeps upsert tables: what a query must answer at a mark is
the largest record of each key among those of the ticks up to the mark.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from aggregator.upsert.seen_rows import ReadMark, UpsertNames
from aggregator.upsert.tick import OPEN, ROW_BITS

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
KNOWN = {table: UpsertNames(table, tuple(columns)) for table, columns in COLUMNS.items()}
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

    def statements(self, database: str) -> Iterable[str]:
        """Yields statements that make the tables and their rows."""
        for table, versions in self.versions.items():
            yield from _tables(f"{database}.{table}", COLUMNS[table])
            rows = [_row_text(each) for each in versions]
            yield _insert(f"{database}.{table}__rows", rows)
            ends = [
                f"({each.row_id}~ {each.end[0]}~ {each.end[2]}~ '{each.end[1]}'~ 0~ "
                f"{each.order[1]}~ '{_hash(each)}')"
                for each in versions
                if each.end
            ]
            yield _insert(f"{database}.{table}__updates", ends)
            ticks = [f"(1~ {tick}~ 'claim'~ {tick * 1000})" for tick in range(1, TICKS + 1)]
            ticks += [f"(1~ {tick}~ 'settled'~ {tick * 1000})" for tick in SETTLED]
            names = "(generation, tick, what, time_ms)"
            yield _insert(f"{database}.{table}__ticks {names}", ticks)
        yield (
            f"CREATE TABLE {database}.airports (carrier String, city String) ENGINE = MergeTree "
            "ORDER BY carrier"
        )
        airports = [f"('{carrier}'~ '{city}')" for carrier, city in AIRPORTS]
        yield _insert(f"{database}.airports", airports)


_COORDINATES = {
    "_cluster": "String",
    "_topic": "String",
    "_partition": "UInt32",
    "_offset": "UInt64",
    "_row": "UInt32",
}
_OWN = {
    "_row_id": "UInt64",
    "_until": "UInt32",
    "_deleted": "UInt8",
    "_key": "FixedString(16)",
    "_order": "Int64",
    "_time": "DateTime",
}


def _insert(target: str, rows: list[str]) -> str:
    """Returns a statement that needs no data from its client, which 18.16 would wait for."""
    items = ", ".join(f"row.{number}" for number in range(1, rows[0].count("~") + 2))
    texts = ", ".join(rows).replace("~", ",")
    return f"INSERT INTO {target} SELECT {items} FROM (SELECT arrayJoin([{texts}]) AS row)"


def _tables(table: str, columns: Mapping[str, str]) -> Iterable[str]:
    texts = [f"{name} {kind}" for name, kind in {**columns, **_COORDINATES, **_OWN}.items()]
    key = next(iter(columns))
    yield (
        f"CREATE TABLE {table}__rows ({', '.join(texts)}) ENGINE = MergeTree "
        f"PARTITION BY toYYYYMMDD(_time) ORDER BY ({key}, _row_id)"
    )
    yield (
        f"CREATE TABLE {table}__updates (row_id UInt64, tick UInt32, by_row_id UInt64, "
        "kind Enum8('superseded' = 1, 'late' = 2, 'deleted' = 3), lane UInt32, offset UInt64, "
        "key FixedString(16)) ENGINE = ReplacingMergeTree PARTITION BY intDiv(tick, 3600) "
        "ORDER BY (tick, row_id)"
    )
    yield (
        f"CREATE TABLE {table}__ticks (generation UInt32, tick UInt32, what String, "
        "time_ms UInt64, ends Array(UInt64), rows UInt64, events UInt64, expired UInt64, "
        "letters UInt64) ENGINE = MergeTree ORDER BY (what, generation, tick)"
    )


def _row_text(each: Version) -> str:
    values = [_text(value) for value in each.values.values()]
    until = each.tick if each.is_delete else _until(each)
    time = f"toDateTime('2026-11-0{1 + each.tick % 3} 00:00:00')"
    place = ["'west'", "'flights'", "0", str(each.order[1]), "0"]
    own = [str(each.row_id), str(until), str(int(each.is_delete)), f"'{_hash(each)}'"]
    return f"({'~ '.join([*values, *place, *own, str(each.order[0]), time])})"


def _until(each: Version) -> int:
    """Returns the first settle point at or after the end, as settling leaves it."""
    end = each.end[0] if each.end else OPEN
    return min((point for point in SETTLED if point >= end), default=OPEN)


def _hash(each: Version) -> str:
    key = str(next(iter(each.values.values())))
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def _text(value: object) -> str:
    if isinstance(value, list):
        return f"CAST({value} AS Array(UInt8))"
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
