"""Ticks and records for tests of rows, and the rules of their table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from aggregator.formats.json_documents import decode
from aggregator.formats.record_fields import split
from aggregator.tables.table_schema import COORDINATES, Column, TableSchema
from aggregator.upsert.row_facts import LaneRecords, RowReading
from aggregator.upsert.table_names import UPSERT_COLUMNS
from aggregator.upsert.tick import Lane, LaneRange, Tick
from replicator.batches.records import opened
from tests.replicator.batches.source_batches import Record, encoded

NOW_MS = 1_790_000_000_000
HOUR_MS = 3_600_000
LANES = (
    Lane("west regional", "orders", UUID(int=1), 0),
    Lane("west regional", "orders", UUID(int=1), 1),
    Lane("east regional", "returns", UUID(int=2), 0),
)


@dataclass(frozen=True)
class Rules:
    """Settings of a table of rows."""

    name: str = "orders"
    primary_key: Sequence[str] = ("id",)
    newest_column: str | None = None
    delete_column: str | None = None
    empty_value_deletes: bool = False
    retention_hours: float = 336.0
    future_seconds_max: float = 3600.0


def tick_of(*ranges: tuple[int, int], **options) -> Tick:
    """Returns a tick of the first lanes."""
    values = {"rows_per_record": 1, "block_rows": 65_536, **options}
    lanes = LANES[: len(ranges)]
    return Tick(1, 7, NOW_MS, lanes, tuple(LaneRange(*each) for each in ranges), **values)


def rows_schema(**columns: str) -> TableSchema:
    """Returns the schema of a table of rows with these columns of the user."""
    types = {**columns, **COORDINATES, **UPSERT_COLUMNS}
    return TableSchema("orders__rows", tuple(Column(name, kind) for name, kind in types.items()))


def records(
    lane: int,
    first: int,
    *values: bytes | None,
    keys: Sequence[bytes | None] = (),
    times: Sequence[int] = (),
) -> LaneRecords:
    """Returns records of a lane with these values at consecutive offsets."""
    made = [
        Record(first + at, times[at] if times else NOW_MS, keys[at] if keys else b"key", value)
        for at, value in enumerate(values)
    ]
    return LaneRecords(lane, split(opened(encoded(made), [0])))


def reading(tick: Tick, rules: Rules, schema: TableSchema) -> RowReading:
    """Returns the reading of JSON records."""
    return RowReading(tick, rules, schema, decode, is_json=True)
