"""Values of records as one column, with the index of each record."""

from aggregator.formats.record_values import record_values
from tests.aggregator.formats.slices import slice_of


def test_null_values_are_left_out_and_empty_ones_are_not():
    values, record = record_values([slice_of([b"a", None, b""])])
    assert values.to_pylist() == [b"a", b""]
    assert record.tolist() == [0, 2]


def test_records_are_counted_over_all_slices():
    values, record = record_values([slice_of([None, b"a"]), slice_of([b"b"], first=7)])
    assert values.to_pylist() == [b"a", b"b"]
    assert record.tolist() == [1, 2]


def test_no_slices_hold_no_values():
    values, record = record_values([])
    assert values.to_pylist() == record.tolist() == []
