"""Datums as Arrow: the values are those that fastavro reads, nested as they are."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.formats.avro_arrow import arrow_type, arrow_values
from aggregator.formats.avro_schema import UnsupportedSchema, avro_type
from tests.aggregator.formats.datums import (
    ENUM,
    FIXED,
    cursors_over,
    encoded,
    logical,
    record_of,
)

_moments = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1))
SCALARS = [
    ("null", st.none()),
    ("boolean", st.booleans()),
    ("int", st.integers(-(2**31), 2**31 - 1)),
    ("long", st.integers(-(2**63), 2**63 - 1)),
    ("float", st.floats(width=32, allow_nan=False)),
    ("double", st.floats(allow_nan=False)),
    ("string", st.text(max_size=9)),
    ("bytes", st.binary(max_size=9)),
    (FIXED, st.binary(min_size=3, max_size=3)),
    (ENUM, st.sampled_from("ABC")),
    (logical("int", "date"), st.dates(date(1, 1, 1), date(9999, 12, 31))),
    (logical("long", "timestamp-micros"), _moments.map(lambda each: each.replace(tzinfo=UTC))),
    (logical("long", "local-timestamp-micros"), _moments),
    (
        logical("bytes", "decimal", precision=9, scale=2),
        st.decimals(1 - 10**7, 10**7 - 1, places=2),
    ),
    (
        logical("fixed", "decimal", precision=4, scale=4, name="money", size=7),
        st.decimals(Decimal("-0.9999"), Decimal("0.9999"), places=4),
    ),
]


def _nested(inner):
    return st.one_of(
        inner.map(
            lambda each: ({"type": "array", "items": each[0]}, st.lists(each[1], max_size=3))
        ).filter(lambda each: each[0]["items"] != "null"),
        inner.map(
            lambda each: (
                {"type": "map", "values": each[0]},
                st.dictionaries(st.text(max_size=3), each[1], max_size=3),
            )
        ),
        inner.filter(lambda each: each[0] != "null" and not isinstance(each[0], list)).map(
            lambda each: (["null", each[0]], st.none() | each[1])
        ),
    )


KINDS = st.recursive(st.sampled_from(SCALARS), _nested, max_leaves=3)


def type_of(schema):
    return avro_type(json.dumps(schema).encode())


def as_read(value):
    """Returns a value as Arrow shows it: maps are lists of pairs."""
    if isinstance(value, dict):
        return [(key, as_read(each)) for key, each in value.items()]
    return [as_read(each) for each in value] if isinstance(value, list) else value


@settings(max_examples=100, deadline=None)
@given(st.lists(KINDS, min_size=1, max_size=4), st.data())
def test_a_record_is_a_struct_of_its_fields(kinds, data):
    schema = record_of([kind for kind, _ in kinds])
    values = st.fixed_dictionaries({f"f{at}": found for at, (_, found) in enumerate(kinds)})
    rows = data.draw(st.lists(values, min_size=1, max_size=130))
    cursors = cursors_over([encoded(schema, row) for row in rows])
    found = arrow_values(type_of(schema), cursors)
    found.validate(full=True)
    assert found.type == arrow_type(type_of(schema))
    assert not cursors.is_broken.any() and (cursors.at == cursors.end).all()
    wanted = [{name: as_read(each) for name, each in row.items()} for row in rows]
    assert found.to_pylist() == wanted


def test_a_union_of_several_types_is_a_struct_of_them():
    schema = ["null", "int", "string"]
    cursors = cursors_over([encoded(schema, each) for each in (None, 1, "a")])
    found = arrow_values(type_of(schema), cursors)
    assert found.to_pylist() == [
        None,
        {"member0": 1, "member1": None},
        {"member0": None, "member1": "a"},
    ]


@pytest.mark.parametrize("kind", ["int", "string", FIXED, ["null", "int", "string"]])
def test_a_datum_that_is_cut_is_broken_and_changes_no_other(kind):
    schema = record_of([kind, "long"])
    value = {"int": 1, "string": "abc"}.get(str(kind), b"abc" if kind == FIXED else 7)
    datums = [encoded(schema, {"f0": value, "f1": at}) for at in range(3)]
    for size in range(len(datums[1])):
        cursors = cursors_over([datums[0], datums[1][:size], datums[2]])
        found = arrow_values(type_of(schema), cursors)
        assert cursors.is_broken.tolist() == [False, True, False]
        assert [found[at].as_py()["f1"] for at in (0, 2)] == [0, 2]


def test_a_text_that_is_not_utf_8_and_a_decimal_of_too_many_digits_are_broken():
    cursors = cursors_over([b"\x02a", b"\x02\xff", b"\x02b"])
    arrow_values(type_of("string"), cursors)
    assert cursors.is_broken.tolist() == [False, True, False]
    kind = logical("bytes", "decimal", precision=3, scale=1)
    cursors = cursors_over([b"\x04\x03\xe7", b"\x04\x03\xe8", b"\x04\xfc\x18", b"\x04\xfc\x19"])
    found = arrow_values(type_of(kind), cursors)
    assert cursors.is_broken.tolist() == [False, True, True, False]
    assert [found[at].as_py() for at in (0, 3)] == [Decimal("99.9"), Decimal("-99.9")]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "record", "name": "empty", "fields": []},
        logical("bytes", "decimal", precision=39, scale=2),
        logical("bytes", "decimal", scale=2),
    ],
)
def test_what_parquet_cannot_hold_is_refused(schema):
    with pytest.raises(UnsupportedSchema):
        arrow_type(type_of(schema))


def test_fields_may_be_null_only_where_the_schema_allows_it():
    found = arrow_type(type_of(record_of(["int", ["null", "int"], "null"])))
    assert [each.nullable for each in found] == [False, True, True]
    items = arrow_type(type_of({"type": "array", "items": ["null", "int"]}))
    assert items == pa.list_(pa.field("element", pa.int32()))
