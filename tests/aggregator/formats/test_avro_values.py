"""Scalars of Avro as Arrow columns."""

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats.avro_schema import AvroType
from aggregator.formats.avro_values import values_of
from aggregator.tables.column_type import column_type
from tests.aggregator.formats.datums import cursors_over, encoded

TEXT = column_type("String")


@given(st.lists(st.integers(1 - 2**247, 2**247 - 1) | st.integers(-300, 300), max_size=4))
def test_decimals_of_up_to_31_bytes_are_read(numbers):
    datums = [
        encoded("bytes", number.to_bytes((number.bit_length() + 8) // 8, "big", signed=True))
        for number in numbers
    ]
    cursors = cursors_over(datums)
    found = values_of(AvroType("bytes", "decimal", scale=2), cursors, TEXT)
    assert not cursors.is_broken.any()
    expected = [Decimal((number < 0, tuple(map(int, str(abs(number)))), -2)) for number in numbers]
    assert found.to_pylist() == expected


def test_a_decimal_of_no_bytes_is_zero_and_one_of_32_is_broken():
    cursors = cursors_over([encoded("bytes", b""), encoded("bytes", b"\0" * 32)])
    found = values_of(AvroType("bytes", "decimal"), cursors, TEXT)
    assert found is not None
    assert found.to_pylist()[0] == 0
    assert cursors.is_broken.tolist() == [False, True]


@pytest.mark.parametrize(
    ("kind", "datum"),
    [
        (AvroType("boolean"), b"\x02"),
        (AvroType("boolean"), b""),
        (AvroType("int"), encoded("long", 2**31)),
        (AvroType("int"), encoded("long", -(2**31) - 1)),
        (AvroType("long"), b"\xff" * 10),
        (AvroType("enum", symbols=("A", "B")), b"\x04"),
        (AvroType("enum", symbols=("A", "B")), b"\x01"),
        (AvroType("float"), b"\0" * 3),
        (AvroType("double"), b"\0" * 7),
        (AvroType("fixed", size=3), b"ab"),
        (AvroType("string"), b"\x04a"),
        (AvroType("bytes"), b"\x01"),
    ],
)
def test_a_value_that_is_none_of_its_type_breaks_its_datum(kind, datum):
    for column in (None, TEXT):
        cursors = cursors_over([datum, datum])
        values_of(kind, cursors, column)
        assert cursors.is_broken.all()


def test_a_text_that_is_none_is_bytes_for_a_string_and_broken_otherwise():
    datums = [b"\x02\xff", b"\x02a"]
    assert values_of(AvroType("string"), cursors_over(datums), TEXT).to_pylist() == [b"\xff", b"a"]
    cursors = cursors_over(datums)
    found = values_of(AvroType("string"), cursors, column_type("UUID"))
    assert found.type == pa.large_string()
    assert cursors.is_broken.tolist() == [True, False]
