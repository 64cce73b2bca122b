"""Schemas of Avro."""

import json

import pytest

from aggregator.formats.avro_schema import AvroType, UnsupportedSchema, avro_type


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
