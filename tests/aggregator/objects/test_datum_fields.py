"""Datum fields: texts of the fields of Avro datums, whatever else they hold."""

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.objects.datum_fields import DatumFields
from aggregator.schemas.known_schemas import KnownSchemas
from tests.aggregator.files.schema_records import KNOWN, row, value
from tests.aggregator.formats.datums import ENUM, FIXED, encoded, logical
from tests.aggregator.formats.slices import slice_of

MOMENT = datetime(2013, 7, 1, 12, 0, 5, tzinfo=UTC)


def texts(reader, values, *paths):
    found = reader(slice_of(values), [tuple(each.split(".")) for each in paths])
    return [[each.texts[at] for at in each.number.tolist()] for each in found]


def of_schema(fields, **more):
    schema = {"type": "record", "name": "row", "fields": [
        {"name": name, "type": kind} for name, kind in fields.items()
    ]}  # fmt: skip
    known = KnownSchemas({"t.avsc": json.dumps(schema).encode()})
    return DatumFields(known, "t", **more), lambda **row: encoded(schema, row)


@given(st.lists(st.none() | st.tuples(st.integers(0, 40), st.sampled_from([1, 2, 3])), min_size=1))
def test_fields_are_read_by_the_schema_of_each_datum(found):
    values = [b"none" if each is None else value(*each) for each in found]
    rows = [row(each[0]) if each else {} for each in found]
    known = {1: ["number", "text"], 2: ["number", "text", "more"], 3: ["number"]}
    wanted = [
        [
            None if not each or name not in known[each[1]] or own[name] is None else str(own[name])
            for each, own in zip(found, rows, strict=True)
        ]
        for name in ("text", "number", "more")
    ]
    assert texts(DatumFields(KNOWN, "t"), values, "text", "number", "more") == wanted


@pytest.mark.parametrize(
    ("kind", "given", "wanted"),
    [
        ("boolean", True, "true"),
        ("int", -5, "-5"),
        ("double", 1.5, "1.5"),
        (ENUM, "B", "B"),
        (logical("int", "date"), date(2013, 7, 1), "2013-07-01"),
        (logical("bytes", "decimal", precision=9, scale=2), Decimal("1.50"), "1.50"),
        ("bytes", b"a", None),
        (FIXED, b"abc", None),
        ({"type": "array", "items": "int"}, [1], None),
        ({"type": "map", "values": "int"}, {"a": 1}, None),
        (["null", "string"], None, None),
        (["int", "string", "null"], "é", "é"),
        (["int", "string", "null"], 7, "7"),
    ],
)
def test_scalars_have_a_text_and_everything_else_has_none(kind, given, wanted):
    reader, datum = of_schema({"before": "string", "f": kind, "after": "string"})
    found = texts(reader, [datum(before="x", f=given, after="y")], "f", "after")
    assert found == [[wanted], ["y"]]


def test_fields_lie_within_others():
    inner = {"type": "record", "name": "city", "fields": [{"name": "name", "type": "string"}]}
    reader, datum = of_schema({"from": ["null", inner], "to": "city"})
    values = [datum(**{"from": {"name": "a"}, "to": {"name": "b"}}), datum(to={"name": "c"})]
    assert texts(reader, values, "from.name", "to.name", "to", "to.name.x") == [
        ["a", None],
        ["b", "c"],
        [None, None],
        [None, None],
    ]


@pytest.mark.parametrize(("unit", "scale"), [("s", 1), ("ms", 1000), ("us", 10**6)])
@pytest.mark.parametrize("own", ["millis", "micros"])
def test_times_are_numbers_of_the_unit(unit, scale, own):
    reader, datum = of_schema({"at": logical("long", f"timestamp-{own}")}, unit=unit)
    seconds = (MOMENT - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    assert texts(reader, [datum(at=MOMENT)], "at") == [[str(seconds * scale)]]


def test_times_without_a_zone_are_texts():
    kind = logical("long", "local-timestamp-millis")
    reader, datum = of_schema({"at": kind}, unit="ms")
    found = texts(reader, [datum(at=MOMENT.replace(tzinfo=None))], "at")
    assert found == [["2013-07-01 12:00:05.000"]]


def test_a_datum_that_is_cut_has_no_text_and_changes_no_other():
    reader, datum = of_schema({"a": "string", "b": "string"})
    whole = datum(a="x", b="yz")
    assert texts(reader, [whole, whole[:-1], whole[:1], None, whole], "a", "b") == [
        ["x", None, None, None, "x"],
        ["yz", None, None, None, "yz"],
    ]
