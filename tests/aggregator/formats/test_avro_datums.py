"""Records with datums of Avro as rows of a table."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.formats import avro_datums
from aggregator.formats.avro_datums import AvroDatums
from replicator.config.schema_folder import SchemaFolder
from tests.aggregator.formats.datums import encoded, record_of
from tests.aggregator.formats.slices import slice_of, table

TABLE = table(f0="Int32", f1="Nullable(String)", f2="Array(UInt8)")
NEW = record_of(["int", ["null", "string"], {"type": "array", "items": ["null", "int"]}, "string"])
OLD = record_of(["int"])
MANY = {"type": "array", "items": OLD}


def framed(schema_id, datum):
    return b"\0" + schema_id.to_bytes(4, "big") + datum


def decoder(**schemas):
    files = {
        f"{name.lstrip('_')}.avsc": json.dumps(each).encode() for name, each in schemas.items()
    }
    return AvroDatums(SchemaFolder(Path("schemas"), files))


DECODE = decoder(_1=NEW, _2=OLD, _3=MANY)


def rows(decoded):
    """Returns offset, row and values of each row."""
    columns = [
        decoded.columns[name].to_pylist() if name in decoded.columns else [None] * len(decoded)
        for name in ("f0", "f1", "f2")
    ]
    return list(zip(decoded.offset.tolist(), decoded.row.tolist(), *columns, strict=True))


def dead(decoded):
    return {each.offset: each.reason for each in decoded.dead}


def new(f0, f1=None, f2=()):
    return framed(1, encoded(NEW, {"f0": f0, "f1": f1, "f2": list(f2), "f3": "ignored"}))


def test_each_datum_is_read_by_the_schema_it_was_written_with():
    old = framed(2, encoded(OLD, {"f0": 2}))
    found = DECODE([slice_of([new(1, "a", [3]), old, None, new(4)], first=10)], TABLE)
    assert rows(found) == [(10, 0, 1, b"a", [3]), (11, 0, 2, None, None), (13, 0, 4, None, [])]
    assert dead(found) == {}
    assert found.timestamp_ms[1] - found.timestamp_ms[0] == 1


def test_an_array_of_records_is_several_rows():
    many = framed(3, encoded(MANY, [{"f0": 1}, {"f0": 2}]))
    none = framed(3, encoded(MANY, []))
    found = DECODE([slice_of([none, many, new(3)])], TABLE)
    assert [each[:3] for each in rows(found)] == [(1, 0, 1), (1, 1, 2), (2, 0, 3)]


def test_one_bad_row_makes_its_record_dead():
    small = table(f0="Int8")
    many = framed(3, encoded(MANY, [{"f0": 1}, {"f0": 300}]))
    found = DECODE([slice_of([many, new(3)])], small)
    assert [each[:3] for each in rows(found)] == [(1, 0, 3)]
    assert dead(found) == {0: "f0: 300 is no Int8"}


def test_an_array_of_too_many_records_is_dead(monkeypatch):
    monkeypatch.setattr(avro_datums, "ROWS_MAX", 2)
    values = [framed(3, encoded(MANY, [{"f0": 1}] * count)) for count in (2, 3)]
    found = DECODE([slice_of(values)], TABLE)
    assert len(found) == 2
    assert dead(found) == {1: "more than 2 rows"}


def test_an_unknown_schema_is_named_with_the_mend():
    found = DECODE([slice_of([framed(70_000, b""), new(1)])], TABLE)
    assert len(found) == 1
    assert dead(found)[0] == (
        "70000.avsc: the schema is unknown; put it into the folder of schemas, "
        "and start `sluice aggregate` again"
    )


@pytest.mark.parametrize("value", [b"", b"\0", b"\0\0\0\0", b"\1\0\0\0\1"])
def test_a_value_without_header_is_dead(value):
    found = DECODE([slice_of([value, new(1)])], TABLE)
    assert len(found) == 1
    assert dead(found)[0].startswith("no Confluent header; for plain datums put t.avsc into")


def test_a_table_with_its_own_schema_has_plain_datums():
    decode = decoder(t=OLD, _1=NEW)
    found = decode([slice_of([encoded(OLD, {"f0": 0}), new(1)])], TABLE)
    assert rows(found) == [(0, 0, 0, None, None)]
    assert "by the schema t.avsc" in dead(found)[1]


def test_a_table_named_by_a_number_has_no_schema_of_its_own():
    numbered = table(f0="Int32").__class__("2", TABLE.columns)
    assert len(DECODE([slice_of([framed(2, b"\x02")])], numbered)) == 1


def test_bytes_behind_a_datum_make_it_dead():
    found = DECODE([slice_of([new(1) + b"x", new(2)])], TABLE)
    assert rows(found) == [(1, 0, 2, None, [])]
    assert dead(found) == {0: "1 bytes behind the datum, by the schema 1.avsc"}


def test_a_schema_that_is_none_is_named():
    decode = decoder(_1={"type": "record"}, _2="int")
    found = decode([slice_of([framed(1, b""), framed(2, b"")])], TABLE)
    assert dead(found)[0].startswith("1.avsc: no Avro schema")
    assert dead(found)[1] == "2.avsc: neither a record nor an array of records"


def test_rows_of_many_datums_stay_in_order(monkeypatch):
    monkeypatch.setattr(avro_datums, "DATUMS_AT_ONCE", 2)
    values = [new(0), framed(2, encoded(OLD, {"f0": 1})), new(2), None, new(4), new(5), new(6)]
    found = DECODE([slice_of(values)], TABLE)
    assert [each[0] for each in rows(found)] == [0, 1, 2, 4, 5, 6]
    assert [each[2] for each in rows(found)] == [0, 1, 2, 4, 5, 6]


def test_no_records_are_no_rows():
    assert len(DECODE([], TABLE)) == 0
    assert len(DECODE([slice_of([None])], TABLE)) == 0


def changed(value, at, octet):
    at %= len(value)
    return value[:at] + bytes([octet]) + value[at + 1 :]


good = st.builds(
    new,
    st.integers(-(2**31), 2**31 - 1),
    st.none() | st.text(max_size=3),
    st.lists(st.integers(0, 255), max_size=3),
)
spoiled = st.one_of(
    st.binary(max_size=12),
    st.builds(lambda datum: framed(1, datum), st.binary(max_size=12)),
    st.builds(lambda value, at: value[: at % len(value)], good, st.integers(0, 100)),
    st.builds(lambda value, rest: value + rest, good, st.binary(max_size=9)),
    st.builds(changed, good, st.integers(0, 100), st.integers(0, 255)),
)


@settings(max_examples=80)
@given(st.lists(good | spoiled, min_size=1, max_size=6))
def test_what_a_record_holds_does_not_depend_on_its_neighbours(values):
    alone = [DECODE([slice_of([value], first=at)], TABLE) for at, value in enumerate(values)]
    # So many that items of arrays are passed in step.
    crowd = [new(at, "neighbour", [1] * (at % 5)) for at in range(150)]
    together = DECODE([slice_of(values), slice_of(crowd, first=1000)], TABLE)
    assert [row for row in rows(together) if row[0] < 1000] == [
        (at, number, f0, f1, f2) for each in alone for at, number, f0, f1, f2 in rows(each)
    ]
    assert dead(together) == {at: why for each in alone for at, why in dead(each).items()}
    assert sum(row[0] >= 1000 for row in rows(together)) == 150
