"""Avro values: datums read in step, value by value."""

import json
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.formats import avro_items
from aggregator.formats.avro_items import items_of, skip
from aggregator.formats.avro_schema import AvroType, avro_type
from aggregator.formats.avro_values import values_of
from aggregator.formats.varint_words import PADDING, varints_at
from aggregator.tables.column_type import column_type
from tests.aggregator.formats.datums import cursors_over, encoded, fields

# -- Scalars of Avro as Arrow columns.

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


# -- Cursors of datums that are read in step.


def test_a_number_is_read_from_each_datum():
    cursors = cursors_over([encoded("long", value) for value in (-1, 300, 2**63 - 1)])
    assert cursors.number().tolist() == [-1, 300, 2**63 - 1]
    assert (cursors.at == cursors.end).all()
    assert not cursors.is_broken.any()


def test_a_number_beyond_the_end_breaks_its_datum_only():
    cursors = cursors_over([b"\x02", b"", b"\x80", b"\x04"])
    assert cursors.number().tolist() == [1, 0, 0, 2]
    assert cursors.is_broken.tolist() == [False, True, True, False]
    assert cursors.at.tolist() == cursors.end.tolist()


def test_content_ends_within_its_datum():
    cursors = cursors_over([b"\x04ab", b"\x04a", b"\x01a", b"\x00"])
    begin, end = cursors.content()
    assert (end - begin).tolist() == [2, 0, 0, 0]
    assert cursors.is_broken.tolist() == [False, True, True, False]


def test_a_broken_datum_stays_broken_and_is_read_as_zero():
    cursors = cursors_over([b"\x01", b"\x02\x03"])
    cursors.fixed(2)
    assert cursors.octet().tolist() == [0, 0]
    assert cursors.is_broken.all()


def test_some_cursors_are_moved_and_rejoined():
    cursors = cursors_over([b"\x02\x04", b"\x06", b"\x02"])
    cursors.number()
    part = cursors.some([0, 2])
    assert part.number().tolist() == [2, 0]
    before = cursors.is_broken
    cursors.rejoin([0, 2], part)
    assert cursors.at.tolist() == [2, 3, 4]
    assert cursors.is_broken.tolist() == [False, False, True]
    assert not before.any()


# -- Items of arrays and maps.

TEXTS = {"type": "array", "items": "string"}


def parsed(schema):
    return avro_type(json.dumps(schema).encode())


@pytest.fixture(params=[0, 1, 10**9], ids=["in step", "in step to the last", "by bytes"])
def both_ways(request, monkeypatch):
    monkeypatch.setattr(avro_items, "_LOOP_BELOW", max(request.param, 1))


def item_texts(cursors, schema=TEXTS):
    items, owner = items_of(parsed(schema), cursors)
    return [
        (int(at), items.octets[begin:end].tobytes())
        for at, begin, end in zip(owner, items.at, items.end, strict=True)
    ]


@pytest.mark.usefixtures("both_ways")
def test_items_of_several_blocks_are_found():
    blocks = b"\x04\x02a\x02b" + b"\x01\x04\x02c" + b"\x00"
    cursors = cursors_over([blocks, b"\x00", b"\x02\x02d\x00"])
    assert item_texts(cursors) == [(0, b"\x02a"), (0, b"\x02b"), (0, b"\x02c"), (2, b"\x02d")]
    assert (cursors.at == cursors.end).all()


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize(
    "datum",
    [
        b"",
        b"\x02",
        b"\x04\x02a\x00",
        b"\x02\x02a",
        encoded("long", 2**62) + b"\x00" * 9,
        encoded("long", -(2**63)) + b"\x02\x00" * 9,
    ],
)
def test_an_array_that_does_not_end_breaks_its_datum_only(datum):
    cursors = cursors_over([b"\x02\x02a\x00", datum, b"\x02\x02b\x00"])
    texts = item_texts(cursors)
    assert cursors.is_broken.tolist() == [False, True, False]
    assert [each for each in texts if each[0] != 1] == [(0, b"\x02a"), (2, b"\x02b")]


@pytest.mark.usefixtures("both_ways")
@settings(max_examples=30)
@given(
    fields.flatmap(
        lambda field: st.tuples(st.just(field), st.lists(field[1], min_size=1, max_size=3))
    )
)
def test_what_is_passed_in_step_is_passed_by_bytes(drawn):
    (kind, *_), values = drawn
    schema = {"type": "array", "items": kind}
    data = encoded(schema, values)
    cursors = cursors_over([data] * 3)
    items, owner = items_of(parsed(schema), cursors)
    assert (cursors.at == cursors.end).all()
    assert np.bincount(owner).tolist() == [len(values)] * 3
    skip(parsed(kind), items)
    assert (items.at == items.end).all()
    assert not items.is_broken.any()


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize(
    ("item", "bad"),
    [
        ({"type": "enum", "name": "e", "symbols": ["A", "B"]}, b"\x04"),
        ({"type": "enum", "name": "e", "symbols": ["A", "B"]}, b"\x01"),
        ("boolean", b"\x02"),
        ("int", encoded("long", 2**31)),
        ({"type": "array", "items": ["null", "boolean"]}, b"\x04\x00\x02\x05\x00"),
    ],
)
def test_an_item_that_its_type_does_not_have_breaks_its_datum_however_it_is_passed(item, bad):
    good = b"\x00"
    datums = [b"\x04" + each + good + b"\x00" for each in (good, bad, good)]
    cursors = cursors_over(datums)
    skip(parsed({"type": "array", "items": item}), cursors)
    assert cursors.is_broken.tolist() == [False, True, False]


# -- Varints read eight bytes at a time.


def written(value):
    data = bytearray()
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    return bytes([*data, value])


sizes = st.integers(0, 64).flatmap(lambda bits: st.integers(0, 2**bits - 1))


@given(st.lists(sizes, max_size=9))
def test_numbers_of_64_bits_are_read_with_the_places_behind_them(values):
    texts = [written(value) for value in values]
    octets = np.frombuffer(b"".join(texts) + PADDING, np.uint8)
    ends = np.cumsum([len(text) for text in texts]).astype(np.int64)
    begins = np.concatenate(([0], ends))[:-1].astype(np.int64)
    found, behind, bad = varints_at(octets, begins)
    assert found.tolist() == values
    assert behind.tolist() == ends.tolist()
    assert not bad.any()


def test_numbers_of_more_than_64_bits_are_bad():
    texts = [b"\xff" * 9 + b"\x01", b"\xff" * 9 + b"\x02", b"\x80" * 9 + b"\x81\x00", b"\x80" * 10]
    octets = np.frombuffer(b"".join(texts) + PADDING, np.uint8)
    begins = np.concatenate(([0], np.cumsum([len(text) for text in texts])[:-1])).astype(np.int64)
    found, _, bad = varints_at(octets, begins)
    assert bad.tolist() == [False, True, True, True]
    assert found[0] == 2**64 - 1
