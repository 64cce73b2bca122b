"""Decoded slices: records and their values stay together."""

import numpy as np
import pyarrow as pa

from aggregator.files.decoded_slice import DecodedSlice
from tests.aggregator.formats.slices import slice_of


def test_values_go_with_their_records():
    records = slice_of([b"a", b"bc", b"d"])
    found = DecodedSlice.of(records, pa.table({"v": ["A", "BC", "D"]}))
    assert found.size_bytes > records.size_bytes
    for which, wanted in ((slice(1, None), ["BC", "D"]), (np.array([2, 0]), ["D", "A"])):
        part = found.at(which)
        assert part.values["v"].to_pylist() == wanted
        assert [part.value_at(at).upper().decode() for at in range(len(part))] == wanted
    assert found.between(1, 2).values["v"].to_pylist() == ["BC"]
