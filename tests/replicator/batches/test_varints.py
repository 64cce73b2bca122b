"""Numbers survive packing; cut bytes are noticed."""

import pytest
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
