"""JSON documents as columns of a schema: values, defaults, and what is refused, one by one."""

import json
from datetime import UTC, date, datetime

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.formats.avro_arrow import arrow_type
from aggregator.formats.avro_schema import UnsupportedSchema, avro_type
from aggregator.formats.json_columns import JsonColumns


def columns(*fields):
    listed = [{"name": name, "type": kind, **more} for name, kind, more in fields]
    schema = {"type": "record", "name": "row", "fields": listed}
    return JsonColumns(avro_type(json.dumps(schema).encode()))


def read(made, *documents):
    found = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in documents]
    return made.read(pa.array(found, pa.binary()))


def logical(base, name):
    return {"type": base, "logicalType": name}


SCALARS = {
    "boolean": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "double": st.floats(allow_nan=False, allow_infinity=False),
    "string": st.text(st.characters(exclude_categories=["Cs"]), max_size=9),
}
INNER = {"type": "record", "name": "inner", "fields": [{"name": "x", "type": ["null", "int"]}]}


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_documents_are_rows_with_the_values_that_they_have(data):
    kinds = data.draw(st.lists(st.sampled_from([*SCALARS]), min_size=1, max_size=4))
    fields = [(f"f{at}", ["null", kind], {}) for at, kind in enumerate(kinds)]
    fields += [("inner", INNER, {}), ("list", {"type": "array", "items": "string"}, {})]
    values = {f"f{at}": st.none() | SCALARS[kind] for at, kind in enumerate(kinds)}
    values["inner"] = st.fixed_dictionaries({"x": st.none() | SCALARS["int"]})
    values["list"] = st.lists(SCALARS["string"], max_size=3)
    rows = data.draw(st.lists(st.fixed_dictionaries(values), min_size=1, max_size=20))
    made = columns(*fields)
    found = read(made, *rows)
    assert (found.to_pylist(), made.reasons) == (rows, {})
    assert found.type == made.type


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        ("int", "1", "Column(/a) changed from number to string"),
        ("int", 2**31, "Failed to convert JSON to int32, couldn't parse:2147483648"),
        ("int", 1.5, "Failed to convert JSON to int32, couldn't parse:1.5"),
        ("string", 1, "Column(/a) changed from string to number"),
        ("string", {"b": 1}, "Column(/a) changed from string to object"),
        ("int", None, "a is missing"),
        ({"type": "array", "items": "int"}, [1, None], "a has null as an item"),
        ({"type": "enum", "name": "e", "symbols": ["A"]}, "B", "a is no symbol"),
        (INNER, None, "a is missing"),
        (
            {**INNER, "fields": [{"name": "x", "type": "int"}]},
            {"y": 1},
            "a.x is missing",
        ),
        (logical("long", "timestamp-millis"), "soon", "couldn't parse:soon"),
    ],
)
def test_a_document_of_another_type_is_refused_and_no_other(kind, value, reason):
    made = columns(("n", "int", {}), ("a", kind, {}))
    good = {"int": 1, "string": "s"}.get(str(kind))
    if good is None:
        is_array = kind.get("type") == "array"
        good = {"enum": "A", "record": {"x": 1}, "long": 5}.get(kind["type"], [] if is_array else 0)
    documents = [{"n": at, "a": good} for at in range(7)]
    documents[3]["a"] = value
    found = read(made, *documents)
    assert list(made.reasons) == [3]
    assert reason in made.reasons[3]
    assert [found[at].as_py()["n"] for at in (0, 1, 2, 4, 5, 6)] == [0, 1, 2, 4, 5, 6]


@pytest.mark.parametrize(
    "document", [b"5", b"[]", b'{"n": 1, "n": 2}', b'{"n": 1}{"n": 2}', b'{"n": 1e999}']
)
def test_what_is_not_one_object_is_refused(document):
    made = columns(("n", "double", {}))
    read(made, {"n": 1}, document, {"n": 3})
    assert list(made.reasons) == [1]


def test_times_and_days_are_texts_or_numbers():
    made = columns(
        ("at", logical("long", "timestamp-millis"), {}), ("day", logical("int", "date"), {})
    )
    moment, day = datetime(2013, 7, 1, 12, tzinfo=UTC), date(2013, 7, 1)
    texts = {"at": "2013-07-01T14:00:00+02:00", "day": "2013-07-01"}
    numbers = {"at": int(moment.timestamp() * 1000), "day": (day - date(1970, 1, 1)).days}
    for documents in ([texts], [numbers], [texts, numbers, texts]):
        assert read(made, *documents).to_pylist() == [{"at": moment, "day": day}] * len(documents)
        assert made.reasons == {}


def test_a_missing_field_has_its_default_and_a_null_one_is_null():
    made = columns(
        ("a", "int", {"default": 7}),
        ("b", ["null", "string"], {"default": None}),
        ("c", ["string", "null"], {"default": "x"}),
    )
    found = read(made, {}, {"a": 1, "b": "y", "d": [{}]}, {"a": None}, {"c": None}).to_pylist()
    assert [found[at] for at in (0, 1, 3)] == [
        {"a": 7, "b": None, "c": "x"},
        {"a": 1, "b": "y", "c": "x"},
        {"a": 7, "b": None, "c": None},
    ]
    assert made.reasons == {2: "a is missing"}


ROW = {
    "type": "record",
    "name": "nested",
    "fields": [
        {"name": "a", "type": "int", "default": 7},
        {"name": "b", "type": ["string", "null"], "default": "b"},
        {"name": "list", "type": {"type": "array", "items": "int"}, "default": [1, 2]},
    ],
}
FIELDS = [
    ("a", "int", {"default": 3}),
    ("b", ["null", "int"], {}),
    ("row", [ROW, "null"], {"default": {"a": 5}}),
    ("rows", {"type": "array", "items": ["null", "nested"]}, {"default": [{"b": None}]}),
]


def test_a_field_is_found_by_its_aliases_at_any_depth():
    inner = {
        "type": "record",
        "name": "inner",
        "fields": [{"name": "x", "type": ["int", "null"], "aliases": ["y", "z"], "default": 7}],
    }
    made = columns(("a", {"type": "array", "items": inner}, {"aliases": ["old"], "default": []}))
    found = read(
        made,
        {"a": [{"x": 1}, {"y": 2}, {"z": 3}, {"z": None}, {}, {"x": 4, "y": 5}]},
        {"old": [{"y": 6}, {"x": None}]},
        {"older": [{"y": 6}]},
    )
    assert [[each["x"] for each in row["a"]] for row in found.to_pylist()] == [
        [1, 2, 3, None, 7, 4],
        [6, None],
        [],
    ]
    assert made.reasons == {} and found.type == made.type


nested = st.fixed_dictionaries(
    {},
    optional={
        "a": st.none() | SCALARS["int"],
        "b": st.none() | st.text("xyé", max_size=3),
        "list": st.none() | st.lists(SCALARS["int"], max_size=2),
    },
)
documents = st.fixed_dictionaries(
    {},
    optional={
        "a": st.none() | SCALARS["int"],
        "b": st.none() | SCALARS["int"],
        "row": st.none() | nested,
        "rows": st.none() | st.lists(st.none() | nested, max_size=3),
        "other": st.just({"a": None}),
    },
)


def completed(row):
    """Returns what a document means, in plain Python; None if it is refused."""
    own = {"a": 3, "b": None, "row": {"a": 5}, "rows": [{"b": None}], **row}
    own.pop("other", None)
    if own["a"] is None or own["rows"] is None:
        return None
    rows = [own["row"], *own["rows"]]
    full = [each and {"a": 7, "b": "b", "list": [1, 2], **each} for each in map(_given, rows)]
    if any(each and (each["a"] is None or each["list"] is None) for each in full):
        return None
    return {**own, "row": full[0], "rows": full[1:]}


def _given(each):
    # An empty object is no null.
    return None if each is None else {"a": 7, **each}


@given(st.lists(documents, min_size=1, max_size=8))
def test_null_and_missing_fields_are_told_apart_at_any_depth(rows):
    made = columns(*FIELDS)
    found = read(made, *rows).to_pylist()
    wanted = [completed(row) for row in rows]
    assert sorted(made.reasons) == [at for at, row in enumerate(wanted) if row is None]
    assert [row for at, row in enumerate(found) if at not in made.reasons] == [
        row for row in wanted if row is not None
    ]


@pytest.mark.parametrize(
    ("kind", "default", "meant"),
    [
        ("bytes", "\u00ff\u0000é", b"\xff\x00\xe9"),
        ("double", 3, 3.0),
        ("long", -(2**63), -(2**63)),
        ({"type": "enum", "name": "e", "symbols": ["A", "B"]}, "B", "B"),
        (logical("int", "date"), 18262, date(2020, 1, 1)),
        (logical("long", "timestamp-millis"), 5, datetime(1970, 1, 1, 0, 0, 0, 5000, tzinfo=UTC)),
        ({"type": "array", "items": "string"}, ["é"], ["é"]),
        (ROW, {"a": 1}, {"a": 1, "b": "b", "list": [1, 2]}),
    ],
)
def test_a_default_means_what_avro_says(kind, default, meant):
    made = columns(("n", "int", {}), ("v", kind, {"default": default}))
    found = read(made, {"n": 1}).to_pylist()
    assert (found, made.reasons) == ([{"n": 1, "v": meant}], {})


def test_documents_that_are_spaced_or_large_are_read():
    made = columns(("a", "string", {}))
    large = "x" * (3 << 20)
    assert read(made, b' { "a" : "b" } ', {"a": large}).to_pylist() == [{"a": "b"}, {"a": large}]
    assert read(made).to_pylist() == []


@pytest.mark.parametrize(
    "kind", [["int", "string"], {"type": "map", "values": "int"}, logical("bytes", "decimal")]
)
def test_a_schema_that_documents_cannot_have_is_refused(kind):
    with pytest.raises(UnsupportedSchema):
        columns(("a", kind, {}))
    with pytest.raises(UnsupportedSchema):
        JsonColumns(avro_type(b'"int"'))


def test_the_types_are_those_of_avro():
    made = columns(("a", ["null", INNER], {}))
    assert made.type == arrow_type(
        avro_type(
            json.dumps(
                {
                    "type": "record",
                    "name": "row",
                    "fields": [{"name": "a", "type": ["null", INNER]}],
                }
            ).encode()
        )
    )
