"""Decoded block: its memory is that of all its columns, masks and reasons."""

import numpy as np
import pyarrow as pa

from aggregator.tables.decoded import DEAD_BYTES, DeadRecord, Decoded


def test_the_memory_of_decoded_rows_grows_with_each_thing_that_they_hold():
    count = 1000
    offsets = np.arange(count)
    bare = Decoded(offset=offsets, row=offsets, timestamp_ms=offsets)
    assert bare.size_bytes == 3 * offsets.nbytes
    texts = pa.array(["x" * 100] * count)
    rows = Decoded(
        {"text": texts},
        offset=offsets,
        row=offsets,
        timestamp_ms=offsets,
        nulls={"text": np.zeros(count, np.bool_)},
    )
    assert rows.size_bytes >= bare.size_bytes + 101 * count
    dead = Decoded(dead=(DeadRecord(1, "no such table"),))
    assert dead.size_bytes == DEAD_BYTES + len("no such table")
