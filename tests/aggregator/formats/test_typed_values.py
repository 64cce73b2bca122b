"""Typed values as values of a column."""

import uuid
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aggregator.formats.typed_values import of_typed
from aggregator.tables.column_type import NUMBERS, column_type


def read(kind, values, arrow, timezone="UTC"):
    array = values if isinstance(values, pa.Array) else pa.array(values, arrow)
    found, bad = of_typed(column_type(kind), array, timezone)
    assert found.type == column_type(kind).arrow
    assert len(found) == len(bad) == len(array)
    return ["bad" if each else value for value, each in zip(found.to_pylist(), bad, strict=True)]


INTEGERS = [kind for kind in NUMBERS if "Int" in kind]


@given(st.sampled_from(INTEGERS), st.sampled_from(INTEGERS), st.data())
def test_an_integer_is_stored_as_it_is_or_bad(given_kind, kind, data):
    limits = np.iinfo(NUMBERS[given_kind].to_pandas_dtype())
    numbers = st.integers(int(limits.min), int(limits.max)) | st.integers(0, 100)
    values = data.draw(st.lists(st.none() | numbers, max_size=5))
    room = np.iinfo(NUMBERS[kind].to_pandas_dtype())
    expected = [each if each is None or room.min <= each <= room.max else "bad" for each in values]
    assert read(kind, values, NUMBERS[given_kind]) == expected


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=5))
@example([2**53 + 1, -(2**53), 2**24 + 1, 2**62, -(2**63), 0])
def test_an_integer_is_a_float_only_if_that_holds_it_exactly(values):
    for kind, width in ("Float64", np.float64), ("Float32", np.float32):
        expected = [each if each is None or int(width(each)) == each else "bad" for each in values]
        assert read(kind, values, pa.int64()) == expected


def test_an_unsigned_integer_is_a_float_if_that_holds_it():
    assert read("Float64", [2**64 - 1, 2**63], pa.uint64()) == ["bad", 2.0**63]


def test_a_float_is_rounded_to_the_nearest_and_never_to_infinity():
    values = [0.1, 1e300, float("inf"), None]
    assert read("Float32", values, pa.float64()) == [
        pytest.approx(0.1, rel=1e-7), "bad", float("inf"), None,
    ]  # fmt: skip
    assert read("Float64", [0.5], pa.float32()) == [0.5]


def test_a_float_is_no_integer():
    assert read("Int64", [1.0, None], pa.float64()) == ["bad", None]


def test_a_boolean_is_a_uint8_or_a_bool_and_nothing_else():
    assert read("UInt8", [True, None], pa.bool_()) == [1, None]
    assert read("Bool", [True, False], pa.bool_()) == [1, 0]
    assert read("Int32", [True], pa.bool_()) == ["bad"]
    assert read("Float64", [True], pa.bool_()) == ["bad"]
    assert read("Bool", [1], pa.int32()) == ["bad"]
    assert read("Bool", [1], pa.uint8()) == ["bad"]


scales = st.integers(0, 38).flatmap(lambda p: st.tuples(st.just(p), st.integers(0, p)))
decimals = st.decimals(
    allow_nan=False, allow_infinity=False, places=6, min_value=-(10**9), max_value=10**9
)


@given(st.lists(st.none() | decimals, max_size=5), scales)
@example([Decimal("1.23456")], (9, 4))
def test_a_decimal_is_stored_as_it_is_or_bad(values, size):
    precision, scale = max(size[0], 1), size[1]
    scale = min(scale, precision)

    def fits(number):
        ticks = Fraction(number) * 10**scale
        return ticks.denominator == 1 and abs(ticks) < 10**precision

    expected = [each if each is None or fits(each) else "bad" for each in values]
    assert read(f"Decimal({precision}, {scale})", values, pa.decimal128(38, 6)) == expected


@pytest.mark.parametrize("scale", [0, 37, 38, 39, 60, 75])
def test_decimals_of_76_digits_fit_or_are_bad(scale):
    most = Decimal(f"{'9' * 76}e-{scale}")
    least = Decimal(f"1e-{scale}")
    arrow = pa.decimal256(76, scale)
    for column, fits in ("Decimal(38, 0)", scale == 0), ("Decimal(38, 38)", scale in (37, 38)):
        expected = ["bad", least if fits and scale <= 38 else "bad", Decimal(0), None]
        assert read(column, [most, least, Decimal(0), None], arrow) == expected


def test_integers_are_decimals_if_there_is_room():
    assert read("Decimal(3, 1)", [99, 100, None], pa.int64()) == [Decimal(99), "bad", None]
    assert read("Decimal(38, 0)", [2**64 - 1], pa.uint64()) == [Decimal(2**64 - 1)]


@given(st.integers(0, 18), st.integers(-(10**15) + 1, 10**15 - 1))
def test_a_float_of_15_digits_is_the_decimal_of_its_text(scale, ticks):
    text = f"{ticks}e-{min(scale, 15)}"
    assert read(f"Decimal(38, {scale})", [float(text)], pa.float64()) == [Decimal(text)]


def test_a_float_of_more_digits_is_no_decimal():
    values = [0.123, 1e16 + 2, float("nan"), float("inf"), None]
    assert read("Decimal(38, 2)", values, pa.float64()) == ["bad"] * 4 + [None]


def test_numbers_of_an_enum_are_its_values():
    assert read("Enum8('a' = -1, 'b' = 2)", [-1, 2, 3, None], pa.int64()) == [-1, 2, "bad", None]
    assert read("Enum16('a' = -1)", [2**64 - 1], pa.uint64()) == ["bad"]


def test_bytes_are_strings_and_uuids_of_16_bytes():
    number = uuid.uuid4().bytes
    assert read("UUID", [number, b"short", None], pa.large_binary()) == [number, "bad", None]
    assert read("String", [b"\xff", None], pa.binary()) == [b"\xff", None]
    assert read("FixedString(2)", [b"a", b"abc"], pa.large_binary()) == [b"a\0", "bad"]
    assert read("Int8", [b"1"], pa.large_binary()) == ["bad"]
    assert read("Date", [b"1"], pa.large_binary()) == ["bad"]


def test_a_number_is_no_text():
    assert read("String", [1, None], pa.int32()) == ["bad", None]
    assert read("UUID", [1], pa.int32()) == ["bad"]
