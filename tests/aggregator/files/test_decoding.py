"""Decoding: a record at which a decoder fails is a dead letter, and no other is."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.files.decoded_slice import DecodedSlice
from aggregator.files.decoding import decoded
from tests.aggregator.formats.slices import slice_of


def decode(records):
    """Fails at values of x, and refuses those of y."""
    values = [records.value_at(at) for at in range(len(records))]
    if b"x" in values:
        raise ZeroDivisionError("x")
    refused = {at: "y" for at, each in enumerate(values) if each == b"y"}
    return DecodedSlice.of(records, pa.table({"v": values})), refused


@given(st.lists(st.sampled_from([b"a", b"b", b"x", b"y"]), min_size=1, max_size=20))
def test_records_at_which_a_decoder_fails_are_found_by_halving(values):
    found, reasons = decoded(decode, slice_of(values))
    wanted = {b"x": "cannot be decoded: ZeroDivisionError: x", b"y": "y"}
    assert reasons == {at: wanted[each] for at, each in enumerate(values) if each in wanted}
    assert found.offset.tolist() == list(range(len(values)))
    assert found.values["v"].to_pylist() == [None if each == b"x" else each for each in values]


def test_want_of_memory_is_no_fault_of_a_record():
    def fail(records):
        raise MemoryError

    with pytest.raises(MemoryError):
        decoded(fail, slice_of([b"a"]))
