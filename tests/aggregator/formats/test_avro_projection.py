"""Projections of Avro values: what becomes what, by the rules that stand in docs/s3.md."""

import json

import pytest

from aggregator.formats.avro_projection import (
    SAME,
    Branches,
    Fields,
    Floating,
    Into,
    Parts,
    Symbols,
    projection,
)
from aggregator.formats.avro_schema import avro_type


def type_of(schema):
    return avro_type(json.dumps(schema).encode())


def record(*fields, name="row"):
    return {"type": "record", "name": name, "fields": [*fields]}


def field(name, kind, **more):
    return {"name": name, "type": kind, **more}


def between(written, wanted):
    return projection(type_of(written), type_of(wanted))


NUMBERS = ["int", "long", "float", "double"]


@pytest.mark.parametrize("written", NUMBERS)
@pytest.mark.parametrize("wanted", NUMBERS)
def test_a_number_becomes_a_wider_one_only(written, wanted):
    found = between(written, wanted)
    if NUMBERS.index(written) > NUMBERS.index(wanted):
        assert found is None
    elif written == wanted or wanted == "long":
        assert found == SAME  # the bytes are the same
    else:
        assert found == Floating(wanted)


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("int", "string"),
        (["null", "int"], "int"),
        (["null", "int"], ["int", "string"]),
        ("string", ["null", "int"]),
        ({"type": "int", "logicalType": "date"}, "int"),
        ({"type": "int", "logicalType": "date"}, "long"),
        ("long", {"type": "long", "logicalType": "timestamp-millis"}),
        (
            {"type": "long", "logicalType": "timestamp-millis"},
            {"type": "long", "logicalType": "timestamp-micros"},
        ),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
        ),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 3},
        ),
        ({"type": "fixed", "name": "f", "size": 3}, {"type": "fixed", "name": "f", "size": 4}),
        ({"type": "fixed", "name": "f", "size": 3}, {"type": "fixed", "name": "g", "size": 3}),
        (
            {"type": "enum", "name": "e", "symbols": ["A", "B"]},
            {"type": "enum", "name": "e", "symbols": ["A"]},
        ),
        ({"type": "array", "items": "int"}, {"type": "map", "values": "int"}),
        ({"type": "array", "items": "string"}, {"type": "array", "items": "int"}),
        (record(field("a", "int")), record(field("a", "int"), name="other")),
        (record(field("a", "int")), record(field("a", "int"), field("b", "int"))),
        (record(field("a", "string")), record(field("a", "int", default=1))),
    ],
)
def test_another_type_or_a_required_field_has_no_projection(written, wanted):
    assert between(written, wanted) is None


def test_a_missing_field_gets_its_default_and_one_that_is_not_wanted_is_dropped():
    written = record(field("a", "int"), field("b", "string"))
    wanted = record(field("new", ["null", "int"], default=None), field("b", "string"))
    assert between(written, wanted) == Fields((b"\0", (1, SAME)))


def test_fields_in_another_order_are_found_by_their_names():
    written = record(field("a", "int"), field("b", "string"))
    assert between(written, record(*reversed(written["fields"]))) == Fields(((1, SAME), (0, SAME)))
    assert between(written, written) == SAME


def test_what_lies_inside_is_projected_too():
    inner = record(field("x", "float"), name="inner")
    wider = record(field("x", "double"), name="inner")
    change = Fields(((0, Floating("double")),))
    assert between({"type": "array", "items": inner}, {"type": "array", "items": wider}) == Parts(
        (change,)
    )
    assert between(["null", inner], ["null", wider]) == Parts((SAME, change))
    assert between({"type": "map", "values": "int"}, {"type": "map", "values": "long"}) == SAME


def test_a_map_keeps_its_keys():
    found = between({"type": "map", "values": "float"}, {"type": "map", "values": "double"})
    assert found == Parts((Fields(((0, SAME), (1, Floating("double")))),))


def test_a_field_made_optional_takes_what_was_written_before():
    assert between("int", ["null", "int"]) == Into(1, SAME)
    assert between("int", ["null", "double"]) == Into(1, Floating("double"))
    assert between("null", ["null", "int"]) == Into(0, SAME)
    before, after = record(field("a", "int")), record(field("a", ["null", "int"], default=None))
    assert between(before, after) == Fields(((0, Into(1, SAME)),))
    assert between(after, before) is None


def test_branches_are_found_by_their_types_and_a_wider_one_only_where_there_is_no_other():
    assert between(["null", "int"], ["int", "null"]) == Branches((1, 0), (SAME, SAME))
    assert between(["null", "int"], ["null", "int", "string"]) == SAME
    assert between("int", ["double", "int"]) == Into(1, SAME)
    assert between(["int", "long"], "long") == Branches(None, (SAME, SAME))
    named = [record(name="a"), record(name="b")]
    assert between(named[1], named) == Into(1, SAME)


def test_an_enum_takes_further_symbols_and_its_default_stands_for_those_that_are_gone():
    def enum(*symbols, **more):
        return {"type": "enum", "name": "e", "symbols": [*symbols], **more}

    assert between(enum("A"), enum("A", "B")) == SAME
    assert between(enum("A", "B"), enum("B", "A")) == Symbols((1, 0))
    assert between(enum("A", "B"), enum("OTHER", "A", default="OTHER")) == Symbols((1, 0))


def test_strings_and_bytes_become_each_other():
    assert between("string", "bytes") == between("bytes", "string") == SAME


def test_former_names_count():
    renamed = record(field("b", "int", aliases=["a"]), name="now") | {"aliases": ["row"]}
    assert between(record(field("a", "int")), renamed) == SAME
    # A field that has the name itself is that field.
    both = record(field("a", "int"), field("b", "int", aliases=["a"], default=7))
    assert between(record(field("a", "int")), both) == Fields(((0, SAME), b"\x0e"))
    spaced = record(field("a", "int")) | {"namespace": "elsewhere"}
    assert between(record(field("a", "int")), spaced) == SAME
