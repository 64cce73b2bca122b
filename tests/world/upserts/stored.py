"""Rows of the three tables of an upsert table, read from the bytes that the product sends."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aggregator.upsert.table_names import TIME, rows_table, ticks_table, updates_table
from aggregator.upsert.visibility import day_of

TABLE = "flights"
ROWS, UPDATES, TICKS = rows_table(TABLE), updates_table(TABLE), ticks_table(TABLE)
USER_COLUMNS = {"id": "UInt64", "version": "UInt64", "name": "String", "gone": "UInt8"}
BLOCK_INFO_BYTES = 8
NUMBERS = {
    "UInt8": struct.Struct("<B"),
    "Enum8": struct.Struct("<b"),
    "UInt32": struct.Struct("<I"),
    "DateTime": struct.Struct("<I"),
    "UInt64": struct.Struct("<Q"),
    "Int64": struct.Struct("<q"),
}
DAY_SECONDS = 86_400
TICKS_PER_PARTITION = 4
"""Ticks of a partition of ends: few, so that some of them are dropped."""


@dataclass(frozen=True, slots=True, eq=False)
class UpsertRow:
    """Row of any of the tables, by column; columns that the insert left out are missing."""

    values: Mapping[str, Any]

    @property
    def identity(self) -> UpsertRow:
        return self

    @property
    def day(self) -> int:
        """Day of UTC since 1970 of a row of the table of rows; 0 of other tables."""
        return int(self.values.get(TIME, 0)) // DAY_SECONDS

    @property
    def partition(self) -> int:
        """Partition as statements name it: YYYYMMDD of a row, that of the tick of an end."""
        if TIME in self.values:
            return day_of(self.day * DAY_SECONDS)
        return int(self.values["tick"]) // TICKS_PER_PARTITION


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, BLOCK_INFO_BYTES

    def bytes_of(self, size: int) -> bytes:
        self._at += size
        return self._data[self._at - size : self._at]

    def varint(self) -> int:
        value = shift = 0
        while True:
            octet = self._data[self._at]
            self._at += 1
            value |= (octet & 127) << shift
            if octet < 128:
                return value
            shift += 7

    def column(self, kind: str, count: int) -> list[Any]:
        if kind.startswith("Array("):
            ends = [0, *self.column("UInt64", count)]
            flat = self.column(kind[len("Array(") : -1], ends[-1])
            return [flat[ends[at] : ends[at + 1]] for at in range(count)]
        if kind == "String":
            return [self.bytes_of(self.varint()).decode() for _ in range(count)]
        if kind.startswith("FixedString("):
            return [self.bytes_of(int(kind[len("FixedString(") : -1])) for _ in range(count)]
        number = NUMBERS[kind.partition("(")[0]]
        return [number.unpack(self.bytes_of(number.size))[0] for _ in range(count)]

    @property
    def is_at_end(self) -> bool:
        return self._at == len(self._data)


def upsert_rows_of(data: bytes) -> list[UpsertRow]:
    """Returns the rows of a block."""
    reader = _Reader(data)
    width, height = reader.varint(), reader.varint()
    columns: dict[str, list[Any]] = {}
    for _ in range(width):
        name, kind = (reader.bytes_of(reader.varint()).decode() for _ in range(2))
        columns[name] = reader.column(kind, height)
    assert reader.is_at_end, "more bytes than the block has"
    return [UpsertRow({name: columns[name][at] for name in columns}) for at in range(height)]
