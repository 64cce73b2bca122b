"""Row parts: rows of records that were decoded in several ways, put in the order of the records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from aggregator.formats.record_slice import Ints
from aggregator.tables.decoded import Mask


@dataclass(frozen=True, slots=True, eq=False)
class RowPart:
    """Rows of some records of a block.

    Args:
        columns: in the Arrow types of the table.
        record: index of the record of each row.
        row: number of each row in its record.
        dead: why records cannot be loaded, by index.
        nulls: by column, True for each row that holds null; elsewhere a null is no value.
    """

    columns: Mapping[str, pa.Array] = field(default_factory=dict)
    record: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    row: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    dead: Mapping[int, str] = field(default_factory=dict)
    nulls: Mapping[str, Mask] = field(default_factory=dict)


def joined(parts: Sequence[RowPart]) -> RowPart:
    """Returns the rows of all parts. A column that a part does not have is null there."""
    if len(parts) == 1:
        return parts[0]
    nothing = np.empty(0, np.int64)
    record = np.concatenate([nothing, *(part.record for part in parts)])
    row = np.concatenate([nothing, *(part.row for part in parts)])
    order = np.argsort(record, kind="stable")
    is_sorted = bool((record[1:] >= record[:-1]).all())
    types = {name: values.type for part in parts for name, values in part.columns.items()}
    columns = {}
    for name, arrow in types.items():
        values = [part.columns.get(name, pa.nulls(len(part.record), arrow)) for part in parts]
        whole = pa.concat_arrays(values)
        columns[name] = whole if is_sorted else whole.take(pa.array(order))
    dead = {at: why for part in parts for at, why in part.dead.items()}
    nulls = {
        name: np.concatenate(
            [part.nulls.get(name, np.zeros(len(part.record), np.bool_)) for part in parts]
        )[order]
        for name in dict.fromkeys(name for part in parts for name in part.nulls)
    }
    return RowPart(columns, record[order], row[order], dead, nulls)
