"""Record schemas: what they tell of a text, and what they refuse."""

import json

import pytest

from aggregator.formats.avro_schema import UnsupportedSchema
from aggregator.formats.record_schema import RecordSchema, checked

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
