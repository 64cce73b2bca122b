"""Projections of Avro values: what becomes what, by the rules that stand in docs/s3.md."""

import json
from typing import Any

import pytest

from aggregator.formats.avro_projection import (
    SAME,
    Branch,
    Branches,
    Fields,
    Floating,
    Parts,
    Symbols,
    Texts,
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
        ("string", {"type": "fixed", "name": "f", "size": 3}),
        ("long", ["null", "int"]),
        (["null", "int"], "int"),
        (["null", "int"], ["int", "string"]),
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


def test_a_type_becomes_the_branch_of_its_own_type_before_any_other():
    assert between("int", ["null", "double", "int"]) == Branch(b"\x04", SAME)
    assert between("int", ["null", "double", "long"]) == Branch(b"\x02", Floating("double"))
    assert between(["int", "null"], ["null", "long"]) == Branches(
        (Branch(b"\x02", SAME), Branch(b"\x00", SAME))
    )
    assert between(["int", "float"], "double") == Branches((Floating("double"),) * 2)
    assert between(["null", "int"], ["null", "int", "string"]) == SAME


def test_strings_and_bytes_become_one_another():
    assert between("string", "bytes") == SAME
    assert between("bytes", "string") == Texts()


def test_a_symbol_that_is_not_wanted_becomes_the_enums_default():
    enum = {"type": "enum", "name": "e", "symbols": ["A", "B", "C"]}
    assert between(enum, {**enum, "symbols": ["C", "A"], "default": "A"}) == Symbols((1, 1, 0))
    assert between(enum, {**enum, "symbols": ["A", "B", "C", "D"]}) == SAME


@pytest.mark.parametrize("kind", ["record", "enum", "fixed"])
def test_names_match_without_their_namespace_or_by_an_alias(kind):
    more: dict[str, Any] = {
        "record": {"fields": [field("a", "int")]},
        "enum": {"symbols": ["A"]},
        "fixed": {"size": 3},
    }[kind]
    written = {"type": kind, "name": "old", "namespace": "one", **more}
    assert between(written, {**written, "namespace": "two"}) == SAME
    assert between(written, {**written, "name": "new"}) is None
    assert between(written, {**written, "name": "new", "aliases": ["old"]}) == SAME
    other = {**written, "name": "new", "namespace": "two"}
    assert between(written, {**other, "aliases": ["one.old"]}) == SAME
    assert between(written, {**other, "aliases": ["other"]}) is None


def test_a_field_is_found_by_its_alias_unless_its_name_is_there():
    renamed = record(field("new", "int", aliases=["older", "old"], default=9))
    assert between(record(field("old", "int")), renamed) == SAME
    both = record(field("old", "int"), field("new", "int"))
    assert between(both, renamed) == Fields(((1, SAME),))
    assert between(record(field("other", "int")), renamed) == Fields((b"\x12",))


def test_a_field_that_is_wanted_under_its_own_name_is_no_other_fields_earlier_one():
    # By fastavro and Java: `b` has its default where `a` is still a field.
    written = record(field("a", "int"))
    other = field("b", "int", aliases=["a"], default=7)
    assert between(written, record(field("a", "int"), other)) == Fields(((0, SAME), b"\x0e"))
    assert between(written, record(other, field("a", "int"))) == Fields((b"\x0e", (0, SAME)))
    third = field("c", "int", aliases=["a"], default=8)
    assert between(written, record(other, third)) == Fields((b"\x0e", (0, SAME)))


def test_a_named_type_becomes_the_branch_of_its_whole_name_before_one_of_its_last_name():
    one, two = (record(field("x", "int"), name=f"{space}.row") for space in ("one", "two"))
    assert between([one, two], [one, two]) == SAME
    assert between([one, two], [two, one]) == Branches((Branch(b"\x02", SAME), Branch(b"\0", SAME)))
    renamed = {**record(field("x", "int"), name="new"), "aliases": ["one.row"]}
    assert between(one, [renamed, two, one]) == Branch(b"\x04", SAME)


def test_a_number_becomes_the_branch_that_keeps_its_digits():
    assert between("int", ["null", "float", "double"]) == Branch(b"\x04", Floating("double"))
    assert between("long", ["float", "double"]) == Branch(b"\x02", Floating("double"))
    assert between("float", ["null", "double"]) == Branch(b"\x02", Floating("double"))
    assert between("int", ["null", "float"]) == Branch(b"\x02", Floating("float"))
