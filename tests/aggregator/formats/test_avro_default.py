"""Defaults of fields: their bytes are those that fastavro writes."""

import json

import pytest

from aggregator.formats.avro_default import WrongDefault, encoded_default
from aggregator.formats.avro_schema import avro_type
from tests.aggregator.formats.datums import encoded

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
