"""Fields of a row batch become what the types of their columns mean."""

from datetime import UTC, date, datetime

import pyarrow as pa
import pytest

from aggregator.formats.written_values import time_unit, written_values
from aggregator.tables.column_type import column_type


def written(kind, values, arrow, now=None):
    types = column_type(kind), column_type(now or kind)
    return written_values(types[0], pa.array(values, arrow), types[1]).to_pylist()


def test_days_are_dates_and_those_of_no_year_stay_out_of_range():
    assert written("Date", [0, None, 20000], pa.int64()) == [
        date(1970, 1, 1),
        None,
        date(2024, 10, 4),
    ]
    days = written_values(
        column_type("Date32"), pa.array([2**40, -(2**40)], pa.int64()), column_type("Date32")
    )
    assert days.cast(pa.int32()).to_pylist() == [2**31 - 1, -(2**31)]


@pytest.mark.parametrize(
    ("kind", "unit", "value"),
    [
        ("DateTime", "s", 1_700_000_000),
        ("DateTime64(0)", "s", 1_700_000_000),
        ("DateTime64(1)", "ms", 1_700_000_000_000),
        ("DateTime64(3)", "ms", 1_700_000_000_000),
        ("DateTime64(6)", "us", 1_700_000_000_000_000),
        ("DateTime64(7)", "ns", 1_700_000_000_000_000_000),
    ],
)
def test_moments_are_numbers_of_the_first_unit_that_holds_them(kind, unit, value):
    assert time_unit(column_type(kind)) == unit
    assert written(kind, [value, None], pa.int64()) == [
        datetime.fromtimestamp(1_700_000_000, UTC),
        None,
    ]


def test_an_enum_that_was_changed_is_read_by_its_names():
    old, new = "Enum8('a' = 1, 'b' = 2)", "Enum8('b' = 1, 'a' = 2)"
    assert written(old, [1, 2, None], pa.int64(), old) == [1, 2, None]
    assert written(old, [1, 2, None, 7], pa.int64(), new) == ["a", "b", None, "7"]
    assert written(old, [1], pa.int64(), "String") == ["a"]


def test_elements_are_taken_out_of_their_messages():
    item = pa.struct([("value", pa.int64())])
    holes = [[{"value": 1}, {"value": None}], []]
    assert written("Array(Nullable(Int64))", holes, pa.large_list(item)) == [[1, None], []]
    inner = pa.struct([("value", pa.large_list(pa.int64()))])
    deep = [[{"value": [1, 2]}, {"value": []}], [], [{"value": [3]}]]
    assert written("Array(Array(Int64))", deep, pa.large_list(inner)) == [[[1, 2], []], [], [[3]]]


def test_elements_are_typed_too():
    found = written("Array(Date)", [[0], [], [1, 2]], pa.large_list(pa.int64()))
    assert found == [[date(1970, 1, 1)], [], [date(1970, 1, 2), date(1970, 1, 3)]]
    old = "Array(Enum8('a' = 1))"
    assert written(old, [[1]], pa.large_list(pa.int64()), "Int8") == [["a"]]


def test_a_part_of_a_longer_column_keeps_its_own_elements():
    lists = pa.array([[1], [2, 3], [4]], pa.large_list(pa.int64()))[1:]
    kind = column_type("Array(Int64)")
    assert written_values(kind, lists, kind).to_pylist() == [[2, 3], [4]]
