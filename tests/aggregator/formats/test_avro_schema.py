"""Avro schemas: their types, their defaults, and how records name them."""

import json
import struct

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats.avro_default import WrongDefault, encoded_default
from aggregator.formats.avro_schema import AvroType, UnsupportedSchema, avro_type
from aggregator.formats.confluent_header import without_headers
from aggregator.formats.record_schema import RecordSchema, checked
from aggregator.formats.schema_ids import NO_ID, schema_ids
from tests.aggregator.formats.datums import encoded
from tests.aggregator.formats.slices import slice_of

# -- Schemas of Avro.


def parsed(schema):
    return avro_type(json.dumps(schema).encode())


def record(*types, **more):
    fields = [{"name": f"f{at}", "type": kind} for at, kind in enumerate(types)]
    return {"type": "record", "name": "r", "fields": fields, **more}


def test_names_are_resolved():
    enum = {"type": "enum", "name": "e", "symbols": ["A"]}
    found = parsed(record(enum, "e", ["null", "ns.e"], namespace="ns"))
    a = AvroType("enum", symbols=("A",))
    assert found.names == ("f0", "f1", "f2")
    assert found.parts == (a, a, AvroType("union", parts=(AvroType("null"), a)))


def test_logical_types_that_are_unknown_or_on_another_type_are_left_out():
    found = parsed(
        record(
            {"type": "int", "logicalType": "timestamp-millis"},
            {"type": "long", "logicalType": "time-micros"},
            {"type": "long", "logicalType": "timestamp-nanos"},
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        )
    )
    assert found.parts == (
        AvroType("int"),
        AvroType("long"),
        AvroType("long", "timestamp-nanos"),
        AvroType("bytes", "decimal", scale=2),
    )


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (record("nothing"), "nothing"),
        ({"type": "record", "fields": []}, "no Avro schema"),
        (record(["null", "r"]), "r is part of itself"),
        (record({"type": "array", "items": "null"}), "take no bytes"),
        (record({"type": "array", "items": {"type": "fixed", "name": "f", "size": 0}}), "no bytes"),
        (record({"type": "enum", "name": "e", "symbols": []}), "no symbols"),
        (
            record({"type": "bytes", "logicalType": "decimal", "precision": 90, "scale": 80}),
            "scale 80",
        ),
        (5, "no Avro schema"),
    ],
)
def test_schemas_that_cannot_be_read_say_why(schema, why):
    with pytest.raises(UnsupportedSchema, match=why):
        parsed(schema)


def test_a_text_that_is_no_json_is_no_schema():
    with pytest.raises(UnsupportedSchema, match="no Avro schema"):
        avro_type(b"{")
    with pytest.raises(UnsupportedSchema):
        avro_type(b"\xff")
    with pytest.raises(UnsupportedSchema):
        avro_type(b"[" * 100_000)


# -- Defaults of fields: their bytes are those that fastavro writes.

ENUM = {"type": "enum", "name": "e", "symbols": ["A", "B"]}
FIXED = {"type": "fixed", "name": "f", "size": 2}
RECORD = {
    "type": "record",
    "name": "r",
    "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": ENUM, "default": "B"}],
}


def default(schema, value):
    return encoded_default(avro_type(json.dumps(schema).encode()), value)


@pytest.mark.parametrize(
    ("schema", "value", "meant"),
    [
        ("null", None, None),
        ("boolean", True, True),
        ("int", -7, -7),
        ("long", 2**40, 2**40),
        ("long", 2**63 - 1, 2**63 - 1),
        ("long", -(2**63), -(2**63)),
        ("float", 1.5, 1.5),
        ("double", 3, 3.0),
        ("string", "é", "é"),
        ("bytes", "\u00ff\u0000", b"\xff\x00"),
        (FIXED, "\u00ff\u0001", b"\xff\x01"),
        (ENUM, "B", "B"),
        ({"type": "array", "items": "int"}, [], []),
        ({"type": "array", "items": "int"}, [1, 2], [1, 2]),
        ({"type": "map", "values": "int"}, {"a": 1}, {"a": 1}),
        (RECORD, {"a": 1}, {"a": 1, "b": "B"}),
        (["null", "string"], None, None),
        (["string", "null"], "x", "x"),
        (["null", "string"], "x", "x"),
    ],
)
def test_a_default_has_the_bytes_of_a_value(schema, value, meant):
    assert default(schema, value) == encoded(schema, meant)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ("null", 0),
        ("int", "1"),
        ("int", True),
        ("int", 1.5),
        ("long", 2**63),
        ("int", 2**31),
        ("float", 1e300),
        ("bytes", "€"),
        (FIXED, "abc"),
        (ENUM, "C"),
        (["null", "int"], "x"),
        (RECORD, {}),
        ({"type": "array", "items": "int"}, {}),
    ],
)
def test_what_is_no_value_is_refused(schema, value):
    with pytest.raises(WrongDefault):
        default(schema, value)


# -- Record schemas: what they tell of a text, and what they refuse.

ROW = {"type": "record", "name": "row", "fields": [{"name": "a", "type": "int"}]}
LIST = {**ROW, "fields": [{"name": "next", "type": ["null", "row"]}]}


def schema(found, name="7"):
    return RecordSchema(name, json.dumps(found).encode())


def test_an_id_is_that_of_a_registry_or_a_hash_of_the_text():
    assert schema(ROW).id == "7"
    assert schema(ROW, "flights.avsc").id == schema(ROW, "other.avsc").id
    assert len(schema(ROW, "flights.avsc").id) == 8
    assert schema(ROW, "flights.avsc").id != schema(LIST, "flights.avsc").id


def test_a_schema_that_cannot_be_read_has_a_flaw():
    assert schema(ROW).flaw is None
    assert schema(LIST).flaw == "row is part of itself"


def test_fields_are_put_behind_those_of_the_record():
    found = json.loads(schema(ROW).with_fields([{"name": "b", "type": "long"}]))
    assert [each["name"] for each in found["fields"]] == ["a", "b"]
    assert schema(ROW).field_names == ("a",)
    assert schema("int").field_names == ()
    assert json.loads(schema("int").with_fields([])) == "int"


@pytest.mark.parametrize("text", [b"{", b'{"type": "record"}', b'"unheard"', b"7"])
def test_what_is_no_schema_is_refused(text):
    with pytest.raises(UnsupportedSchema, match="no Avro schema"):
        checked("7", text)


def test_a_schema_within_itself_is_one():
    assert checked("7", json.dumps(LIST).encode()).flaw


# -- Headers of Confluent's serializer are taken off where they name the table's message.

BODY = b"\x08\x01"
ID = b"\0\0\0\1\2"


def bodies(values, index=0):
    found, other = without_headers(pa.array(values, pa.binary()), index)
    assert len(found) == len(other)
    return [None if bad else body for body, bad in zip(found.to_pylist(), other, strict=True)]


@pytest.mark.parametrize("indexes", [b"\0", b"\2\0"])
def test_both_forms_of_the_first_message_are_known(indexes):
    assert bodies([ID + indexes + BODY]) == [BODY]


def test_another_message_is_named_by_its_index():
    assert bodies([ID + b"\2\2" + BODY], index=1) == [BODY]
    assert bodies([ID + b"\2\xc8\1" + BODY], index=100) == [BODY]


@pytest.mark.parametrize("indexes", [b"\0", b"\2\4", b"\4\2\0", b"\4\2", b""])
def test_a_header_that_names_no_or_another_message_is_seen(indexes):
    assert bodies([ID + indexes], index=1) == [None]


@pytest.mark.parametrize("value", [b"\0", ID, b"\0\0\0\0"])
def test_a_cut_header_is_seen(value):
    assert bodies([value]) == [None]


def test_a_header_without_a_message_leaves_an_empty_one():
    assert bodies([ID + b"\0"]) == [b""]


@given(st.lists(st.tuples(st.sampled_from([b"", ID + b"\0"]), st.binary(max_size=9))))
def test_values_with_and_without_headers_may_be_mixed(parts):
    # No message begins with a zero.
    parts = [(header, body.lstrip(b"\0")) for header, body in parts]
    assert bodies([header + body for header, body in parts]) == [body for _, body in parts]


# -- Schema ids: the header is read where it is one, and nothing else is taken for it.

VALUES = st.none() | st.binary(max_size=7) | st.binary(max_size=7).map(lambda each: b"\0" + each)


@given(st.lists(VALUES, min_size=1, max_size=30))
def test_the_id_of_each_value_is_that_of_its_header(values):
    wanted = [
        struct.unpack(">I", each[1:5])[0] if each and each[0] == 0 and len(each) >= 5 else NO_ID
        for each in values
    ]
    assert schema_ids(slice_of(values)).tolist() == wanted
