"""Parts of data as a column."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats.byte_columns import taken


@given(st.binary(max_size=40), st.lists(st.integers(0, 40), max_size=12))
def test_the_parts_are_taken_as_they_are(data, places):
    places = sorted(min(place, len(data)) for place in places[: len(places) // 2 * 2])
    begin, end = np.array(places[0::2], np.int64), np.array(places[1::2], np.int64)
    expected = [data[left:right] for left, right in zip(begin, end, strict=True)]
    assert taken(data, begin, end).to_pylist() == expected
