"""Schema of a table in ClickHouse: its columns, and what an insert has to know."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from aggregator.tables.column_type import is_loadable

COORDINATES = {
    "_cluster": "String",
    "_topic": "String",
    "_partition": "UInt32",
    "_offset": "UInt64",
    "_row": "UInt32",
}
"""Columns that identify a row: cluster, topic, partition, offset, and row in its record."""
INCARNATION = "_incarnation"
"""Column that tells apart the logs that a partition has had; a table needs it once its topic was
created again."""
INCARNATION_TYPE = "UInt64"
OWN_COLUMNS = {**COORDINATES, INCARNATION: INCARNATION_TYPE}
"""Columns that no record fills."""
HASH_DIGITS = 8
ROW_RULES = 3
"""Version of the rules by which records become rows or dead letters. A loader that repeats a block
of another version looks for its rows, and tells its dead letters once more. Count it up whenever a
record may become something else; 1 was not part of hashes."""


class Column(NamedTuple):
    """Column of a table, as system.columns describes it."""

    name: str
    type: str
    default_kind: str = ""
    """Empty, DEFAULT, MATERIALIZED, ALIAS or EPHEMERAL."""
    default_expression: str = ""


@dataclass(frozen=True)
class TableSchema:
    """Columns of a table, in their order, and the table's properties.

    Args:
        deduplication_window: blocks whose hashes the table keeps; 0 for tables without it.
        timezone: of the server, which reads and writes times without a time zone in it.
        is_replicated: the engine is of the Replicated family.
    """

    table: str
    columns: tuple[Column, ...]
    is_replicated: bool = False
    deduplication_window: int = 0
    timezone: str = "UTC"

    @cached_property
    def hash(self) -> str:
        """Hash of names, types and defaults, as writers of row batches have it."""
        return self._digest("")

    @cached_property
    def block_hash(self) -> str:
        """Hash that intents name: records become other rows by other columns, or by other rules."""
        return self._digest(f"{ROW_RULES}\n")

    def _digest(self, front: str) -> str:
        text = "\n".join("\t".join(column) for column in self.columns)
        return hashlib.sha256(f"{front}{text}".encode()).hexdigest()[:HASH_DIGITS]

    @cached_property
    def inserted(self) -> tuple[Column, ...]:
        """Columns that an insert may name."""
        return tuple(c for c in self.columns if c.default_kind not in ("MATERIALIZED", "ALIAS"))

    @cached_property
    def stored(self) -> tuple[Column, ...]:
        """Columns that an insert may name and a query too: EPHEMERAL ones are only inserted."""
        return tuple(column for column in self.inserted if column.default_kind != "EPHEMERAL")

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        """Coordinate columns that the table has."""
        known = {column.name for column in self.stored}
        return tuple(name for name in COORDINATES if name in known)

    @cached_property
    def unloaded(self) -> tuple[Column, ...]:
        """Columns of types that cannot be loaded: each row gets their default."""
        return tuple(column for column in self.inserted if not is_loadable(column.type))

    @property
    def has_coordinates(self) -> bool:
        """True if the columns identify each row."""
        return len(self.coordinates) == len(COORDINATES)

    @cached_property
    def has_incarnations(self) -> bool:
        """True if each row tells which of its partition's logs it is of."""
        found = (column.type for column in self.stored if column.name == INCARNATION)
        return INCARNATION_TYPE in found


Schemas = Mapping[str, TableSchema]
"""Schemas by table."""


def changed_tables(before: Schemas, after: Schemas) -> int:
    """Returns the number of tables whose columns differ; new and dropped ones do not count."""
    return sum(before[name].hash != after[name].hash for name in before.keys() & after.keys())
