"""Rows of records that were decoded in several ways."""

import numpy as np
import pyarrow as pa

from aggregator.formats.row_parts import RowPart, joined


def test_rows_are_in_the_order_of_their_records():
    one = RowPart({"a": pa.array([1, 2, 3])}, np.array([0, 0, 4]), np.array([0, 1, 0]), {2: "x"})
    two = RowPart({"b": pa.array(["p"])}, np.array([3]), np.array([0]), {1: "y"})
    found = joined([one, two])
    assert found.record.tolist() == [0, 0, 3, 4]
    assert found.row.tolist() == [0, 1, 0, 0]
    assert found.columns["a"].to_pylist() == [1, 2, None, 3]
    assert found.columns["b"].to_pylist() == [None, None, "p", None]
    assert found.dead == {1: "y", 2: "x"}


def test_no_parts_are_no_rows():
    found = joined([])
    assert len(found.record) == 0
    assert dict(found.columns) == {}
