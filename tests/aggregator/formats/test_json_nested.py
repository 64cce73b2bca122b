"""Tuples and Maps in JSON documents, against ClickHouse's own reader of JSON."""

import json
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.formats.json_documents import decode
from aggregator.formats.json_nested import tuple_columns
from aggregator.tables.column_type import column_type
from aggregator.tables.native_block import native
from tests.aggregator.formats.nested_types import kinds
from tests.aggregator.formats.slices import slice_of, table
from tests.aggregator.tables.engine import read_from, read_json

IDENTITY = {"cluster": "west", "topic": "flights", "partition": 3}
SCHEMA = table(
    id="UInt8",
    point="Tuple(x Int64, name Nullable(String), prices Array(Decimal(9, 2)))",
    pair="Tuple(UInt8, String)",
    ports="Map(UInt16, Tuple(LowCardinality(String), UInt8))",
    lists="Map(String, Array(Int64))",
    rows="Nested(n UInt8, text String)",
)


def stored(decoded, schema=SCHEMA):
    """Returns the rows as a server reads them from the block."""
    return read_from(native(decoded, schema, **IDENTITY).bytes_of(revision=0))


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_values_arrive_as_the_server_reads_the_same_document(data):
    kind, values = data.draw(kinds)
    found = data.draw(st.lists(values, min_size=1, max_size=4))
    texts = [json.dumps({"c": each, "n": at}).encode() for at, each in enumerate(found)]
    schema = table(c=kind, n="UInt8")
    decoded = decode([slice_of(texts)], schema)
    assert decoded.dead == ()
    assert stored(decoded, schema) == read_json(b"\n".join(texts), {"c": kind, "n": "UInt8"})


BAD = {
    b'{"id":1,"point":null}': "point: null is no Tuple",
    b'{"id":1,"point":{"x":null}}': "point.x: null is no Int64",
    b'{"id":1,"point":{"x":"5"}}': "point.x: ",
    b'{"id":1,"point":{"x":9223372036854775808}}': "point.x: ",
    b'{"id":1,"point":{"prices":[0.125]}}': "does not fit into Decimal",
    b'{"id":1,"point":{"prices":[123456789012345678901.5]}}': "does not fit into Decimal",
    b'{"id":1,"point":5}': "point: 5 is no Tuple",
    b'{"id":1,"point":[1]}': "is no Tuple",
    b'{"id":1,"pair":[1]}': "is no Tuple",
    b'{"id":1,"pair":[1,"x",2]}': "is no Tuple",
    b'{"id":1,"pair":{"1":1,"2":"x"}}': "is no Tuple",
    b'{"id":1,"pair":[256,"x"]}': "pair.1: 256 is ",
    b'{"id":1,"pair":[1.5,"x"]}': "pair.1: ",
    b'{"id":1,"pair":[1,5]}': "pair.2: ",
    b'{"id":1,"pair":[1,"\\ud800"]}': "",
    b'{"id":1,"ports":{"07":["x",1]}}': "'07' is no UInt16",
    b'{"id":1,"ports":{"65536":["x",1]}}': "'65536' is no UInt16",
    b'{"id":1,"ports":{"7":null}}': "ports.value: null is no Tuple",
    b'{"id":1,"ports":[["7",["x",1]],[7,["x",1]]]}': "a key is there twice",
    b'{"id":1,"ports":["x"]}': "is no Tuple",
    b'{"id":1,"lists":{"a":[1,null]}}': "null is no Int64",
    b'{"id":1,"lists":{"a":5}}': "is no Array",
    b'{"id":1,"lists":5}': "is no Map",
    b'{"id":1,"lists":{"\\ud800":[]}}': "",
    b'{"id":1,"rows":{"n":1}}': "is no Nested",
    b'{"id":1,"rows":[[1]]}': "is no Tuple",
    b'{"id":1,"rows":' + b"[" * 400 + b"]" * 400 + b"}": "nested more than",
}
GOOD = [
    b'{"id":2}',
    b'{"id":2,"point":[1,"x",[]]}',
    b'{"id":2,"ports":[[7,["x",1]]],"point":{"x":1,"x":2}}',
    b'{"id":2,"pair":[true,"5"],"lists":{"a":[],"a":[1]}}',
    b'{"id":2,"rows":[{"n":1},{}]}',
]


@given(st.lists(st.sampled_from([*BAD, *GOOD]), min_size=1, max_size=8))
@settings(deadline=None)
def test_what_becomes_of_a_record_depends_on_no_other_one(values):
    decoded = decode([slice_of(values)], SCHEMA)
    dead = {each.offset: each.reason for each in decoded.dead}
    assert sorted(dead) == [at for at, each in enumerate(values) if each in BAD]
    for at, reason in dead.items():
        assert BAD[values[at]] in reason
    good = [each for each in values if each in GOOD]
    alone = [stored(decode([slice_of([each])], SCHEMA)) for each in dict.fromkeys(good)]
    by_value = dict(zip(dict.fromkeys(good), alone, strict=True))
    columns = [*decoded.columns]
    if good:
        assert decoded.offset.tolist() == [at for at, each in enumerate(values) if each in GOOD]
        rows = native(decoded, SCHEMA, **IDENTITY)
        assert rows.rows == len(good) and set(columns) <= set(rows.names)
        assert len(stored(decoded)) == sum(len(by_value[each]) for each in good)


def test_a_missing_element_is_the_default_of_its_type_and_a_missing_column_its_own():
    decoded = decode([slice_of([b'{"id":1,"point":{"name":"x"}}', b'{"id":2}'])], SCHEMA)
    assert decoded.columns["point"].to_pylist() == [{"x": 0, "name": b"x", "prices": []}, None]
    assert decoded.is_missing("point").tolist() == [False, True]


@pytest.mark.parametrize(
    ("kind", "key", "held"),
    [
        ("Int8", "-5", -5),
        ("Bool", "true", 1),
        ("Bool", "1", None),
        ("UInt64", "18446744073709551615", 2**64 - 1),
        ("UInt64", "-1", None),
        ("Float64", "1.5", None),
        ("Date", "1970-01-02", 1),
        ("Int128", "5", (5).to_bytes(16, "little")),
        ("Decimal(9, 2)", "1.25", Decimal("1.25")),
        ("FixedString(2)", "abc", None),
    ],
)
def test_a_key_is_a_text_that_stands_for_a_value_of_its_type(kind, key, held):
    types = {"m": column_type(f"Map({kind}, UInt8)")}
    document = json.dumps({"m": {key: 7}}).encode()
    columns, refused = tuple_columns(slice_of([document]).value_column, types, "UTC")
    assert bool(refused) == (held is None)
    if not refused:
        assert columns["m"].to_pylist() == [[{"key": held, "value": 7}]]
