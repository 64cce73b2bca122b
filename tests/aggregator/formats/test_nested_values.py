"""Nested values of a parser as Tuples, Maps and Arrays."""

import numpy as np
import pyarrow as pa
import pytest

from aggregator.formats.nested_values import MISSING, NestedValues, placed
from aggregator.tables.column_type import column_type


def numbers(path, kind, given):
    """Returns integers; any other value is refused."""
    bad = {at: f"{path}: {each!r}" for at, each in enumerate(given) if type(each) is not int}
    return pa.array([0 if at in bad else each for at, each in enumerate(given)], kind.arrow), bad


def read(kind, *given):
    reader = NestedValues(numbers)
    values = reader.read("c", column_type(kind), list(given), np.arange(len(given)))
    assert values.type == column_type(kind).arrow
    return values.to_pylist(), reader.reasons


def test_elements_that_are_missing_have_the_default_of_their_type():
    kind = "Tuple(a UInt8, b Nullable(UInt8), c Array(UInt8), d Tuple(e Int8), f Map(UInt8, Int8))"
    nothing = {"a": 0, "b": None, "c": [], "d": {"e": 0}, "f": []}
    found, reasons = read(kind, {}, {"a": 1, "z": 2}, {"d": {"e": 3}}, MISSING)
    assert found == [nothing, {**nothing, "a": 1}, {**nothing, "d": {"e": 3}}, None]
    assert not reasons


@pytest.mark.parametrize(
    ("kind", "value", "why"),
    [
        ("Tuple(a UInt8)", None, "c: null is no Tuple(a UInt8)"),
        ("Tuple(a UInt8)", {"a": None}, "c.a: null is no UInt8"),
        ("Tuple(a UInt8)", 5, "c: 5 is no Tuple(a UInt8)"),
        ("Tuple(a UInt8)", [1, 2], "c: [1, 2] is no Tuple(a UInt8)"),
        ("Tuple(UInt8)", {"1": 1}, "c: {'1': 1} is no Tuple(UInt8)"),
        ("Array(Tuple(UInt8))", [None], "c: null is no Tuple(UInt8)"),
        ("Array(Tuple(UInt8))", {"a": 1}, "c: {'a': 1} is no Array(Tuple(UInt8))"),
        ("Map(UInt8, UInt8)", {1: None}, "c.value: null is no UInt8"),
        ("Map(UInt8, UInt8)", {1: "x"}, "c.value: 'x'"),
        ("Map(UInt8, UInt8)", [[1, 2], [1, 3]], "c: a key is there twice"),
        ("Map(UInt8, Tuple(a Array(UInt8)))", {1: {"a": ["x"]}}, "c.value.a: 'x'"),
    ],
)
def test_a_bad_value_makes_its_row_bad_and_no_other(kind, value, why):
    found, reasons = read(kind, MISSING, value, MISSING)
    assert reasons == {1: why}
    assert (found[0], found[2]) == (None, None)


def test_an_array_of_entries_is_a_map_as_is_an_object():
    entries = [{"key": 1, "value": 2}, [3, 4]]
    held = [{"key": 1, "value": 2}, {"key": 3, "value": 4}]
    assert read("Map(UInt8, UInt8)", entries, {1: 2, 3: 4}) == ([held, held], {})


def test_a_tuple_with_names_may_be_a_list_by_position():
    assert read("Tuple(a UInt8, b UInt8)", [1, 2], (1, 2))[0] == [{"a": 1, "b": 2}] * 2
    assert read("Tuple(UInt8, UInt8)", [1, 2])[0] == [{"1": 1, "2": 2}]


def test_parts_are_put_at_their_places():
    kind = column_type("UInt8")
    parts = [([3, 1], pa.array([30, 10], pa.uint8())), ([0], pa.array([0], pa.uint8()))]
    assert placed(kind, parts, 5).to_pylist() == [0, 10, None, 30, None]
    assert placed(kind, [], 2).to_pylist() == [None, None]
