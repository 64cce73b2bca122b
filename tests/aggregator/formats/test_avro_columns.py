"""Datums of one schema as columns."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.formats.avro_columns import AvroColumns
from aggregator.formats.avro_schema import avro_type
from aggregator.tables.column_type import column_type
from tests.aggregator.formats.datums import cursors_over, encoded, fields, nested, record_of


def read(schema, datums, **types):
    """Returns columns, reasons and what is broken."""
    cursors = cursors_over(datums)
    reader = AvroColumns("UTC")
    wanted = {name.replace("__", "."): column_type(kind) for name, kind in types.items()}
    columns = reader.read(avro_type(json.dumps(schema).encode()), cursors, wanted)
    return {n: v.to_pylist() for n, v in columns.items()}, reader.reasons, cursors


rows = st.lists(fields | nested, min_size=1, max_size=4).flatmap(
    lambda drawn: st.tuples(
        st.just(drawn), st.lists(st.tuples(*(values for _, values, _, _ in drawn)), max_size=5)
    )
)


@settings(max_examples=80)
@given(rows)
def test_values_that_fastavro_wrote_are_those_that_the_table_holds(drawn):
    kinds, values = drawn
    schema = record_of([kind for kind, *_ in kinds])
    datums = [encoded(schema, {f"f{at}": v for at, v in enumerate(row)}) for row in values]
    types = {f"f{at}": column for at, (_, _, column, _) in enumerate(kinds)}
    columns, reasons, cursors = read(schema, datums, **types)
    assert not reasons
    assert not cursors.is_broken.any()
    assert (cursors.at == cursors.end).all()
    for at, (_, _, _, held) in enumerate(kinds):
        expected = [held(row[at]) for row in values]
        assert columns.get(f"f{at}", [None] * len(values)) == expected


@settings(max_examples=30)
@given(rows)
def test_fields_without_a_column_are_passed(drawn):
    kinds, values = drawn
    schema = record_of([*(kind for kind, *_ in kinds), "int"])
    last = f"f{len(kinds)}"
    datums = [
        encoded(schema, {f"f{at}": v for at, v in enumerate(row)} | {last: 7}) for row in values
    ]
    columns, reasons, cursors = read(schema, datums, **{last: "Int8"})
    assert columns.get(last, []) == [7] * len(values)
    assert not reasons
    assert (cursors.at == cursors.end).all()


PLACE = {
    "type": "record",
    "name": "place",
    "fields": [{"name": "x", "type": "int"}, {"name": "n", "type": ["null", "string"]}],
}


def test_fields_of_records_have_columns_with_a_point():
    schema = record_of([PLACE, ["null", "place0"]])
    values = [
        {"f0": {"x": 1, "n": "a"}, "f1": None},
        {"f0": {"x": 2, "n": None}, "f1": {"x": 3, "n": "b"}},
    ]
    columns, reasons, _ = read(
        schema,
        [encoded(schema, each) for each in values],
        f0__x="Int8",
        f0__n="String",
        f1__x="Int8",
    )
    assert columns == {"f0.x": [1, 2], "f0.n": [b"a", None], "f1.x": [None, 3]}
    assert not reasons


def test_fields_of_records_in_an_array_are_arrays():
    schema = record_of([{"type": "array", "items": PLACE}])
    values = [[{"x": 1, "n": "a"}, {"x": 2, "n": None}], []]
    columns, reasons, _ = read(
        schema,
        [encoded(schema, {"f0": each}) for each in values],
        f0__x="Array(UInt8)",
        f0__n="Array(Nullable(String))",
    )
    assert columns == {"f0.x": [[1, 2], []], "f0.n": [[b"a", None], []]}
    assert not reasons


def test_a_union_of_several_types_has_one_column():
    schema = record_of([["null", "int", "string", {"type": "array", "items": "int"}]])
    values = [5, "x", None, [1]]
    datums = [encoded(schema, {"f0": each}) for each in values]
    columns, reasons, _ = read(schema, datums, f0="Nullable(Int8)")
    assert columns["f0"][0] == 5
    assert columns["f0"][2] is None
    assert reasons == {
        1: "f0: 'x' is no Nullable(Int8)",
        3: "f0: Avro's array is no Nullable(Int8)",
    }


@pytest.mark.parametrize(
    ("kind", "value", "column", "why"),
    [
        ("int", 300, "UInt8", "f0: 300 is no UInt8"),
        ("string", "x", "Int8", "f0: 'x' is no Int8"),
        ("long", 2**53 + 1, "Float64", "f0: 9007199254740993 is no Float64"),
        ({"type": "array", "items": "int"}, [1], "Int8", "f0: Avro's array is no Int8"),
        ({"type": "array", "items": "int"}, [1, 300], "Array(UInt8)", "f0: 300 is no UInt8"),
        ({"type": "array", "items": ["null", "int"]}, [None], "Array(Int8)", "f0: null is no Int8"),
        ({"type": "map", "values": "int"}, {"a": 1}, "String", "f0: Avro's map is no String"),
        (PLACE, {"x": 1, "n": None}, "String", "f0: Avro's record is no String"),
        ("int", 1, "Array(Int8)", "f0: 1 is no Array(Int8)"),
        (
            {"type": "enum", "name": "e", "symbols": ["A"]}, "A", "Enum8('B' = 1)",
            "f0: 'A' is no Enum8('B' = 1)",
        ),
    ],
)  # fmt: skip
def test_a_value_that_its_column_does_not_take_has_a_reason(kind, value, column, why):
    schema = record_of([kind])
    _, reasons, _ = read(schema, [encoded(schema, {"f0": value})], f0=column)
    assert reasons == {0: why}


def test_a_datum_that_ends_too_early_names_the_field():
    schema = record_of(["int", PLACE])
    good = encoded(schema, {"f0": 1, "f1": {"x": 2, "n": "abc"}})
    columns, reasons, cursors = read(
        schema, [good, good[:-1], b"", good], f0="Int8", f1__n="String"
    )
    assert reasons == {1: "f1.n: cannot be read", 2: "f0: cannot be read"}
    assert cursors.is_broken.tolist() == [False, True, True, False]
    assert [columns["f1.n"][at] for at in (0, 3)] == [b"abc", b"abc"]


@pytest.mark.parametrize(
    ("item", "datum", "column"),
    [
        ("boolean", b"\x02\x02\x00", "Array(UInt8)"),
        ("int", b"\x02" + encoded("long", 2**40) + b"\x00", "Array(Int64)"),
        ("string", b"\x02\x04a\x00", "Array(String)"),
        (["null", "int"], b"\x02\x04\x02\x00", "Array(Int8)"),
        ({"type": "array", "items": "boolean"}, b"\x02\x02\x02\x00\x00", "Array(Array(UInt8))"),
    ],
)
@pytest.mark.parametrize("is_wanted", [True, False])
def test_an_item_that_cannot_be_read_breaks_its_array(item, datum, column, is_wanted):
    schema = record_of([{"type": "array", "items": item}])
    types = {"f0": column} if is_wanted else {}
    _, reasons, cursors = read(schema, [b"\x00", datum, b"\x00"], **types)
    assert reasons == {1: "f0: cannot be read"}
    assert cursors.is_broken.tolist() == [False, True, False]


def test_a_branch_that_the_union_does_not_have_cannot_be_read():
    schema = record_of([["null", "int"]])
    _, reasons, _ = read(schema, [b"\x04\x02", b"\x01\x02", b"\x02\x02"], f0="Int8")
    assert reasons == dict.fromkeys((0, 1), "f0: cannot be read")


INNER = {
    "type": "record",
    "name": "inner",
    "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": ["null", "string"]}],
}


def row_of(kind):
    return {"type": "record", "name": "row", "fields": [{"name": "c", "type": kind}]}


def test_a_tuple_takes_the_fields_that_are_named_like_its_elements():
    datums = [encoded(row_of(INNER), {"c": {"a": 5, "b": each}}) for each in ("x", None)]
    kind = "Tuple(b Nullable(String), new Array(Int8), a Int8)"
    columns, reasons, _ = read(row_of(INNER), datums, c=kind)
    assert not reasons
    assert columns["c"] == [{"b": each, "new": [], "a": 5} for each in (b"x", None)]


@pytest.mark.parametrize(
    ("kind", "column", "value", "why"),
    [
        (INNER, "Tuple(b String)", {"a": 1, "b": None}, "c.b: null is no String"),
        (INNER, "Tuple(a Int8)", {"a": 300, "b": None}, "c.a: 300 is no Int8"),
        (INNER, "Tuple(Int32, Nullable(String))", {"a": 1, "b": None}, "c: Avro's record is no"),
        (INNER, "Map(String, String)", {"a": 1, "b": None}, "c: Avro's record is no Map"),
        ({"type": "map", "values": "int"}, "Tuple(a Int8)", {"a": 1}, "c: Avro's map is no Tuple"),
        ({"type": "map", "values": "int"}, "Map(Int8, Int8)", {"x": 1}, "c.key: 'x' is no Int8"),
        (
            {"type": "map", "values": ["null", "int"]},
            "Map(String, Int8)",
            {"x": None},
            "c.value: null is no Int8",
        ),
        ({"type": "array", "items": ["null", INNER]}, "Array(Tuple(a Int8))", [None], "null is no"),
        ("int", "Tuple(a Int8)", 5, "c: 5 is no Tuple(a Int8)"),
        ({"type": "array", "items": "int"}, "Array(Tuple(a Int8))", [5], "c: 5 is no Tuple"),
    ],
)
def test_a_nested_value_that_does_not_fit_makes_its_record_bad_and_no_other(
    kind, column, value, why
):
    schema = row_of(["string", kind])
    datums = [encoded(schema, {"c": value})]
    _, reasons, cursors = read(schema, datums, c=column)
    assert why in reasons[0] and len(reasons) == 1
    assert (cursors.at == cursors.end).all()


def test_an_optional_record_that_is_null_is_null():
    schema = row_of(["null", INNER])
    datums = [encoded(schema, {"c": each}) for each in ({"a": 1, "b": "x"}, None)]
    cursors = cursors_over(datums)
    wanted = {"c": column_type("Tuple(a Int8)")}
    columns = AvroColumns("UTC").read(avro_type(json.dumps(schema).encode()), cursors, wanted)
    assert columns["c"].to_pylist() == [{"a": 1}, None]
    assert columns.nulls["c"].tolist() == [False, True]


def test_entries_of_a_map_with_keys_that_are_no_texts_are_records():
    """Connect's converter writes such a map as an array of records of key and value."""
    entry = {
        "type": "record",
        "name": "MapEntry",
        "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": "string"}],
    }
    schema = row_of({"type": "array", "items": entry})
    datums = [encoded(schema, {"c": [{"key": 7, "value": "x"}]})]
    columns, reasons, _ = read(schema, datums, c="Map(UInt8, String)")
    assert (columns["c"], reasons) == ([[{"key": 7, "value": b"x"}]], {})


def test_a_key_that_is_there_twice_makes_its_record_bad():
    schema = row_of({"type": "map", "values": "int"})
    once = encoded(schema, {"c": {"x": 1}})
    twice = b"\x04" + once[1:4] + once[1:]
    assert len(once) == 5
    _, reasons, _ = read(schema, [once, twice], c="Map(String, Int8)")
    assert reasons == {1: "c: a key is there twice"}
