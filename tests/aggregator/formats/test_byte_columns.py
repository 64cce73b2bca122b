"""Parts of data as a column."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats.byte_columns import byte_column, taken


@given(st.binary(max_size=40), st.lists(st.integers(0, 40), max_size=12))
def test_the_parts_are_taken_as_they_are(data, places):
    places = sorted(min(place, len(data)) for place in places[: len(places) // 2 * 2])
    begin, end = np.array(places[0::2], np.int64), np.array(places[1::2], np.int64)
    expected = [data[left:right] for left, right in zip(begin, end, strict=True)]
    assert taken(data, begin, end).to_pylist() == expected


@given(st.lists(st.none() | st.binary(max_size=5), max_size=12))
def test_null_and_empty_values_stay_different(values):
    data = b"..".join(value or b"" for value in values)
    begin, end, at = [], [], 0
    for value in values:
        begin.append(-1 if value is None else at)
        at += len(value or b"")
        end.append(-1 if value is None else at)
        at += len(b"..")
    places = (np.array(each, np.int64) for each in (begin, end))
    assert byte_column(data, *places).to_pylist() == values
