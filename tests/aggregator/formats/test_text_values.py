"""Texts as values of columns that are no texts."""

from decimal import Decimal
from ipaddress import IPv6Address
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats.text_values import of_octets, of_texts
from aggregator.tables.column_type import column_type


def read(kind, *texts):
    values, bad = of_texts(column_type(kind), pa.array(texts, pa.large_string()), "UTC")
    assert values.type == column_type(kind).arrow
    return ["bad" if each else value for value, each in zip(values.to_pylist(), bad, strict=True)]


@given(st.lists(st.none() | st.uuids(), max_size=4))
def test_uuids_are_the_bytes_in_the_order_of_their_text(found):
    texts = [each and str(each) for each in found]
    expected = [each and each.bytes for each in found]
    assert read("UUID", *texts) == expected
    assert read("UUID", *[text and text.upper() for text in texts]) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        str(UUID(int=5))[:-1],
        str(UUID(int=5)).replace("-", "_"),
        "g" + str(UUID(int=5))[1:],
        "é" * 18,
    ],
)
def test_other_texts_are_no_uuids(text):
    assert read("UUID", str(UUID(int=7)), text, None) == [UUID(int=7).bytes, "bad", None]


@given(st.lists(st.none() | st.ip_addresses(), max_size=5))
def test_addresses_are_stored_as_the_server_does(found):
    texts = [each and str(each) for each in found]
    assert read("IPv4", *texts) == [
        None if each is None else int(each) if each.version == 4 else "bad" for each in found
    ]
    assert read("IPv6", *texts) == [
        None
        if each is None
        else each.packed
        if each.version == 6
        else IPv6Address(f"::ffff:{each}").packed
        for each in found
    ]


@pytest.mark.parametrize("text", ["", "1.2.3", "1.2.3.256", "01.2.3.4", "::1%eth0", "1.2.3.4 "])
def test_other_texts_are_no_addresses(text):
    assert read("IPv4", text) == read("IPv6", text) == ["bad"]


@given(st.lists(st.none() | st.sampled_from(["a", "ß", "", "c"]), max_size=5))
def test_names_of_an_enum_are_its_numbers(texts):
    numbers = {"a": 1, "ß": -2, "": 3, None: None}
    expected = [numbers.get(text, "bad") for text in texts]
    assert read("Enum8('a' = 1, 'ß' = -2, '' = 3)", *texts) == expected


@given(st.lists(st.none() | st.text(max_size=3), max_size=5))
def test_a_fixed_string_is_filled_with_zeros_and_nothing_is_cut_off(texts):
    octets = [text if text is None else text.encode() for text in texts]
    expected = [
        each if each is None else "bad" if len(each) > 4 else each.ljust(4, b"\0")
        for each in octets
    ]
    assert read("FixedString(4)", *texts) == expected


@given(st.lists(st.none() | st.binary(max_size=6), max_size=5))
def test_octets_of_a_fixed_string_may_be_any(cells):
    values, bad = of_octets(column_type("FixedString(4)"), pa.array(cells, pa.large_binary()))
    assert bad.tolist() == [cell is not None and len(cell) > 4 for cell in cells]
    expected = [cell if cell is None else b"" if len(cell) > 4 else cell for cell in cells]
    assert values.to_pylist() == [
        cell if cell is None else cell.ljust(4, b"\0") for cell in expected
    ]


@given(st.decimals(-(10**8) + 1, 10**8 - 1, places=4))
def test_a_decimal_is_exact_or_bad(number):
    is_exact = number == round(number, 2)
    assert read("Decimal(10, 2)", f"{number:f}") == [number if is_exact else "bad"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", Decimal("5.00")),
        ("-0.5", Decimal("-0.50")),
        ("5.", Decimal("5.00")),
        ("00005", Decimal("5.00")),
        ("99999999.99", Decimal("99999999.99")),
        ("1.2300000", Decimal("1.23")),
        ("1.231", "bad"),
        ("-0.001", "bad"),
        ("100000000", "bad"),
        ("1e5", "bad"),
        (".5", "bad"),
        ("", "bad"),
        ("x", "bad"),
        ("NaN", "bad"),
        (None, None),
    ],
)
def test_forms_of_decimals(text, value):
    assert read("Decimal(10, 2)", text, "1") == [value, Decimal(1)]
