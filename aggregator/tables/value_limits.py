"""Limits of values: where each value of an Arrow column of bytes begins and ends."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from aggregator.tables.decoded import Ints


def limits_of(column: pa.Array) -> Ints:
    """Returns where the values of a column of bytes begin in its data, and the end of the last."""
    large = pa.types.is_large_binary(column.type) or pa.types.is_large_string(column.type)
    width = np.int64 if large else np.int32
    limits = np.frombuffer(column.buffers()[1], dtype=width)
    return limits[column.offset : column.offset + len(column) + 1].astype(np.int64, copy=False)
