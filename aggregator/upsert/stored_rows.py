"""Stored rows: the rows of a tick that the replicas have, as facts.

A row that an earlier attempt of a tick has stored is a row of the tick, although its record may be
gone by now: compaction or retention has taken it, or the table's columns were altered. Without its
fact, the row would never end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aggregator.store.identifier import quoted
from aggregator.store.replica import Connected
from aggregator.store.shard_store import DRIVER_ERRORS, ShardStore
from aggregator.tables.decoded import Ints, Mask
from aggregator.upsert.facts import FACTS, LaneNote
from aggregator.upsert.row_facts import RowReading
from aggregator.upsert.table_names import DELETED, KEY, ORDER, ROW_ID
from aggregator.upsert.tick import ROW_BITS
from replicator.clickhouse.errors import reason

ROWS = f"""
SELECT {ROW_ID}, {KEY}, {ORDER}, {DELETED} FROM {{table}}
PREWHERE {ROW_ID} >= %(begin)s AND {ROW_ID} < %(end)s
"""
_NUMBER_MASK = (1 << ROW_BITS) - 1


class StoreAway(Exception):
    """Replicas that do not answer, and may have rows that no other one has. Ask again later."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredRows:
    """Rows of a range of row ids, by row id.

    Args:
        copies: number of replicas that have each row.
    """

    row_id: Ints
    key: pa.Array
    order: Ints
    is_delete: Mask
    copies: Ints

    def __len__(self) -> int:
        return len(self.row_id)

    def where(self, mask: Mask) -> StoredRows:
        """Returns some of the rows: True for each row to take."""
        return StoredRows(
            self.row_id[mask],
            self.key.filter(pa.array(mask)),
            self.order[mask],
            self.is_delete[mask],
            self.copies[mask],
        )

    def without(self, row_id: Ints) -> StoredRows:
        """Returns the rows but for those of some ids."""
        return self.where(~np.isin(self.row_id, row_id))

    def facts(self, reading: RowReading) -> tuple[pa.RecordBatch, tuple[LaneNote, ...]]:
        """Returns the rows as columns FACTS, and how many there are of each lane."""
        number, row = np.divmod(self.row_id & _NUMBER_MASK, reading.tick.rows_per_record)
        lane, offset = reading.places(number)
        arrays = [
            self.key,
            pa.array(self.order),
            pa.array(lane.astype(np.int32)),
            pa.array(offset),
            pa.array(row.astype(np.int32)),
            pa.array(self.row_id),
            pa.array(self.is_delete),
            pa.nulls(len(self), pa.binary()),
        ]
        lanes, counts = np.unique(lane, return_counts=True)
        notes = (LaneNote(*pair) for pair in zip(lanes.tolist(), counts.tolist(), strict=True))
        return pa.RecordBatch.from_arrays(arrays, schema=FACTS), tuple(notes)


def stored_rows(store: ShardStore, table: str, ids: range) -> StoredRows:
    """Returns the rows of a range of row ids that any replica has. Blocking.

    Raises StoreAway: so many replicas are silent that a row which a quorum has may be on none of
    those that answer.
    """
    copies: dict[int, int] = {}
    found: dict[int, tuple[bytes, int, int]] = {}
    silent = []
    for replica in store.replicas:
        try:
            with replica.connected() as it:
                seen = _rows(it, store.database, table, ids)
        except DRIVER_ERRORS as error:
            silent.append(f"{replica}: {reason(error)}")
            continue
        found |= seen
        for row_id in seen:
            copies[row_id] = copies.get(row_id, 0) + 1
    if len(silent) >= max(store.quorum, 1):
        raise StoreAway("; ".join(silent))
    ids_found = sorted(found)
    rows = [found[each] for each in ids_found]
    return StoredRows(
        np.array(ids_found, np.int64),
        pa.array([key for key, _, _ in rows], pa.binary()),
        np.array([order for _, order, _ in rows], np.int64),
        np.array([bool(is_delete) for *_, is_delete in rows], np.bool_),
        np.array([copies[each] for each in ids_found], np.int64),
    )


def _rows(
    it: Connected, database: str, table: str, ids: range
) -> Mapping[int, tuple[bytes, int, int]]:
    query = ROWS.format(table=quoted(database, table).replace("%", "%%"))
    parameters = {"begin": ids.start, "end": ids.stop}
    # A hash is no text.
    rows = it.client.execute(query, parameters, settings={"strings_as_bytes": True})
    return {row_id: (key, order, is_delete) for row_id, key, order, is_delete in rows}
