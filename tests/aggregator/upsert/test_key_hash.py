"""Tests of the hash of keys."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from hashlib import blake2b
from ipaddress import IPv6Address
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats.column_values import column_values
from aggregator.tables.column_type import column_type
from aggregator.upsert.key_hash import KeyRefused, key_hashes, refusal
from tests.aggregator.upsert.tick_records import Rules, reading, records, rows_schema, tick_of

STRING, NUMBER = "String", "UInt64"


def hashed(*columns: tuple[str, list[Any]]) -> list[bytes]:
    """Returns the hashes of rows, whose columns are given by type and values."""
    types = [column_type(name) for name, _ in columns]
    arrays = [
        pa.array(values, kind.arrow) for kind, (_, values) in zip(types, columns, strict=True)
    ]
    return key_hashes(arrays, types).to_pylist()


def plain(*parts: bytes) -> bytes:
    """Returns the hash of a key as the module's text says it."""
    text = b"".join(len(each).to_bytes(4, "big") + each for each in parts)
    return blake2b(text, digest_size=16).digest()


def little(number: int, length: int = 8) -> bytes:
    return number.to_bytes(length, "little", signed=number < 0)


FORMS: Mapping[str, tuple[Any, bytes]] = {
    "Int8": (-5, little(-5)),
    "Int16": (-300, little(-300)),
    "Int32": (-70_000, little(-70_000)),
    "Int64": (-(1 << 63), little(-(1 << 63))),
    "UInt8": (255, little(255)),
    "UInt16": (65_535, little(65_535)),
    "UInt32": ((1 << 32) - 1, little((1 << 32) - 1)),
    "UInt64": ((1 << 64) - 1, little((1 << 64) - 1)),
    "Bool": (1, little(1)),
    "Date": (17_000, little(17_000)),
    "Date32": (-1, little(-1)),
    "DateTime": (1_800_000_000, little(1_800_000_000)),
    "DateTime('Europe/Berlin')": (1_800_000_000, little(1_800_000_000)),
    "DateTime64(3)": (1_800_000_000_123, little(1_800_000_000_123)),
    "Enum8('a' = -1, 'b' = 2)": (-1, little(-1)),
    "Enum16('a' = 1000)": (1000, little(1000)),
    "IPv4": (0x7F000001, little(0x7F000001)),
    "IPv6": (IPv6Address("::1").packed, IPv6Address("::1").packed),
    "UUID": (UUID(int=7).bytes, UUID(int=7).bytes),
    "String": (b"\0a", b"\0a"),
    "LowCardinality(String)": (b"ab", b"ab"),
    "FixedString(3)": (b"ab\0", b"ab\0"),
    "Int128": (little(-1, 16), little(-1, 16)),
    "UInt256": (little(7, 32), little(7, 32)),
    "Decimal32(2)": (Decimal("-1.50"), little(-150, 16)),
    "Decimal64(2)": (Decimal("1.50"), little(150, 16)),
    "Decimal128(2)": (Decimal("1.50"), little(150, 16)),
    "Decimal256(2)": (Decimal("1.50"), little(150, 32)),
}


@pytest.mark.parametrize("name", FORMS)
def test_each_type_has_the_form_that_the_page_says(name):
    """Hashes are stored, so these never change."""
    value, octets = FORMS[name]
    assert hashed((name, [value])) == [plain(octets)]
    assert hashed((name, [value]), (STRING, [b"x"])) == [plain(octets, b"x")]


def test_a_stored_hash_is_found_again():
    assert hashed((NUMBER, [1]))[0].hex() == "8a848204c5f0056ce9ab1524d288c649"
    assert hashed((STRING, [b"a"]), (NUMBER, [1]))[0].hex() == "cce0a754420b5eae9b24f9406d658419"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("UInt64", [b"1", b'"1"', b"1.0"]),
        ("Decimal32(2)", [b"1", b"1.0", b"1.00"]),
        ("String", [b'"1"', b"1", b'"\\u0031"']),
        ("DateTime('UTC')", [b'"1970-01-01 00:00:01"', b'"1970-01-01T00:00:01Z"']),
    ],
)
def test_forms_that_a_column_takes_are_one_key_and_the_others_are_dead_letters(name, values):
    """ "1", 1 and 1.0 of one column: JSON is read strictly, so most of them never come here."""
    schema = rows_schema(id=name, text="String")
    documents = [b'{"id":' + value + b"}" for value in values]
    found = reading(tick_of((0, len(documents))), Rules(), schema).rows([records(0, 0, *documents)])
    assert len(set(found.key.to_pylist())) == 1
    assert len(found.key) + sum(len(note.letters) for note in found.notes) == len(values)


@pytest.mark.parametrize(
    ("name", "given", "taken"),
    [
        ("UInt64", [pa.array([1], pa.int8()), pa.array([1], pa.uint64())], 2),
        ("Int32", [pa.array([1], pa.int64()), pa.array([1], pa.uint8())], 2),
        ("Decimal32(2)", [pa.array([1]), pa.array(["1"]), pa.array(["1.00"]), pa.array([1.0])], 4),
        ("FixedString(3)", [pa.array(["ab"]), pa.array([b"ab\0"])], 2),
        ("Date", [pa.array(["1970-01-02"]), pa.array([1], pa.date32())], 2),
        ("Enum8('a' = 1)", [pa.array(["a"]), pa.array(["b"])], 1),
    ],
)
def test_what_formats_give_for_one_value_of_a_column_is_one_key(name, given, taken):
    kind = column_type(name)
    found = [column_values(kind, values, "UTC") for values in given]
    hashes = [key_hashes([values], [kind])[0].as_py() for values, bad in found if not bad.any()]
    assert (len(hashes), len(set(hashes))) == (taken, 1)


def test_columns_do_not_run_into_each_other():
    pairs = [(b"a", b"bc"), (b"ab", b"c"), (b"", b"abc"), (b"abc", b""), (b"\0\0\0\1a", b"")]
    first, second = ([each[at] for each in pairs] for at in (0, 1))
    assert len(set(hashed((STRING, first), (STRING, second)))) == len(pairs)


def test_a_number_column_that_is_made_wider_keeps_its_keys():
    values = [-1, 0, 100]
    assert hashed(("Int8", values)) == hashed(("Int32", values)) == hashed(("Int64", values))


keys = st.lists(
    st.tuples(st.binary(max_size=6), st.integers(0, 3), st.binary(min_size=2, max_size=2)),
    max_size=12,
)


@given(keys)
def test_keys_are_equal_where_their_hashes_are(rows):
    texts, numbers, fixed = ([each[at] for each in rows] for at in range(3))
    found = hashed((STRING, texts), (NUMBER, numbers), ("FixedString(2)", fixed))
    assert [plain(a, little(b), c) for a, b, c in rows] == found
    assert len(set(found)) == len(set(rows))


@given(st.lists(st.binary(max_size=4), min_size=3, max_size=9), st.data())
def test_a_part_of_a_column_has_the_hashes_of_the_whole(texts, data):
    begin = data.draw(st.integers(0, len(texts)))
    for name, values in (
        ("String", texts),
        ("UInt32", list(range(len(texts)))),
        ("UUID", [UUID(int=at).bytes for at in range(len(texts))]),
        ("Decimal64(1)", [Decimal(at) for at in range(len(texts))]),
    ):
        kind = column_type(name)
        whole = pa.array(values, kind.arrow)
        assert (
            key_hashes([whole[begin:]], [kind]).to_pylist()
            == key_hashes([whole], [kind]).to_pylist()[begin:]
        )
        chunks = pa.chunked_array([whole[:begin], whole[begin:]])
        assert key_hashes([chunks], [kind]) == key_hashes([whole], [kind])
    kind = column_type("LowCardinality(String)")
    whole = pa.array(texts, kind.arrow)
    assert key_hashes([whole.dictionary_encode()], [kind]) == key_hashes([whole], [kind])


def test_no_rows_have_no_hashes():
    assert hashed((STRING, []), (NUMBER, [])) == hashed((NUMBER, [])) == []


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Float64", "several values that are written alike"),
        ("Float32", "several values that are written alike"),
        ("Nullable(UInt8)", "NULL, which equals nothing"),
        ("LowCardinality(Nullable(String))", "NULL, which equals nothing"),
        ("Array(UInt8)", "is not one value"),
        ("Tuple(UInt8, String)", "is not one value"),
        ("Map(String, UInt8)", "is not one value"),
    ],
)
def test_types_that_cannot_be_keys_are_refused_with_the_reason(name, reason):
    kind = column_type(name)
    assert reason in refusal(kind) and name in refusal(kind)
    with pytest.raises(KeyRefused, match=reason):
        key_hashes([pa.array([], kind.arrow)], [kind])


@pytest.mark.parametrize("name", FORMS)
def test_all_other_types_can_be_keys(name):
    assert refusal(column_type(name)) == ""


def test_a_row_without_a_value_is_refused():
    with pytest.raises(KeyRefused, match="2 rows have no value"):
        hashed((STRING, [b"a", None, None]))
    with pytest.raises(KeyRefused, match="1 rows have no value"):
        hashed((NUMBER, [1]), (STRING, [None]))


def test_a_key_without_columns_is_refused():
    with pytest.raises(KeyRefused, match="at least one column"):
        key_hashes([], [])
