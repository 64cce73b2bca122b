"""Row block: consecutive rows of a tick, of any lanes, as one insert into a table of rows.

Its bytes are a function of the tick, its records and the table's columns. So whoever repeats an
insert sends the same bytes, and ZooKeeper's memory of blocks knows them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from aggregator.intents.table_range import KeeperMoment
from aggregator.store.block_name import RowsSought
from aggregator.store.outgoing_block import OutgoingBlock
from aggregator.store.recognition import Identities
from aggregator.tables.decoded import Ints, Mask
from aggregator.tables.native_block import NativeBlock, native_of_rows, rows_of_inserts
from aggregator.tables.table_schema import COORDINATES, TableSchema
from aggregator.upsert.row_facts import TickRows
from aggregator.upsert.table_names import (
    DELETED,
    KEY,
    ORDER,
    ROW_ID,
    TIME,
    UNTIL,
    UPSERT_COLUMNS,
    rows_table,
)
from aggregator.upsert.tick import OPEN, Tick

# Of a row that is not looked for, 8 bytes are read.
ROWS = f"""
SELECT _part, groupArray(toInt64({ROW_ID})), groupArray(toInt64(0)) FROM {{table}}
PREWHERE {ROW_ID} >= %(begin)s AND {ROW_ID} < %(end)s
WHERE 1
"""


class NoRowsTable(Exception):
    """Table of rows that is missing, or lacks columns. Create it, then the tick goes on."""


@dataclass(frozen=True, slots=True)
class RowBlockName:
    """Name of the rows of a tick with the ids begin..end-1: the query id of their insert.

    Args:
        table: of the feed, not that of the rows.
        generation: of the tick (see Tick).
        part: number of an insert of its own; 0 if there is but one.
    """

    feed: str
    upsert_table: str
    generation: int
    begin: int
    end: int
    part: int = 0

    @property
    def topic(self) -> str:
        return self.upsert_table

    @property
    def table(self) -> str:
        return rows_table(self.upsert_table)

    def __str__(self) -> str:
        source = f"sluice-{self.feed}-{self.upsert_table}-generation-{self.generation}"
        return f"{source}-rows-{self.begin}-{self.end}" + (f"-{self.part}" if self.part else "")

    def rest(self, digest: str) -> str:
        """Returns the name of a part of the block: the rows that the table lacks."""
        return f"{self}-rest-{digest}"

    def sought(self) -> RowsSought:
        """Returns the rows of these ids, whoever has inserted them."""
        return RowsSought(ROWS, {"begin": self.begin, "end": self.end})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """Circumstances of an insert.

    Args:
        is_first: nobody has sent the rows before. Else the log may have lost records since, so that
            they are not known to be the same rows.
        moment: before which they were not sent; None: not known.
        now_ms: Unix time.
    """

    is_first: bool
    moment: KeeperMoment | None
    now_ms: int


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Rows of a tick, for the columns of a table of rows."""

    tick: Tick
    rows: TickRows
    schema: TableSchema

    def where(self, mask: Mask) -> RowBlock:
        """Returns some of the rows: True for each row to take."""
        return replace(self, rows=self.rows.where(mask))

    def native(self) -> NativeBlock:
        """Encodes the rows. Raises TooManyRows, UnsupportedType."""
        rows = self.rows
        until = np.where(rows.is_delete, self.tick.number, OPEN)
        own = {
            "_cluster": self._of_lanes([each.cluster for each in self.tick.lanes]),
            "_topic": self._of_lanes([each.topic for each in self.tick.lanes]),
            "_partition": pa.array([each.partition for each in self.tick.lanes]).take(self._lane),
            ROW_ID: pa.array(rows.row_id),
            UNTIL: pa.array(until),
            DELETED: pa.array(rows.is_delete.astype(np.uint8)),
            KEY: rows.key,
            ORDER: pa.array(rows.order),
            TIME: pa.array(rows.time_s),
        }
        return native_of_rows(rows.decoded, self.schema, own)

    def outgoing(self, name: RowBlockName, sending: Sending) -> list[OutgoingBlock]:
        """Returns the inserts of the rows: several if rows leave other columns to the server.

        Args:
            name: of all the rows.
        """
        masks = rows_of_inserts(self.rows.decoded, self.schema) if len(self.rows) else []
        found = []
        for number, mask in enumerate(masks):
            part = self if len(masks) == 1 else self.where(mask)
            found.append(
                OutgoingBlock(
                    name=replace(name, part=number),
                    rows=part,
                    native=part.native(),
                    identities=identities(part.rows.row_id),
                    has_coordinates=True,
                    is_as_intended=sending.is_first,
                    sealed_at_ms=sending.now_ms,
                    moment=sending.moment,
                )
            )
        return found

    @cached_property
    def _lane(self) -> pa.Array:
        return pa.array(self.rows.lane)

    def _of_lanes(self, texts: list[str]) -> pa.Array:
        return pa.array(texts, pa.large_string()).take(self._lane)


def identities(row_id: Ints) -> Identities:
    """Returns rows as they are recognized: a row id says all."""
    return Identities(row_id, np.zeros(len(row_id), np.int64))


def check_rows_table(name: str, schema: TableSchema | None) -> TableSchema:
    """Returns the schema of a table of rows. Raises NoRowsTable."""
    if schema is None:
        raise NoRowsTable(f"there is no table {name}: sluice upsert create makes it")
    types = {column.name: column.type for column in schema.columns}
    for column, kind in {**COORDINATES, **UPSERT_COLUMNS}.items():
        if column not in types:
            raise NoRowsTable(f"{name} lacks the column {column} {kind}: add it")
    return schema
