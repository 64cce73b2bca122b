"""Table schemas, and the types of their columns."""

from __future__ import annotations

import pyarrow as pa
import pytest

from aggregator.tables.column_type import UnsupportedType, column_type, unloadable_element
from aggregator.tables.table_schema import Column, TableSchema, changed_tables

# -- Table schemas: tables whose columns differ from those read before.

ID, NAME = Column("id", "UInt64", "", ""), Column("name", "String", "", "")


def schemas(**columns):
    return {name: TableSchema(name, found) for name, found in columns.items()}


def test_tables_with_other_columns_have_changed_and_new_or_dropped_ones_have_not():
    before = schemas(hits=(ID,), clicks=(ID,), old=(ID,))
    after = schemas(hits=(ID, NAME), clicks=(ID,), new=(ID,))
    assert changed_tables(before, after) == 1
    assert changed_tables({}, after) == 0


def test_a_block_by_other_rules_is_no_block_of_the_intent():
    hits = TableSchema("hits", (ID,))
    assert hits.block_hash not in (hits.hash, TableSchema("hits", (ID, NAME)).block_hash)


def test_a_window_that_was_altered_is_no_change_of_columns():
    before = {"hits": TableSchema("hits", (ID,), deduplication_window=100)}
    after = {"hits": TableSchema("hits", (ID,), deduplication_window=1000)}
    assert changed_tables(before, after) == 0


def test_an_ephemeral_column_takes_values_and_is_never_asked_for():
    raw = Column("raw", "String", "EPHEMERAL", "'x'")
    hits = TableSchema("hits", (ID, raw, Column("_offset", "UInt64", "EPHEMERAL")))
    assert raw in hits.inserted
    assert hits.stored == (ID,)
    assert hits.coordinates == ()


# -- Types of columns, from their names.


@pytest.mark.parametrize(
    ("name", "arrow"),
    [
        ("Int8", pa.int8()),
        ("UInt64", pa.uint64()),
        ("Float32", pa.float32()),
        ("String", pa.large_binary()),
        ("FixedString(16)", pa.binary(16)),
        ("Date", pa.uint16()),
        ("DateTime", pa.uint32()),
        ("DateTime64(6, 'UTC')", pa.int64()),
        ("UUID", pa.binary(16)),
        ("Enum8('a' = 1)", pa.int8()),
        ("Enum16('a' = 1000)", pa.int16()),
        ("Decimal(10, 2)", pa.decimal128(10, 2)),
        ("Decimal32(2)", pa.decimal128(9, 2)),
        ("Decimal64(2)", pa.decimal128(18, 2)),
        ("Decimal128(2)", pa.decimal128(38, 2)),
        ("Decimal256(2)", pa.decimal256(76, 2)),
        ("Decimal(39, 2)", pa.decimal256(39, 2)),
        ("Int128", pa.binary(16)),
        ("UInt256", pa.binary(32)),
        ("IPv4", pa.uint32()),
        ("IPv6", pa.binary(16)),
        ("Bool", pa.uint8()),
        ("Array(Array(Nullable(Int8)))", pa.large_list(pa.large_list(pa.int8()))),
        ("LowCardinality(String)", pa.large_binary()),
        ("Tuple(UInt8, Date)", pa.struct([("1", pa.uint8()), ("2", pa.uint16())])),
        (
            "Map(String, Array(Int8))",
            pa.large_list(
                pa.struct([("key", pa.large_binary()), ("value", pa.large_list(pa.int8()))])
            ),
        ),
        ("Nested(a Int8)", pa.large_list(pa.struct([("a", pa.int8())]))),
    ],
)
def test_a_type_has_the_arrow_type_of_what_the_server_stores(name, arrow):
    found = column_type(name)
    assert found.name == name
    assert found.arrow == arrow
    assert not found.is_nullable


def test_nullable_and_low_cardinality_are_properties_of_the_type_within():
    found = column_type("LowCardinality(Nullable(FixedString(2)))")
    assert (found.is_nullable, found.is_low_cardinality, found.base) == (True, True, "FixedString")
    assert column_type("Nullable(UInt8)").is_nullable
    array = column_type("Array(Nullable(UInt8))")
    assert array.element is not None
    assert array.element.is_nullable and not array.is_nullable


def test_times_have_their_zone_and_scale():
    assert column_type("DateTime").timezone is None
    assert column_type("DateTime('Europe/Berlin')").timezone == "Europe/Berlin"
    found = column_type("DateTime64(6, 'Asia/Tokyo')")
    assert (found.scale, found.timezone) == (6, "Asia/Tokyo")
    assert (column_type("DateTime64(0)").scale, column_type("DateTime64(0)").timezone) == (0, None)


def test_names_of_an_enum_may_hold_quotes_commas_and_brackets():
    found = column_type(r"Enum8('a, \'b\' = 1' = -1, ')' = 2, 'tab\t\\' = 3)")
    assert found.values == (("a, 'b' = 1", -1), (")", 2), ("tab\t\\", 3))


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Map(String, JSON)",
        "Map(Nullable(String), UInt8)",
        "Map(Array(String), UInt8)",
        "Map(String)",
        "Tuple(UInt8, JSON)",
        "Tuple(a UInt8, String)",
        "Tuple(a UInt8, a UInt8)",
        "Tuple()",
        "Tuple(UInt8,)",
        "Tuple(UInt8))(",
        "Tuple(`a UInt8)",
        "Nested(UInt8, a JSON)",
        "Nullable(Tuple(UInt8))",
        "Tuple(" * 400 + "UInt8" + ")" * 400,
        "AggregateFunction(sum, UInt64)",
        "Decimal(77, 2)",
        "Decimal256(77)",
        "Decimal(2, 3)",
        "DateTime64(12)",
        "DateTime64(3, UTC)",
        "FixedString(x)",
        "Enum8(a = 1)",
        "Nullable(Array(UInt8))",
        "Nullable(Nullable(UInt8))",
        "Array(Map(String, JSON))",
        "Array(" * 400 + "UInt8" + ")" * 400,
        "Nullable(" * 400 + "UInt8" + ")" * 400,
        "Decimal(0, 0)",
        "Decimal(٩, 2)",
        "DateTime64(²)",
        "FixedString(0)",
        "FixedString(-3)",
        "FixedString(99999999999999999999)",
        "Enum8()",
        "Enum8('a' = 128)",
        "Enum16('a' = -32769)",
    ],
)
def test_a_type_that_cannot_be_loaded_is_named(name):
    with pytest.raises(UnsupportedType, match="cannot be loaded"):
        column_type(name)


def test_elements_have_the_names_and_types_that_the_server_writes():
    found = column_type(r"Tuple(a Enum8('x, (`' = 1), `b \` c` Tuple(DateTime64(3, 'UTC'), Int8))")
    assert found.is_named and found.has_tuples
    assert [(name, kind.base) for name, kind in found.fields] == [
        ("a", "Enum8"),
        ("b ` c", "Tuple"),
    ]
    inner = dict(found.fields)["b ` c"]
    assert [name for name, _ in inner.fields] == ["1", "2"] and not inner.is_named


@pytest.mark.parametrize(
    ("name", "element"),
    [
        ("JSON", ""),
        ("Array(JSON)", ""),
        ("UInt8", ""),
        ("Tuple(a UInt8, b JSON)", "b JSON"),
        ("Array(Tuple(a Tuple(UInt8, Variant(UInt8, String))))", "a.2 Variant(UInt8, String)"),
        ("Map(String, Tuple(x JSON))", "value.x JSON"),
        ("Map(Nullable(UInt8), String)", "key Nullable(UInt8)"),
    ],
)
def test_the_element_that_keeps_a_type_from_being_loaded_is_named(name, element):
    assert unloadable_element(name) == element
