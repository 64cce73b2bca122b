"""Limits of values in columns."""

import pyarrow as pa
import pytest

from aggregator.tables.value_limits import limits_of


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.string(), pa.large_string()])
def test_limits_of_a_slice_are_those_in_the_whole_data(kind):
    column = pa.array(["a", "bcd", None, "ef"], kind)
    assert limits_of(column).tolist() == [0, 1, 4, 4, 6]
    assert limits_of(column[1:3]).tolist() == [1, 4, 4]
