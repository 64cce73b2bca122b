"""Integers beyond 64 bits and decimals beyond 38 digits, from texts and from numbers."""

import json
from decimal import Context, Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats import json_documents
from aggregator.formats.column_values import column_values
from aggregator.formats.wide_numbers import wide_integer
from aggregator.tables.column_type import column_type
from aggregator.tables.native_block import native
from aggregator.verifier.plain_records import json_rows
from aggregator.verifier.row_values import RowValues
from tests.aggregator.formats.slices import slice_of, table
from tests.aggregator.tables.engine import read_from

BITS = {"Int128": 127, "UInt128": 128, "Int256": 255, "UInt256": 256}
IDENTITY = {"cluster": "west", "topic": "flights", "partition": 3}


def read(kind, values, arrow=None):
    found, bad = column_values(column_type(kind), pa.array(values, arrow), "UTC")
    assert found.type == column_type(kind).arrow
    return ["bad" if each else value for value, each in zip(found.to_pylist(), bad, strict=True)]


@pytest.mark.parametrize("kind", BITS)
@given(st.lists(st.none() | st.integers(-(2**257), 2**257) | st.integers(-300, 300), max_size=5))
def test_an_integer_is_stored_as_it_is_or_bad(kind, values):
    least = 0 if kind.startswith("U") else -(2 ** BITS[kind])
    expected = [
        None
        if each is None
        else each.to_bytes(column_type(kind).arrow.byte_width, "little", signed=least < 0)
        if least <= each < 2 ** BITS[kind]
        else "bad"
        for each in values
    ]
    assert read(kind, [each if each is None else str(each) for each in values], pa.string()) == (
        expected
    )


def test_integers_are_made_of_integers_and_of_decimals_that_are_whole():
    assert read("Int128", [-1, None], pa.int64()) == [b"\xff" * 16, None]
    assert read("UInt128", [2**64 - 1], pa.uint64()) == [wide_integer("UInt128", 2**64 - 1)]
    decimals = pa.array([Decimal("5.0"), Decimal("5.5")], pa.decimal256(60, 1))
    assert read("Int256", decimals) == [wide_integer("Int256", 5), "bad"]


@pytest.mark.parametrize("text", ["", "x", "1.5", "--1", "1e3", " 1", "٣", "1" * 200])
def test_other_texts_are_no_integers(text):
    assert read("Int256", [text]) == ["bad"]


def test_floats_and_booleans_are_no_wide_integers():
    assert read("Int128", [1.0]) == ["bad"]
    assert read("Int128", [True]) == ["bad"]


@given(st.integers(-(10**40), 10**40), st.integers(0, 8))
def test_a_wide_decimal_is_exact_or_bad(ticks, places):
    number = Context(prec=100).scaleb(Decimal(ticks), -places)
    is_exact = ticks % 10 ** max(places - 5, 0) == 0
    is_small = abs(ticks) < 10 ** (36 + places)
    expected = [number] if is_exact and is_small else ["bad"]
    assert read("Decimal(41, 5)", [f"{number:f}"]) == expected
    assert read("Decimal(41, 5)", [number], pa.decimal256(60, 8)) == expected


def test_a_float_is_the_decimal_that_it_is_nearest_to():
    assert read("Decimal(50, 2)", [0.29, 0.125, None]) == [Decimal("0.29"), "bad", None]


NUMBERS = st.integers(-(2**127), 2**127 - 1) | st.integers(-5, 5)


@given(st.lists(st.tuples(NUMBERS, st.ip_addresses(v=4), st.ip_addresses()), min_size=1))
def test_documents_arrive_as_a_server_shows_them(rows):
    values = [
        json.dumps({"n": n, "price": n, "four": str(four), "six": str(six), "all": [n, str(n)]})
        for n, four, six in rows
    ]
    types = {"n": "Int128", "price": "Decimal(60, 4)", "four": "IPv4", "six": "Nullable(IPv6)"}
    schema = table(**types, all="Array(Int256)")
    records = slice_of([each.encode() for each in values])
    decoded = json_documents.decode([records], schema)
    assert decoded.dead == ()
    block = native(decoded, schema, **IDENTITY).bytes_of(revision=0)
    what = "toString(n), toString(price), toString(four), toString(six), arrayMap(toString, all)"
    for (n, four, six), stored in zip(rows, read_from(block, what), strict=True):
        number, price, four_shown, six_shown, both = stored
        assert [int(number), Decimal(price), *map(int, both)] == [n] * 4
        assert four_shown == str(four)
        assert read("IPv6", [six_shown]) == read("IPv6", [str(six)])


def test_the_second_reader_finds_what_differs():
    schema = table(n="Int128", six="IPv6")
    value = b'{"n": 170141183460469231731687303715884105727, "six": "::1"}'
    for n, six, text in [
        (b"170141183460469231731687303715884105727", b"::1", []),
        (b"170141183460469231731687303715884105726", b"::1", ["n"]),
        (b"170141183460469231731687303715884105727", b"::2", ["six"]),
    ]:
        found = RowValues(schema, json_rows)
        found.compare(slice_of([value]), {(0, 0)}, [(0, 0, {"n": n, "six": six})])
        assert [text.partition(":")[0] for _, text in found.differences] == text
