"""Row batches: rows of a batch become rows of a table."""

from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.formats import row_batches
from aggregator.formats.row_batch_type import WrittenColumn, written_columns
from aggregator.formats.row_batches import decode
from aggregator.formats.row_parts import RowPart, joined
from aggregator.tables.table_schema import COORDINATES, Column, TableSchema
from tests.aggregator.formats.protos import batch_class, row_batch
from tests.aggregator.formats.slices import TIMESTAMP, slice_of, table

# -- Row batches against their rows, through changes of the table, and every way to be wrong.

TYPES = {
    "number": "UInt64",
    "small": "Nullable(Int8)",
    "text": "LowCardinality(String)",
    "code": "FixedString(3)",
    "real": "Float64",
    "single": "Float32",
    "uuid": "UUID",
    "kind": "Enum16('a' = 1, 'b' = -300)",
    "day": "Date",
    "at": "DateTime",
    "fine": "DateTime64(6)",
    "list": "Array(Int32)",
    "holes": "Array(Nullable(String))",
    "price": "Decimal(12, 2)",
}
SCHEMA = table(**TYPES, **COORDINATES)
COLUMNS = written_columns(SCHEMA)
STRANGE = table(**{"größe": "UInt8", "a b": "String"})
VALUES = {
    "number": st.integers(0, 2**64 - 1),
    "small": st.integers(-128, 127),
    "text": st.binary(max_size=5),
    "code": st.binary(min_size=3, max_size=3),
    "real": st.floats(allow_nan=False),
    "single": st.floats(width=32, allow_nan=False),
    "uuid": st.binary(min_size=16, max_size=16),
    "kind": st.sampled_from([1, -300]),
    "day": st.integers(0, 2**16 - 1),
    "at": st.integers(0, 2**32 - 1),
    "fine": st.integers(-(10**15), 10**15),
    "list": st.lists(st.integers(-(2**31), 2**31 - 1), max_size=3),
    "holes": st.lists(st.none() | st.binary(max_size=3), max_size=3),
    "price": st.decimals(-(10**9), 10**9, places=2),
}
ROW = st.fixed_dictionaries({}, optional=VALUES)
LISTS = {"list": [], "holes": []}


def sent(row):
    """Returns the fields of a row as Protobuf has them."""
    fields = dict(row)
    if "price" in fields:
        fields["price"] = str(fields["price"])
    if "holes" in fields:
        fields["holes"] = [{} if each is None else {"value": each} for each in fields["holes"]]
    return fields


def batch(rows, columns=COLUMNS, **more):
    return row_batch(columns, [sent(row) for row in rows], **more)


def rows_of(decoded):
    columns = {name: values.to_pylist() for name, values in decoded.columns.items()}
    return [
        {name: values[at] for name, values in columns.items() if values[at] is not None}
        for at in range(len(decoded))
    ]


def expected(rows):
    # A list has no presence.
    return [{**LISTS, **row} for row in rows]


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.lists(ROW, max_size=4)), min_size=1, max_size=4))
def test_what_googles_library_wrote_is_what_it_reads(batches):
    values = [
        batch(rows, is_named=is_named, schema_hash="" if is_named else SCHEMA.hash)
        for is_named, rows in batches
    ]
    decoded = decode([slice_of(values)], SCHEMA)
    assert decoded.dead == () and not decoded.unknown_hashes
    assert rows_of(decoded) == [row for _, rows in batches for row in expected(rows)]
    where = [(at, number) for at, (_, rows) in enumerate(batches) for number in range(len(rows))]
    assert [*zip(decoded.offset.tolist(), decoded.row.tolist(), strict=True)] == where
    assert decoded.timestamp_ms.tolist() == [TIMESTAMP + at for at, _ in where]


BAD = [
    b"\xff",
    b"\x22\x02\x08",
    b"\x22\x01\x08",
    batch([{"number": 1}], table="other"),
    batch([{"number": 1}], is_named=False, schema_hash="01234567"),
    batch([{"number": 1}], is_named=False),
    batch([{"number": 1}]) + b"\x22\x01\x08",
    batch([{"number": 1}, {"day": -1}]),
    batch([{"kind": 7}, {"number": 1}]),
]


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(BAD) | st.none() | st.lists(ROW, max_size=3), max_size=10),
    st.integers(0, 10),
)
def test_a_bad_record_shifts_no_row_of_another(given_, cut):
    values = [batch(each) if isinstance(each, list) else each for each in given_]
    parts = [(values[:cut], 0), (values[cut:], cut)]
    decoded = decode([slice_of(part, first=at) for part, at in parts if part], SCHEMA)
    good = [(at, each) for at, each in enumerate(given_) if isinstance(each, list)]
    assert rows_of(decoded) == [row for _, rows in good for row in expected(rows)]
    assert decoded.offset.tolist() == [at for at, rows in good for _ in rows]
    assert [dead.offset for dead in decoded.dead] == [
        at for at, each in enumerate(given_) if isinstance(each, bytes)
    ]


def test_a_field_that_is_not_set_is_missing_and_a_zero_is_zero():
    decoded = decode([slice_of([batch([{"number": 0, "text": b""}])])], SCHEMA)
    assert rows_of(decoded) == [{"number": 0, "text": b"", **LISTS}]


def test_columns_of_any_name_can_be_written():
    values = batch([{"größe": 1, "a b": b"x"}], written_columns(STRANGE))
    assert rows_of(decode([slice_of([values])], STRANGE)) == [{"größe": 1, "a b": b"x"}]


# -- changes of the table
def test_old_batches_go_on_after_columns_were_added_and_dropped():
    old = table(a="UInt8", b="UInt8", c="String")
    new = table(z="UInt8", c="String", b="UInt8")
    values = batch([{"a": 1, "b": 2, "c": b"x"}], written_columns(old))
    assert rows_of(decode([slice_of([values])], new)) == [{"b": 2, "c": b"x"}]


@pytest.mark.parametrize(
    ("old", "new", "value", "found"),
    [
        ("UInt8", "Int64", 200, 200),
        ("Int32", "Nullable(Int64)", -1, -1),
        ("Float32", "Float64", 0.5, 0.5),
        ("Date", "DateTime", 1, 86400),
        ("DateTime", "DateTime64(3)", 5, 5000),
        ("DateTime64(9)", "DateTime", 5_999_999_999, 5),
        ("DateTime64(3)", "DateTime64(2)", 1239, 123),
        ("DateTime", "Date", 86_400, 1),
        ("Enum8('a' = 1)", "Enum8('a' = 5)", 1, 5),
        ("Enum8('a' = 1)", "String", 1, b"a"),
        ("FixedString(2)", "String", b"ab", b"ab"),
        ("Decimal(9, 1)", "Decimal(18, 3)", "1.5", Decimal("1.500")),
        ("Int32", "Decimal(9, 2)", 7, Decimal("7.00")),
        ("Array(UInt8)", "Array(Nullable(Int64))", [1, 2], [1, 2]),
    ],
)
def test_old_batches_go_on_after_a_type_was_changed(old, new, value, found):
    values = row_batch([WrittenColumn("a", old)], [{"a": value}])
    decoded = decode([slice_of([values])], table(a=new))
    assert not decoded.dead, decoded.dead
    assert rows_of(decoded) == [{"a": found}]


@pytest.mark.parametrize(
    ("old", "new", "value"),
    [
        ("UInt64", "String", 5),
        ("String", "UInt64", b"5"),
        ("Int64", "Int8", 128),
        ("Enum8('a' = 1)", "Enum8('b' = 1)", 1),
        ("Array(Int8)", "Int8", [1]),
        ("Int8", "Array(Int8)", 1),
        ("DateTime64(3)", "DateTime", -1),
        ("Date", "UInt16", 1),
    ],
)
def test_a_value_that_the_new_type_cannot_hold_is_dead_and_never_lost(old, new, value):
    values = row_batch([WrittenColumn("a", old)], [{"a": value}])
    [dead] = decode([slice_of([values])], table(a=new)).dead
    assert f"is no {new}" in dead.reason


def test_an_unknown_hash_is_told_so_that_the_columns_are_read_again():
    old, new = table(a="UInt8"), table(a="UInt8", b="UInt8")
    values = batch([{"a": 1}], written_columns(old), is_named=False, schema_hash=old.hash)
    decoded = decode([slice_of([values])], new)
    assert decoded.unknown_hashes == {old.hash}
    assert old.hash in decoded.dead[0].reason and new.hash in decoded.dead[0].reason
    assert not decode([slice_of([values])], old).unknown_hashes


def test_a_column_whose_type_cannot_be_loaded_is_left_out():
    schema = table(a="UInt8", b="Tuple(Int8, JSON)", c="UInt8")
    values = batch(
        [{"a": 1, "c": 3}], written_columns(schema), is_named=False, schema_hash=schema.hash
    )
    assert rows_of(decode([slice_of([values])], schema)) == [{"a": 1, "c": 3}]


NESTED = table(
    point="Tuple(x Int32, `the name` Nullable(String), `tHeName` Array(Tuple(Int8, Date)))",
    names="Map(UInt16, LowCardinality(String))",
    maps="Array(Map(String, Decimal(9, 2)))",
)
POINTS = [
    {"x": 5, "c_2": b"a", "tHeName": [{"c_1": 1, "c_2": 2}]},
    {},
]


def test_tuples_and_maps_are_messages():
    written = written_columns(NESTED)
    entry = {"key": 7, "value": b"seven"}
    prices = [{"value": [{"key": b"a", "value": "1.25"}]}, {}]
    rows = [{"point": each, "names": [entry], "maps": prices} for each in POINTS]
    decoded = decode([slice_of([batch(rows, written), batch([{}], written)])], NESTED)
    assert decoded.dead == ()
    full = {"x": 5, "the name": b"a", "tHeName": [{"1": 1, "2": 2}]}
    bare = {"x": 0, "the name": None, "tHeName": []}
    more = {
        "names": [{"key": 7, "value": b"seven"}],
        "maps": [[{"key": b"a", "value": Decimal("1.25")}], []],
    }
    none = {"names": [], "maps": []}
    assert rows_of(decoded) == [{"point": full, **more}, {"point": bare, **more}, none]


def test_a_tuple_of_another_table_is_converted_by_the_names_of_its_elements():
    written = [WrittenColumn("point", "Tuple(x Int32, y Int32, z UInt8)")]
    value = batch([{"point": {"x": 1, "y": 300, "z": 3}}], written)

    def read(kind):
        decoded = decode([slice_of([value])], table(point=kind))
        return rows_of(decoded) or decoded.dead[0].reason

    assert "is no" in read("Tuple(z String, x Int8)")
    assert read("Tuple(y Int64, new UInt8)") == [{"point": {"y": 300, "new": 0}}]
    assert "is no" in read("Tuple(y Int8)")
    assert "is no" in read("Tuple(Int32, Int32, UInt8)")
    assert "is no" in read("Map(String, Int32)")
    assert "is no" in read("Int32")


def test_a_key_that_is_there_twice_makes_its_record_dead():
    entry = {"key": 7, "value": b"seven"}
    value = batch([{"names": [entry, entry]}], written_columns(NESTED))
    assert "names" in decode([slice_of([value])], NESTED).dead[0].reason


def test_a_computed_column_is_not_filled_even_if_a_batch_names_it():
    columns = (Column("a", "UInt8"), Column("b", "UInt8", "MATERIALIZED", "a"))
    schema = TableSchema("t", columns)
    named = [WrittenColumn("a", "UInt8"), WrittenColumn("b", "UInt8")]
    values = row_batch(named, [{"a": 1, "b": 9}])
    assert rows_of(decode([slice_of([values])], schema)) == [{"a": 1}]


def test_coordinates_cannot_be_written():
    named = [WrittenColumn("a", "UInt8"), WrittenColumn("_offset", "UInt64")]
    values = row_batch(named, [{"a": 1, "_offset": 9}])
    schema = table(a="UInt8", **COORDINATES)
    assert [*decode([slice_of([values])], schema).columns] == ["a"]


def test_a_record_of_too_many_rows_is_dead(monkeypatch):
    monkeypatch.setattr(row_batches, "ROWS_MAX", 2)
    values = [batch([{"number": 1}] * count) for count in (2, 3)]
    decoded = decode([slice_of(values)], SCHEMA)
    assert decoded.offset.tolist() == [0, 0]
    assert decoded.dead[0].reason == "3 rows in one record, more than 2"


def test_a_batch_without_rows_is_no_row_and_not_dead():
    decoded = decode([slice_of([batch([]), None])], SCHEMA)
    assert len(decoded) == 0 and decoded.dead == ()


def test_times_are_exact_to_the_tick():
    at = datetime(2200, 2, 3, 4, 5, 6, 700, tzinfo=UTC)
    ticks = int(at.timestamp()) * 10**6 + 700
    decoded = decode([slice_of([batch([{"fine": ticks}])])], SCHEMA)
    assert np.asarray(decoded.columns["fine"]).tolist() == [ticks]


@pytest.mark.parametrize(
    "columns",
    [
        [("number", "Array(" * 400 + "UInt8" + ")" * 400)],
        [("number", "FixedString(99999999999999999999)")],
        [("number", "Enum8('a' = 99999999999999999999)")],
        [("number", "DateTime64(\N{SUPERSCRIPT TWO})")],
        [("number", "UInt64"), ("c_2", "UInt8"), ("a.b", "UInt8")],
        [("c_2", "UInt8"), ("a.b", "UInt8"), ("number", "UInt64")],
        [(f"a{number}", "UInt8") for number in range(9000)],
    ],
)
def test_whatever_columns_a_batch_names_other_batches_are_loaded(columns):
    good = batch([{"number": 5}])
    named = row_batches_columns(columns)
    decoded = decode([slice_of([good, named, good])], SCHEMA)
    assert [row for row in decoded.offset.tolist() if row != 1] == [0, 2]


def row_batches_columns(columns):
    """Returns a batch without rows that names these columns."""
    message = batch_class(())()
    for name, type_name in columns:
        message.columns.column.add(name=name, type=type_name)
    return message.SerializeToString()


def test_names_that_are_no_text_make_a_dead_letter():
    named = row_batches_columns([("xyz", "UInt8")]).replace(b"xyz", b"\xff\xfe\xfd")
    [dead] = decode([slice_of([named])], SCHEMA).dead
    assert "columns of its batch cannot be read" in dead.reason


def test_a_moment_out_of_range_within_a_list_makes_a_dead_letter():
    named = [WrittenColumn("at", "Array(DateTime)")]
    values = row_batch(named, [{"at": [2**60]}])
    [dead] = decode([slice_of([values])], table(at="Array(DateTime)")).dead
    assert "is no Array(DateTime)" in dead.reason


# -- Rows of records that were decoded in several ways.


def test_rows_are_in_the_order_of_their_records():
    one = RowPart({"a": pa.array([1, 2, 3])}, np.array([0, 0, 4]), np.array([0, 1, 0]), {2: "x"})
    two = RowPart({"b": pa.array(["p"])}, np.array([3]), np.array([0]), {1: "y"})
    found = joined([one, two])
    assert found.record.tolist() == [0, 0, 3, 4]
    assert found.row.tolist() == [0, 1, 0, 0]
    assert found.columns["a"].to_pylist() == [1, 2, None, 3]
    assert found.columns["b"].to_pylist() == [None, None, "p", None]
    assert found.dead == {1: "y", 2: "x"}


def test_no_parts_are_no_rows():
    found = joined([])
    assert len(found.record) == 0
    assert dict(found.columns) == {}
