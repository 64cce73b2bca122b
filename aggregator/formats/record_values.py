"""Record values: the values of records as one column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from aggregator.formats.byte_columns import taken
from aggregator.formats.record_slice import Ints, RecordSlice


def record_values(slices: Sequence[RecordSlice]) -> tuple[pa.BinaryArray, Ints]:
    """Returns the values of all records that have one, and the index of the record of each."""
    parts, indexes, records = [], [], 0
    for each in slices:
        which = np.flatnonzero(each.value_begin >= 0)
        parts.append(taken(each.data, each.value_begin[which], each.value_end[which]))
        indexes.append(which + records)
        records += len(each)
    if len(parts) == 1:
        return parts[0], indexes[0]
    return (
        pa.concat_arrays(parts) if parts else pa.array([], pa.binary()),
        np.concatenate([*indexes, np.empty(0, np.int64)]),
    )
