"""Rows of records that are not dead."""

import numpy as np
import pyarrow as pa

from aggregator.formats.decoded_rows import REASON_CHARACTERS_MAX, decoded_rows, loaded_types
from aggregator.tables.decoded import DeadRecord
from aggregator.tables.table_schema import COORDINATES, Column, TableSchema
from tests.aggregator.formats.slices import TIMESTAMP, slice_of, table

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
