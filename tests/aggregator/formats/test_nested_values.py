"""Nested values: items and lengths of lists and maps."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.formats.json_documents import decode
from aggregator.formats.nested_lengths import with_equal_lengths
from aggregator.formats.nested_values import MISSING, NestedValues, placed
from aggregator.tables.column_type import column_type
from aggregator.tables.native_block import native, rows_of_inserts
from aggregator.tables.table_schema import Column, TableSchema
from tests.aggregator.formats.slices import slice_of
from tests.aggregator.tables.engine import engine, texts_of

# -- Nested values of a parser as Tuples, Maps and Arrays.


def numbers(path, kind, given):
    """Returns integers; any other value is refused."""
    bad = {at: f"{path}: {each!r}" for at, each in enumerate(given) if type(each) is not int}
    return pa.array([0 if at in bad else each for at, each in enumerate(given)], kind.arrow), bad


def read(kind, *given):
    reader = NestedValues(numbers)
    values = reader.read("c", column_type(kind), list(given), np.arange(len(given)))
    assert values.type == column_type(kind).arrow
    return values.to_pylist(), reader.reasons


def test_elements_that_are_missing_have_the_default_of_their_type():
    kind = "Tuple(a UInt8, b Nullable(UInt8), c Array(UInt8), d Tuple(e Int8), f Map(UInt8, Int8))"
    nothing = {"a": 0, "b": None, "c": [], "d": {"e": 0}, "f": []}
    found, reasons = read(kind, {}, {"a": 1, "z": 2}, {"d": {"e": 3}}, MISSING)
    assert found == [nothing, {**nothing, "a": 1}, {**nothing, "d": {"e": 3}}, None]
    assert not reasons


@pytest.mark.parametrize(
    ("kind", "value", "why"),
    [
        ("Tuple(a UInt8)", None, "c: null is no Tuple(a UInt8)"),
        ("Tuple(a UInt8)", {"a": None}, "c.a: null is no UInt8"),
        ("Tuple(a UInt8)", 5, "c: 5 is no Tuple(a UInt8)"),
        ("Tuple(a UInt8)", [1, 2], "c: [1, 2] is no Tuple(a UInt8)"),
        ("Tuple(UInt8)", {"1": 1}, "c: {'1': 1} is no Tuple(UInt8)"),
        ("Array(Tuple(UInt8))", [None], "c: null is no Tuple(UInt8)"),
        ("Array(Tuple(UInt8))", {"a": 1}, "c: {'a': 1} is no Array(Tuple(UInt8))"),
        ("Map(UInt8, UInt8)", {1: None}, "c.value: null is no UInt8"),
        ("Map(UInt8, UInt8)", {1: "x"}, "c.value: 'x'"),
        ("Map(UInt8, UInt8)", [[1, 2], [1, 3]], "c: a key is there twice"),
        ("Map(UInt8, Tuple(a Array(UInt8)))", {1: {"a": ["x"]}}, "c.value.a: 'x'"),
    ],
)
def test_a_bad_value_makes_its_row_bad_and_no_other(kind, value, why):
    found, reasons = read(kind, MISSING, value, MISSING)
    assert reasons == {1: why}
    assert (found[0], found[2]) == (None, None)


def test_an_array_of_entries_is_a_map_as_is_an_object():
    entries = [{"key": 1, "value": 2}, [3, 4]]
    held = [{"key": 1, "value": 2}, {"key": 3, "value": 4}]
    assert read("Map(UInt8, UInt8)", entries, {1: 2, 3: 4}) == ([held, held], {})


def test_a_tuple_with_names_may_be_a_list_by_position():
    assert read("Tuple(a UInt8, b UInt8)", [1, 2], (1, 2))[0] == [{"a": 1, "b": 2}] * 2
    assert read("Tuple(UInt8, UInt8)", [1, 2])[0] == [{"1": 1, "2": 2}]


def test_parts_are_put_at_their_places():
    kind = column_type("UInt8")
    parts = [([3, 1], pa.array([30, 10], pa.uint8())), ([0], pa.array([0], pa.uint8()))]
    assert placed(kind, parts, 5).to_pylist() == [0, 10, None, 30, None]
    assert placed(kind, [], 2).to_pylist() == [None, None]


# -- Arrays of a Nested have one length in each row that is inserted, as ClickHouse demands.

DATABASE = "of_nested_lengths"
COLUMNS = {
    "k": "Int32",
    "n.a": "Array(UInt8)",
    "n.b": "Array(Nullable(String))",
    "n.c.d": "Array(Array(Int32))",
    "m.one": "Array(String)",
    "m.text": "String",
}
SCHEMA = TableSchema("t", tuple(Column(name, kind) for name, kind in COLUMNS.items()))
LISTS = st.lists(st.integers(0, 9), max_size=2)
ROWS = st.fixed_dictionaries(
    {},
    optional={
        "n.a": LISTS,
        "n.b": st.lists(st.none() | st.just("x"), max_size=2),
        "n.c.d": st.lists(LISTS, max_size=2),
        "m.one": st.lists(st.just("y"), max_size=2),
        "m.text": st.just("z"),
    },
)
NESTED = ("n.a", "n.b", "n.c.d")


def decoded(rows: list[dict[str, Any]], schema: TableSchema = SCHEMA) -> Any:
    values = [json.dumps({"k": at, **row}).encode() for at, row in enumerate(rows)]
    return decode([slice_of(values)], schema)


@settings(max_examples=30, deadline=None)
@given(st.lists(ROWS, min_size=1, max_size=6))
def test_clickhouse_takes_the_rows_that_are_not_dead(tmp_path_factory, rows):
    found = decoded(rows)
    sizes = [{len(row[name]) for name in NESTED if name in row} for row in rows]
    assert [dead.offset for dead in found.dead] == [
        at for at, each in enumerate(sizes) if len(each) > 1
    ]
    block = native(found, SCHEMA, cluster="c", topic="t", partition=0)
    file: Path = tmp_path_factory.mktemp("nested") / "block"
    file.write_bytes(block.bytes_of(revision=0))
    listed = ", ".join(f"`{name}` {kind}" for name, kind in COLUMNS.items())
    names = ", ".join(f"`{name}`" for name in block.names)
    engine().query(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
    engine().query(f"CREATE OR REPLACE TABLE {DATABASE}.t ({listed}) ENGINE = MergeTree ORDER BY k")
    if found.offset.size:
        engine().query(f"INSERT INTO {DATABASE}.t ({names}) SELECT * FROM file('{file}', Native)")
    stored = texts_of(
        f"SELECT k, length(n.a), length(n.b), length(n.c.d), n.a FROM {DATABASE}.t ORDER BY k"
    )
    wanted = []
    for at in found.offset.tolist():
        size = max(sizes[at], default=0)
        items = rows[at].get("n.a", [0] * size)
        wanted.append([str(at), *[str(size)] * 3, json.dumps(items, separators=(",", ":"))])
    assert stored == wanted


def test_the_default_of_an_array_counts_as_its_value():
    columns = (*SCHEMA.columns[:2], Column("n.z", "Array(UInt8)", "DEFAULT", "[7]"))
    found = decoded(
        [{"n.a": [1]}, {"n.a": [1, 2]}, {}, {"n.a": [1, 2], "n.z": [3, 4]}],
        TableSchema("t", columns),
    )
    assert [(dead.offset, dead.reason) for dead in found.dead] == [
        (1, "n.z: 1 items, and 2 in other arrays of n")
    ]
    assert found.columns["n.a"].to_pylist() == [[1], [0], [1, 2]]


def test_what_a_record_lacks_rests_on_no_other_record():
    """A server's empty Date32 is another day than that of an item that is filled in here."""
    columns = (*SCHEMA.columns[:2], Column("n.day", "Array(Date32)"))
    schema = TableSchema("t", columns)
    alone = decoded([{"n.a": [1]}], schema)
    beside = decoded([{"n.a": [1]}, {"n.a": [1], "n.day": ["2020-01-01"]}], schema)
    assert alone.columns["n.day"].to_pylist() == [[0]]
    assert beside.columns["n.day"].to_pylist() == [[0], [18262]]


def test_a_default_that_the_server_computes_is_left_to_it():
    default = Column("n.z", "Array(String)", "DEFAULT", "arrayMap(x -> 'z', n.a)")
    schema = TableSchema("t", (*SCHEMA.columns[:2], default))
    found = decoded([{"n.a": [1]}, {"n.a": [1], "n.z": ["x"]}], schema)
    assert found.columns["n.z"].to_pylist() == [None, [b"x"]]
    assert [each.tolist() for each in rows_of_inserts(found, schema)] == [
        [False, True],
        [True, False],
    ]


def test_columns_that_a_server_does_not_join_may_differ_in_length():
    types = {".x": "Array(UInt8)", ".y": "Array(UInt8)"}
    row = {".x": [], ".y": [1]}
    schema = TableSchema("t", tuple(Column(*each) for each in types.items()))
    found = decoded([row], schema)
    assert found.dead == ()
    block = native(found, schema, cluster="c", topic="t", partition=0)
    listed = ", ".join(f"`{name}` {kind}" for name, kind in types.items())
    engine().query(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
    engine().query(
        f"CREATE OR REPLACE TABLE {DATABASE}.apart ({listed}) ENGINE = MergeTree ORDER BY tuple()"
    )
    with NamedTemporaryFile(suffix=".native") as file:
        file.write(block.bytes_of(revision=0))
        file.flush()
        engine().query(f"INSERT INTO {DATABASE}.apart SELECT * FROM file('{file.name}', Native)")
    assert texts_of(f"SELECT * FROM {DATABASE}.apart") == [["[]", "[1]"]]


def test_a_single_array_and_columns_without_a_dot_are_no_nested():
    columns = {
        "m.one": pa.array([[b"y"], None], pa.large_list(pa.large_binary())),
        "k": pa.array([1, 2], pa.int32()),
    }
    assert with_equal_lengths(SCHEMA, columns, 2) == (columns, {})
