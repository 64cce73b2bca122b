"""A plain schema says what a column has to hold of a value, and is not sure of all."""

import json
from decimal import Decimal

import pytest

from aggregator.verifier.plain_schema import (
    PlainSchema,
    Refused,
    Unsure,
    is_same_scalar,
    json_document,
)
from tests.aggregator.formats.datums import encoded, logical

INNER = {
    "type": "record",
    "name": "inner",
    "namespace": "a.b",
    "fields": [
        {"name": "raw", "type": "bytes", "default": "\u00ff"},
        {"name": "n", "type": ["null", "int"], "default": None},
    ],
}


def of(kind, **more):
    field = {"name": "a", "type": kind, **more}
    return PlainSchema(json.dumps({"type": "record", "name": "r", "fields": [field]}))


def document(schema, text):
    return schema.document(json_document(text.encode()))


@pytest.mark.parametrize(
    ("kind", "default", "meant"),
    [
        ("bytes", "\u00ff\u0000", b"\xff\0"),
        ({"type": "fixed", "name": "f", "size": 1}, "\u0080", b"\x80"),
        (["null", "string"], None, None),
        (["string", "null"], "x", "x"),
        ("double", 1, 1.0),
        (INNER, {}, {"raw": b"\xff", "n": None}),
        (INNER, {"raw": "a", "n": None}, {"raw": b"a", "n": None}),
        ({"type": "array", "items": INNER}, [{}], [{"raw": b"\xff", "n": None}]),
        ({"type": "map", "values": "bytes"}, {"k": "\u00fe"}, {"k": b"\xfe"}),
        (logical("int", "date"), 5, 5),
        (["bytes", INNER], "\u00ff", b"\xff"),
        (["null", INNER], {"n": None}, {"raw": b"\xff", "n": None}),
    ],
)
def test_a_default_means_what_avro_says_in_datums_and_in_documents(kind, default, meant):
    wanted = of(kind, default=default)
    assert document(wanted, "{}") == {"a": meant}
    before = {"type": "record", "name": "r", "fields": [{"name": "b", "type": "int"}]}
    datum = encoded(before, {"b": 1})
    assert PlainSchema(json.dumps(before)).datum(datum, wanted) == {"a": meant}


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("int", "null"),
        ("int", "2147483648"),
        ("int", "1.5"),
        ("int", '"1"'),
        ("string", "1"),
        ("boolean", "1"),
        ("double", "true"),
        (INNER, "[]"),
        ({"type": "array", "items": "int"}, "[null]"),
        (logical("long", "timestamp-millis"), '"2020-13-01T00:00:00Z"'),
        (logical("long", "timestamp-millis"), '"2020-01-01T00:00:00.1234Z"'),
        (logical("int", "date"), '"2020-02-30"'),
    ],
)
def test_a_value_that_the_schema_does_not_describe_is_refused(kind, text):
    with pytest.raises(Refused):
        document(of(kind), f'{{"a": {text}}}')


def test_a_document_without_a_required_field_is_refused_and_others_have_null():
    with pytest.raises(Refused, match="a is missing"):
        document(of("int"), "{}")
    assert document(of(["int", "null"]), "{}") == {"a": None}
    assert document(of("int", aliases=["old"]), '{"old": 3, "b": []}') == {"a": 3}


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (of("int", aliases=["b"]), '{"a": 1, "b": 2}'),
        (of(logical("long", "timestamp-millis")), '{"a": "1 May 2020"}'),
        (of(["int", "string"]), '{"a": 1}'),
    ],
)
def test_what_may_mean_two_things_is_not_judged(schema, text):
    with pytest.raises(Unsure):
        document(schema, text)


def test_an_alias_that_is_another_fields_name_is_not_judged():
    fields = [{"name": "a", "type": "int", "aliases": ["b"]}, {"name": "b", "type": "int"}]
    wanted = PlainSchema(json.dumps({"type": "record", "name": "r", "fields": fields}))
    written = of("int")
    with pytest.raises(Unsure):
        written.datum(b"\2", wanted)
    with pytest.raises(Refused, match="1 bytes behind the datum"):
        written.datum(b"\2\2")


@pytest.mark.parametrize(
    ("kind", "raw", "stored", "is_same"),
    [
        (logical("bytes", "decimal", precision=9, scale=2), b"\xff", Decimal("-0.01"), True),
        (logical("bytes", "decimal", precision=9, scale=2), b"\1", Decimal("0.02"), False),
        (logical("long", "timestamp-micros"), -1, -1000, True),
        (logical("long", "timestamp-micros"), -1, -1, False),
        (["null", "int"], None, 0, False),
        (["int", "null", "string"], "a", {"member0": None, "member1": "a"}, True),
        (["int", "null", "string"], "a", {"member0": 1, "member1": "a"}, False),
        (["int", "null", "string"], 1, {"member0": None, "member1": "1"}, False),
        (["int", "null", "string"], None, {"member0": None, "member1": None}, False),
        ({"type": "map", "values": "int"}, {"a": 1}, [("a", 1)], True),
        ({"type": "map", "values": "int"}, {"a": 1}, [("b", 1)], False),
        ({"type": "array", "items": "int"}, [1, 2], [1], False),
        (INNER, {"raw": b"", "n": 1}, {"raw": b"", "n": 1}, True),
        (INNER, {"raw": b"", "n": 1}, {"raw": b"", "m": 1}, False),
    ],
)
def test_a_column_holds_a_value_or_does_not(kind, raw, stored, is_same):
    schema = of(kind)
    assert schema.is_same(schema.kind["fields"][0]["type"], raw, stored) is is_same


@pytest.mark.parametrize(
    ("raw", "stored", "is_same"),
    [
        (0.0, -0.0, False),
        (float("nan"), float("nan"), True),
        (float("inf"), float("inf"), True),
        (Decimal("0.1"), 0.1, True),
        (Decimal("0.1"), 0.10000000149011612, False),
        (True, 1, False),
        (1, 1.0, True),
        ("a", b"a", False),
    ],
)
def test_floats_are_compared_bit_by_bit(raw, stored, is_same):
    assert is_same_scalar(raw, stored) is is_same


def test_a_float_of_32_bits_is_the_nearest_one():
    assert is_same_scalar(Decimal("0.1"), 0.10000000149011612, is_single=True)
    assert not is_same_scalar(Decimal("0.1"), 0.10000000894069672, is_single=True)
    assert not is_same_scalar(Decimal("0.1"), 0.0, is_single=True)
    assert is_same_scalar(Decimal("3.4028235e38"), 3.4028234663852886e38, is_single=True)


def test_a_schema_is_described_with_whole_names():
    whole = {**INNER, "name": "a.b.inner"}
    del whole["namespace"]
    assert PlainSchema(json.dumps(INNER)).described == PlainSchema(json.dumps(whole)).described
    assert PlainSchema('"int"').described == "int"
