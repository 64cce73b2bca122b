"""Varints processed as arrays, compared with aiokafka's."""

import numpy as np
import pytest
from aiokafka.record.util import decode_varint, encode_varint
from hypothesis import given
from hypothesis import strategies as st

from replicator.batches import zigzag

numbers = st.lists(
    st.one_of(
        st.integers(min_value=-70, max_value=70),
        st.integers(min_value=-(2**63), max_value=2**63 - 1),
    ),
    min_size=1,
)


def by_aiokafka(values):
    data, begins = bytearray(), []
    for value in values:
        begins.append(len(data))
        encode_varint(value, data.append)
    return data, begins


@given(numbers)
def test_numbers_written_elsewhere_are_read(values):
    data, begins = by_aiokafka(values)
    found, behind = zigzag.read(np.frombuffer(data, dtype=np.uint8), np.array(begins))
    assert found.tolist() == values
    assert behind.tolist() == [*begins[1:], len(data)]


@given(numbers)
def test_numbers_are_written_as_elsewhere(values):
    expected, begins = by_aiokafka(values)
    unsigned = zigzag.signed_to_unsigned(np.array(values, dtype=np.int64))
    size = zigzag.sizes(unsigned)
    data = np.zeros(int(size.sum()), dtype=np.uint8)
    zigzag.write(data, np.array(begins), unsigned, size)
    assert data.tobytes() == bytes(expected)


@pytest.mark.parametrize("data", [b"\xff", b"\xff" * 11, b""])
def test_a_number_without_end_is_an_error(data):
    with pytest.raises(zigzag.BrokenNumber):
        zigzag.read(np.frombuffer(data, dtype=np.uint8), np.array([0]))


def test_the_oracle_is_no_echo_of_ours():
    assert decode_varint(bytearray(b"\x03"), 0) == (-2, 1)
