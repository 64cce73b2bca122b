"""Values of a reader as values of a column."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats.column_values import column_values, reason
from aggregator.tables.column_type import column_type


def read(kind, values, arrow):
    found, bad = column_values(column_type(kind), pa.array(values, arrow), "UTC")
    assert found.type == column_type(kind).arrow
    return ["bad" if each else value for value, each in zip(found.to_pylist(), bad, strict=True)]


@given(st.lists(st.none() | st.integers(-300, 300), max_size=5))
def test_integers_out_of_range_are_bad(values):
    expected = [each if each is None or -128 <= each <= 127 else "bad" for each in values]
    assert read("Int8", values, pa.int32()) == expected


def test_booleans_are_numbers():
    assert read("UInt8", [True, None, False], pa.bool_()) == [1, None, 0]
    assert read("Bool", [True], pa.bool_()) == [1]


def test_floats_are_rounded():
    assert read("Float32", [0.1, None], pa.float64()) == [pytest.approx(0.1, rel=1e-6), None]


def test_a_finite_number_that_would_become_infinite_is_bad():
    found = read("Float32", [1e39, -1e39, 3.4e38, float("inf"), None], pa.float64())
    assert found == ["bad", "bad", pytest.approx(3.4e38), float("inf"), None]


lists = st.lists(st.none() | st.lists(st.none() | st.integers(0, 400), max_size=3), max_size=4)


@given(lists, st.booleans())
def test_one_bad_element_makes_its_row_bad(values, nullable):
    def cell(each):
        if each is None:
            return None
        wrong = any((x is None and not nullable) or (x or 0) > 255 for x in each)
        return "bad" if wrong else each

    kind = "Array(Nullable(UInt8))" if nullable else "Array(UInt8)"
    found = read(kind, values, pa.large_list(pa.uint32()))
    assert found == [cell(each) for each in values]


def test_a_slice_of_lists_is_read_as_it_is():
    values = pa.array(
        [["1970-01-02"], None, [], ["x"], ["1970-01-03"]], pa.large_list(pa.large_string())
    )
    found, bad = column_values(column_type("Array(Date)"), values[1:], "UTC")
    assert found.to_pylist() == [None, [], [0], [2]]
    assert bad.tolist() == [False, False, True, False]


def test_values_of_a_type_that_the_column_does_not_take_are_bad():
    assert read("Int8", ["1", None], pa.large_string()) == ["bad", None]
    assert read("Int8", [[1], None], pa.large_list(pa.int8())) == ["bad", None]
    assert read("Array(Int8)", [1, None], pa.int8()) == ["bad", None]
    assert read("String", [1.5], pa.float64()) == ["bad"]
    assert read("Array(String)", [None], pa.null()) == [None]
    assert read("Decimal(9, 2)", [None], pa.null()) == [None]


def test_the_reason_shows_moments_that_python_has_not():
    kind = column_type("Date")
    assert reason("day", kind, pa.array([1], pa.timestamp("ns", tz="UTC")), 0) == (
        "day: 1970-01-01 00:00:00.000000001 is no Date"
    )
    assert "is no Date" in reason("day", kind, pa.array([2**63 - 1], pa.timestamp("ms")), 0)


def test_the_reason_shows_values_within_which_python_has_no_moment():
    kind = column_type("Array(DateTime)")
    times = pa.array([[2**62], [1]], pa.list_(pa.timestamp("ms")))
    assert "is no Array(DateTime)" in reason("times", kind, times, 0)
    inside = pa.array([{"at": 2**62}], pa.struct({"at": pa.timestamp("us", "UTC")}))
    assert "is no String" in reason("text", column_type("String"), inside, 0)


def test_the_reason_names_column_value_and_type():
    kind = column_type("Date")
    assert reason("day", kind, pa.array(["x"]), 0) == "day: 'x' is no Date"
    kind = column_type("Decimal(9, 4)")
    why = reason("price", kind, pa.array(["1.23456"]), 0)
    assert why == "price: '1.23456' does not fit into Decimal(9, 4)"
