"""Row ends: the segment update events of an upsert table, as they stand in `t__updates`.

A tick's ends are one block, or several if there are very many, sorted by row id. The tick decides
all of it, so that the blocks of a tick that is done again are the same bytes. Each end is there
once: a table that has a block twice keeps one row of two, and readers leave out the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from clickhouse_driver import Client

from aggregator.store.identifier import quoted
from aggregator.tables.column_type import column_type
from aggregator.tables.decoded import Decoded
from aggregator.tables.native_block import ROWS_MAX, NativeBlock, native
from aggregator.tables.table_schema import Column, TableSchema
from aggregator.upsert.table_names import updates_table
from aggregator.upsert.upsert_schema import UPDATES_COLUMNS
from aggregator.upsert.version import EndKind, RowEnd

KINDS = tuple(EndKind)
"""Kinds by their number in the table, less 1."""
READ = """
SELECT row_id, lane, offset, toString(kind), tick, by_row_id, key FROM {table}
WHERE tick > %(after)s AND tick <= %(up_to)s{lanes} ORDER BY tick, row_id
"""


def ends_table(ends: Iterable[RowEnd]) -> pa.Table:
    """Returns ends as a table of Arrow, whose columns are those of RowEnd."""
    rows = list(ends)
    types = {
        "row_id": pa.uint64(),
        "lane": pa.uint32(),
        "offset": pa.uint64(),
        "kind": pa.string(),
        "tick": pa.uint32(),
        "by_row_id": pa.uint64(),
        "key": pa.binary(),
    }
    return pa.table(
        {name: pa.array([getattr(row, name) for row in rows], kind) for name, kind in types.items()}
    )


def ends_blocks(ends: pa.Table, rows_max: int = ROWS_MAX) -> list[NativeBlock]:
    """Returns the blocks of a tick's ends: sorted by row id, each end once.

    Args:
        ends: columns of RowEnd, of one tick, in any order. `kind` is a text.
        rows_max: of a block. Most ticks have one; the others are cut at the same rows each time.
    """
    row_id = np.asarray(ends["row_id"]).astype(np.uint64)
    order = np.argsort(row_id, kind="stable")
    order = order[np.diff(row_id[order], prepend=np.uint64(0)) > 0] if len(order) else order
    parts = [order[begin : begin + rows_max] for begin in range(0, len(order), rows_max)]
    return [_block(ends.take(pa.array(part))) for part in parts]


def _block(ends: pa.Table) -> NativeBlock:
    kinds = pa.array([str(kind) for kind in KINDS])
    numbers = pc.add(pc.index_in(ends["kind"].cast(pa.string()), kinds), 1)
    if numbers.null_count:
        raise ValueError("an end is of a kind that has no number")
    schema = TableSchema("", tuple(Column(*each) for each in UPDATES_COLUMNS.items()))
    columns = {name: numbers if name == "kind" else ends[name] for name in UPDATES_COLUMNS}
    return encoded(columns, schema)


def encoded(columns: dict[str, pa.ChunkedArray | pa.Array], schema: TableSchema) -> NativeBlock:
    """Returns columns that have all values as a block, in the order of the schema."""
    arrays = {column.name: _array(columns[column.name], column.type) for column in schema.columns}
    nothing = np.zeros(len(next(iter(arrays.values()))), np.int64)
    decoded = Decoded(arrays, nothing, nothing, nothing)
    return native(decoded, schema, cluster="", topic="", partition=0)


def _array(values: pa.ChunkedArray | pa.Array, kind: str) -> pa.Array:
    found = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    return found.cast(column_type(kind).arrow)


def read_ends(
    client: Client,
    database: str,
    table: str,
    *,
    after: int,
    up_to: int,
    lanes: Sequence[int] = (),
    settings: Mapping[str, object] = MappingProxyType({}),
) -> Iterator[RowEnd]:
    """Yields the ends of the ticks after one, up to another, by tick and row id, as they come.

    The server must be known to have these ticks' ends. Raises the errors of the driver and of the
    socket.

    Args:
        lanes: of the rows that ended; empty: all.
        settings: of ClickHouse, for the query.
    """
    query = READ.format(
        table=quoted(database, updates_table(table)).replace("%", "%%"),
        lanes=" AND lane IN %(lanes)s" if lanes else "",
    )
    wanted = {"after": after, "up_to": up_to, "lanes": tuple(lanes)}
    last = None
    for row_id, lane, offset, kind, tick, by_row_id, key in client.execute_iter(
        query, wanted, settings={**settings, "strings_as_bytes": True}, chunk_size=1
    ):
        end = RowEnd(
            row_id,
            lane,
            offset,
            EndKind(kind.decode()),
            tick,
            by_row_id,
            key,
        )
        if end != last:
            yield end
        last = end
