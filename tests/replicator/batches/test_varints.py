"""Numbers survive packing, and are encoded as in Kafka's records; cut bytes are noticed."""

from itertools import islice

import numpy as np
import pytest
from aiokafka.record.util import decode_varint, encode_varint
from hypothesis import given
from hypothesis import strategies as st

from replicator.batches import varints

NUMBERS = st.one_of(st.integers(0, 300), st.integers(0, 2**63 - 1))


@given(st.lists(NUMBERS))
def test_numbers_come_back_as_they_went(numbers):
    assert varints.unpacked(varints.packed(numbers)).tolist() == numbers


@given(st.lists(NUMBERS, min_size=varints.LOOP_MAX + 1, max_size=300))
def test_many_numbers_at_once_pack_as_they_do_one_by_one(numbers):
    assert varints.packed(numbers) == b"".join(varints.packed([number]) for number in numbers)


def test_a_number_below_128_costs_one_byte():
    assert len(varints.packed([0, 1, 127])) == 3
    assert len(varints.packed([128])) == 2


@pytest.mark.parametrize("amount", [1, varints.LOOP_MAX + 1])
def test_a_number_below_zero_is_refused(amount):
    with pytest.raises(varints.BrokenVarints, match="-1 is below 0"):
        varints.packed([-1] * amount)


@given(st.lists(NUMBERS, min_size=varints.LOOP_MAX + 1, max_size=300))
def test_many_numbers_at_once_unpack_as_they_do_one_by_one(numbers):
    data = varints.packed(numbers)
    begin, one_by_one = 0, []
    for end in range(1, len(data) + 1):
        if data[end - 1] < 128:
            one_by_one += varints.unpacked(data[begin:end]).tolist()
            begin = end
    assert varints.unpacked(data).tolist() == one_by_one


@pytest.mark.parametrize("before", [0, varints.LOOP_MAX + 1])
def test_bytes_that_end_inside_a_number_are_refused(before):
    with pytest.raises(varints.BrokenVarints, match="end inside"):
        varints.unpacked(bytes(before) + varints.packed([300])[:-1])


def test_many_bytes_without_an_end_are_refused():
    with pytest.raises(varints.BrokenVarints, match="end inside"):
        varints.unpacked(b"\xff" * (varints.LOOP_MAX + 1))


@pytest.mark.parametrize("before", [0, varints.LOOP_MAX + 1])
def test_a_number_of_more_than_63_bits_is_refused(before):
    with pytest.raises(varints.BrokenVarints, match="does not fit"):
        varints.unpacked(bytes(before) + b"\xff" * 9 + b"\x01")


@given(st.lists(NUMBERS), st.binary(max_size=5))
def test_the_first_numbers_are_read_whatever_follows(values, rest):
    data = varints.packed(values) + rest
    assert list(islice(varints.numbers(data), len(values))) == values


@given(st.binary(max_size=3), st.integers(0, 2**31 - 1))
def test_a_length_is_read_with_the_position_behind_it(before, length):
    data = bytearray(before)
    encode_varint(length, data.append)
    assert varints.read_length(bytes(data) + b"rest", len(before)) == (length, len(data))


def test_a_length_of_more_than_five_bytes_is_refused():
    with pytest.raises(varints.BrokenVarints, match="more than 5 bytes"):
        varints.read_length(b"\xff" * 6, 0)


SIGNED = st.lists(
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


@given(SIGNED)
def test_numbers_of_kafkas_records_are_read(values):
    data, begins = by_aiokafka(values)
    found, behind = varints.read_signed(np.frombuffer(data, dtype=np.uint8), np.array(begins))
    assert found.tolist() == values
    assert behind.tolist() == [*begins[1:], len(data)]


@given(SIGNED)
def test_numbers_are_written_as_in_kafkas_records(values):
    expected, begins = by_aiokafka(values)
    unsigned = varints.signed_to_unsigned(np.array(values, dtype=np.int64))
    size = varints.sizes(unsigned)
    data = np.zeros(int(size.sum()), dtype=np.uint8)
    varints.write(data, np.array(begins), unsigned, size)
    assert data.tobytes() == bytes(expected)


@pytest.mark.parametrize("data", [b"\xff", b"\xff" * 11, b""])
def test_a_number_without_end_is_an_error(data):
    with pytest.raises(varints.BrokenVarints):
        varints.read_signed(np.frombuffer(data, dtype=np.uint8), np.array([0]))


def test_aiokafka_reads_zigzag_by_code_of_its_own():
    assert decode_varint(bytearray(b"\x03"), 0) == (-2, 1)
