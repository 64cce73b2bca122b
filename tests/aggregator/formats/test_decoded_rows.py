"""Decoded rows: values by column, and records at which a decoder fails."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats.binary_pieces import blocks, cut, grouped, joined, with_length, zigzags
from aggregator.formats.column_values import column_values, reason
from aggregator.formats.decoded_rows import REASON_CHARACTERS_MAX, decoded_rows, loaded_types
from aggregator.formats.json_documents import decode
from aggregator.formats.record_slice import RecordSlice
from aggregator.formats.undecodable import SettingAside
from aggregator.tables.column_type import column_type
from aggregator.tables.decoded import DeadRecord, Decoded
from aggregator.tables.table_schema import COORDINATES, Column, TableSchema
from tests.aggregator.formats.datums import encoded
from tests.aggregator.formats.slices import TIMESTAMP, slice_of, table

# -- Rows of records that are not dead.

SLICES = (slice_of([b"1", b"2"], first=5), slice_of([b"3", b"4"], first=9))
ROWS = np.array([0, 1, 1, 3]), np.array([0, 0, 1, 0])


def rows_of(schema, columns, dead=None, record=(0, 1, 1, 3)):
    return decoded_rows(
        SLICES, schema, columns, np.array(record), np.array([0, 0, 1, 0]), dead or {}
    )


def test_each_row_has_offset_and_time_of_its_record():
    found = rows_of(table(a="UInt8"), {"a": pa.array([1, 2, 3, 4], pa.uint8())})
    assert found.offset.tolist() == [5, 6, 6, 10]
    assert found.row.tolist() == [0, 0, 1, 0]
    assert (found.timestamp_ms - TIMESTAMP).tolist() == [0, 1, 1, 1]
    assert found.columns["a"].to_pylist() == [1, 2, 3, 4]


def test_rows_of_dead_records_are_taken_out():
    columns = {"a": pa.array([1, 2, 3, 4], pa.uint8())}
    found = rows_of(table(a="UInt8"), columns, {2: "no JSON", 1: "x" * 999})
    assert found.offset.tolist() == [5, 10]
    assert found.columns["a"].to_pylist() == [1, 4]
    long = "x" * REASON_CHARACTERS_MAX
    assert found.dead == (DeadRecord(6, long), DeadRecord(9, "no JSON"))


def test_a_column_that_only_dead_records_hold_is_left_out():
    columns = {"a": pa.array([None, 2, None, None], pa.uint8())}
    assert dict(rows_of(table(a="UInt8"), columns, {1: "bad"}).columns) == {}


def test_a_row_without_a_value_that_only_the_server_knows_stays_beside_others():
    schema = TableSchema("t", (Column("a", "UInt8", "DEFAULT", "b + 1"),))
    found = rows_of(schema, {"a": pa.array([1, 2, None, 4], pa.uint8())})
    assert found.offset.tolist() == [5, 6, 6, 10]
    assert found.is_missing("a").tolist() == [False, False, True, False]
    assert found.dead == ()


def test_null_is_a_value_of_a_nullable_column_and_bad_for_any_other():
    columns = (Column("a", "UInt8"), Column("b", "Nullable(UInt8)", "DEFAULT", "7"))
    values = pa.array([1, None, None, 4], pa.uint8())
    nulls = {name: np.array([False, True, False, False]) for name in "ab"}
    schema = TableSchema("t", columns[1:])
    found = decoded_rows(SLICES, schema, {"b": values}, *ROWS, {}, {"b": nulls["b"]})
    assert found.is_missing("b").tolist() == [False, False, True, False]
    found = decoded_rows(SLICES, TableSchema("t", columns), {"a": values}, *ROWS, {}, nulls)
    assert found.dead == (DeadRecord(6, "a: null is no UInt8"),)
    assert found.offset.tolist() == [5, 10]


def test_records_fill_no_coordinates_and_no_columns_that_cannot_be_loaded():
    others = [
        Column("a", "UInt8"),
        Column("b", "Map(String, JSON)"),
        Column("c", "Date", "ALIAS", "a"),
    ]
    coordinates = [Column(name, kind) for name, kind in COORDINATES.items()]
    assert list(loaded_types(TableSchema("t", (*coordinates, *others)))) == ["a"]


# -- Values of a reader as values of a column.


def read(kind, values, arrow):
    found, bad = column_values(column_type(kind), pa.array(values, arrow), "UTC")
    assert found.type == column_type(kind).arrow
    return ["bad" if each else value for value, each in zip(found.to_pylist(), bad, strict=True)]


@given(st.lists(st.none() | st.integers(-300, 300), max_size=5))
def test_integers_out_of_range_are_bad(values):
    expected = [each if each is None or -128 <= each <= 127 else "bad" for each in values]
    assert read("Int8", values, pa.int32()) == expected


def test_booleans_are_numbers():
    assert read("UInt8", [True, None, False], pa.bool_()) == [1, None, 0]
    assert read("Bool", [True], pa.bool_()) == [1]


def test_floats_are_rounded():
    assert read("Float32", [0.1, None], pa.float64()) == [pytest.approx(0.1, rel=1e-6), None]


def test_a_finite_number_that_would_become_infinite_is_bad():
    found = read("Float32", [1e39, -1e39, 3.4e38, float("inf"), None], pa.float64())
    assert found == ["bad", "bad", pytest.approx(3.4e38), float("inf"), None]


lists = st.lists(st.none() | st.lists(st.none() | st.integers(0, 400), max_size=3), max_size=4)


@given(lists, st.booleans())
def test_one_bad_element_makes_its_row_bad(values, nullable):
    def cell(each):
        if each is None:
            return None
        wrong = any((x is None and not nullable) or (x or 0) > 255 for x in each)
        return "bad" if wrong else each

    kind = "Array(Nullable(UInt8))" if nullable else "Array(UInt8)"
    found = read(kind, values, pa.large_list(pa.uint32()))
    assert found == [cell(each) for each in values]


def test_a_slice_of_lists_is_read_as_it_is():
    values = pa.array(
        [["1970-01-02"], None, [], ["x"], ["1970-01-03"]], pa.large_list(pa.large_string())
    )
    found, bad = column_values(column_type("Array(Date)"), values[1:], "UTC")
    assert found.to_pylist() == [None, [], [0], [2]]
    assert bad.tolist() == [False, False, True, False]


def test_values_of_a_type_that_the_column_does_not_take_are_bad():
    assert read("Int8", ["1", None], pa.large_string()) == ["bad", None]
    assert read("Int8", [[1], None], pa.large_list(pa.int8())) == ["bad", None]
    assert read("Array(Int8)", [1, None], pa.int8()) == ["bad", None]
    assert read("String", [1.5], pa.float64()) == ["bad"]
    assert read("Array(String)", [None], pa.null()) == [None]
    assert read("Decimal(9, 2)", [None], pa.null()) == [None]


def test_the_reason_shows_moments_that_python_has_not():
    kind = column_type("Date")
    assert reason("day", kind, pa.array([1], pa.timestamp("ns", tz="UTC")), 0) == (
        "day: 1970-01-01 00:00:00.000000001 is no Date"
    )
    assert "is no Date" in reason("day", kind, pa.array([2**63 - 1], pa.timestamp("ms")), 0)


def test_the_reason_shows_values_within_which_python_has_no_moment():
    kind = column_type("Array(DateTime)")
    times = pa.array([[2**62], [1]], pa.list_(pa.timestamp("ms")))
    assert "is no Array(DateTime)" in reason("times", kind, times, 0)
    inside = pa.array([{"at": 2**62}], pa.struct({"at": pa.timestamp("us", "UTC")}))
    assert "is no String" in reason("text", column_type("String"), inside, 0)


def test_the_reason_names_column_value_and_type():
    kind = column_type("Date")
    assert reason("day", kind, pa.array(["x"]), 0) == "day: 'x' is no Date"
    kind = column_type("Decimal(9, 4)")
    why = reason("price", kind, pa.array(["1.23456"]), 0)
    assert why == "price: '1.23456' does not fit into Decimal(9, 4)"


# -- Records at which a decoder fails are dead; all others are decoded as if these were not
# there.

SCHEMA = table(a="UInt64")


def failing(slices: Sequence[RecordSlice], schema: TableSchema) -> Decoded:
    """Decodes JSON, and fails where any record holds a word."""
    values = [part.value_at(at) for part in slices for at in range(len(part))]
    if any(b"poison" in (value or b"") for value in values):
        raise OverflowError("poison")
    return decode(slices, schema)


def document(at: int, *, is_poison: bool) -> bytes:
    return b'"poison"' if is_poison else b'{"a":%d}' % at


@given(st.lists(st.booleans(), max_size=40), st.integers(0, 40))
def test_the_others_are_decoded_and_the_failing_ones_are_named(poison, split_at):
    values = [document(at, is_poison=bad) for at, bad in enumerate(poison)]
    parts = [values[:split_at], values[split_at:]]
    slices = [
        slice_of(part, first=at) for at, part in zip((0, split_at), parts, strict=True) if part
    ]
    found = SettingAside(failing)(slices, SCHEMA)
    good = [at for at, bad in enumerate(poison) if not bad]
    assert found.offset.tolist() == good
    assert [record.offset for record in found.dead] == [at for at, bad in enumerate(poison) if bad]
    assert all("OverflowError: poison" in record.reason for record in found.dead)
    if good:
        assert found.columns["a"].to_pylist() == good


def test_a_failure_at_no_single_record_is_raised():
    def together(slices: Sequence[RecordSlice], schema: TableSchema) -> Decoded:
        if sum(map(len, slices)) > 1:
            raise ValueError("two are too many")
        return decode(slices, schema)

    with pytest.raises(ValueError, match="two are too many"):
        SettingAside(together)([slice_of([b'{"a":1}', b'{"a":2}'])], SCHEMA)


def test_what_the_decoder_sets_aside_itself_stays_in_order():
    values = [b'"poison"', b"broken", b'{"a":1}', b'"poison"']
    found = SettingAside(failing)([slice_of(values)], SCHEMA)
    assert [record.offset for record in found.dead] == [0, 1, 3]
    assert found.offset.tolist() == [2]


# -- Binary pieces: columns put together are what their rows are, and numbers are Avro's.

BYTES = st.binary(max_size=9)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_numbers_are_written_as_avro_writes_them(numbers):
    found = zigzags(np.array(numbers, np.int64)).to_pylist()
    assert found == [encoded("long", each) for each in numbers]


@given(st.lists(st.tuples(BYTES, st.none() | BYTES), min_size=1, max_size=9), BYTES)
def test_the_pieces_of_a_row_stand_behind_one_another(rows, between):
    first, second = (pa.array([row[at] for row in rows], pa.binary()) for at in (0, 1))
    found = joined([first, between, second]).to_pylist()
    assert found == [left + between + (right or b"") for left, right in rows]


@given(st.lists(BYTES, max_size=9))
def test_bytes_stand_behind_their_length(values):
    found = with_length(pa.array(values, pa.binary())).to_pylist()
    assert found == [encoded("bytes", each) for each in values]


@given(st.lists(st.lists(BYTES, max_size=3), min_size=1, max_size=9))
def test_items_are_one_block_and_an_empty_one_behind(lists):
    items = pa.array([encoded("bytes", item) for each in lists for item in each], pa.binary())
    count = np.array([len(each) for each in lists])
    kind = {"type": "array", "items": "bytes"}
    assert blocks(items, count).to_pylist() == [encoded(kind, each) for each in lists]
    wanted = [b"".join(encoded("bytes", item) for item in each) for each in lists]
    assert grouped(items, np.cumsum(count)).to_pylist() == wanted


def test_data_is_cut_at_limits():
    assert cut(b"abcdef", np.array([0, 2, 2, 6])).to_pylist() == [b"ab", b"", b"cdef"]
