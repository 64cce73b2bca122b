"""Binary pieces: columns put together are what their rows are, and numbers are Avro's."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats.binary_pieces import blocks, cut, grouped, joined, with_length, zigzags
from tests.aggregator.formats.datums import encoded

BYTES = st.binary(max_size=9)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_numbers_are_written_as_avro_writes_them(numbers):
    found = zigzags(np.array(numbers, np.int64)).to_pylist()
    assert found == [encoded("long", each) for each in numbers]


@given(st.lists(st.tuples(BYTES, st.none() | BYTES), min_size=1, max_size=9), BYTES)
def test_the_pieces_of_a_row_stand_behind_one_another(rows, between):
    first, second = (pa.array([row[at] for row in rows], pa.binary()) for at in (0, 1))
    found = joined([first, between, second]).to_pylist()
    assert found == [left + between + (right or b"") for left, right in rows]


@given(st.lists(BYTES, max_size=9))
def test_bytes_stand_behind_their_length(values):
    found = with_length(pa.array(values, pa.binary())).to_pylist()
    assert found == [encoded("bytes", each) for each in values]


@given(st.lists(st.lists(BYTES, max_size=3), min_size=1, max_size=9))
def test_items_are_one_block_and_an_empty_one_behind(lists):
    items = pa.array([encoded("bytes", item) for each in lists for item in each], pa.binary())
    count = np.array([len(each) for each in lists])
    kind = {"type": "array", "items": "bytes"}
    assert blocks(items, count).to_pylist() == [encoded(kind, each) for each in lists]
    wanted = [b"".join(encoded("bytes", item) for item in each) for each in lists]
    assert grouped(items, np.cumsum(count)).to_pylist() == wanted


def test_data_is_cut_at_limits():
    assert cut(b"abcdef", np.array([0, 2, 2, 6])).to_pylist() == [b"ab", b"", b"cdef"]
