"""Decoded block: the rows of a block as columns, each with the record that it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

DEAD_BYTES = 200
"""Memory of a dead record's objects, beside its reason."""
LETTER_MEMORY_BYTES = 2048
"""Memory of a dead letter's objects, beside its bytes."""
LETTER_FORMS = 3
"""Forms of a dead letter's bytes: its own, those of its batch, and as they are sent."""


@dataclass(frozen=True, slots=True)
class DeadRecord:
    """A record that cannot be loaded, and the reason."""

    offset: int
    reason: str

    @property
    def size_bytes(self) -> int:
        """Memory that it takes."""
        return DEAD_BYTES + len(self.reason)


def letters_memory(count: int, size_bytes: int) -> int:
    """Returns the memory that dead letters take while they are produced.

    Args:
        size_bytes: of their records.
    """
    return LETTER_MEMORY_BYTES * count + LETTER_FORMS * size_bytes


@dataclass(frozen=True, slots=True)
class Decoded:
    """Rows of one block, in offset order.

    Args:
        columns: by name, in the Arrow type of the column's ClickHouse type. A column that no record
            holds is left out: it gets its default. So does a null, but for those of `nulls`.
        nulls: by Nullable column, True for each row that holds NULL.
        offset: of the record of each row.
        row: number of each row in its record, from 0.
        timestamp_ms: of the record of each row.
        dead: records that cannot be loaded, by offset; none of their rows are in the columns.
        unknown_hashes: of columns for which some of the dead were written, and which the table may
            have by now.
    """

    columns: Mapping[str, pa.Array] = field(default_factory=lambda: MappingProxyType({}))
    nulls: Mapping[str, Mask] = field(default_factory=lambda: MappingProxyType({}), kw_only=True)
    offset: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    row: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    timestamp_ms: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    dead: tuple[DeadRecord, ...] = ()
    unknown_hashes: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.offset)

    @property
    def size_bytes(self) -> int:
        """Memory of the rows, and of the reasons of those that are dead."""
        columns: int = sum(each.get_total_buffer_size() for each in self.columns.values())
        nulls = sum(each.nbytes for each in self.nulls.values())
        rows = self.offset.nbytes + self.row.nbytes + self.timestamp_ms.nbytes
        dead = sum(each.size_bytes for each in self.dead)
        return columns + nulls + rows + dead

    def where(self, mask: npt.NDArray[np.bool_]) -> Decoded:
        """Returns some of the rows: True for each row to take."""
        columns = {name: values.filter(mask) for name, values in self.columns.items()}
        nulls = {name: rows[mask] for name, rows in self.nulls.items()}
        rows = self.offset[mask], self.row[mask], self.timestamp_ms[mask]
        return Decoded(columns, *rows, nulls=nulls)

    def is_missing(self, name: str) -> Mask:
        """Returns True for each row that holds no value of a column, and no NULL."""
        values = self.columns.get(name)
        if values is None:
            return np.ones(len(self), np.bool_)
        is_null: Mask = np.asarray(values.is_null())
        return is_null & ~self.nulls[name] if name in self.nulls else is_null
