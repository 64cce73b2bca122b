"""Defaults of columns: evaluated here, or left to the server."""

import re
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from aggregator.tables.column_default import (
    bare_zero,
    filled,
    is_left_to_server,
    is_record_time,
    zero,
)
from aggregator.tables.column_type import column_type
from aggregator.tables.table_schema import Column
from aggregator.tables.unrepeatable import UNREPEATABLE, unrepeatable
from tests.aggregator.tables.engine import texts_of

# -- Defaults of columns.

NIGHT = 1_700_002_800_000 + 36_000_000
"""2023-11-15 09:00 in UTC, 18:00 in Tokyo."""


def column(kind, expression=""):
    return Column("a", kind, "DEFAULT" if expression else "", expression)


def missing(kind, expression="", *, timestamp_ms=NIGHT, timezone="UTC"):
    """Returns the value instead of a missing one."""
    values = pa.array([None], column_type(kind).arrow)
    found = filled(column(kind, expression), values, np.array([timestamp_ms]), timezone)
    return found[0].as_py()


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("UInt8", 0),
        ("Float64", 0.0),
        ("String", b""),
        ("FixedString(2)", b"\0\0"),
        ("UUID", bytes(16)),
        ("Decimal(9, 2)", Decimal("0.00")),
        ("Enum8('b' = 5, 'a' = -3)", -3),
        ("Nullable(UInt8)", None),
        ("DateTime", 0),
    ],
)
def test_without_an_expression_a_missing_value_is_the_default_of_its_type(kind, expected):
    assert missing(kind) == zero(column_type(kind)).as_py() == expected
    assert not is_left_to_server(column(kind))


def test_a_missing_array_is_empty():
    assert bare_zero(column_type("Array(UInt8)")).as_py() == []


@pytest.mark.parametrize(
    ("kind", "expression", "expected"),
    [
        ("UInt8", "5", 5),
        ("Int8", "-5", -5),
        ("Int8", "CAST(-5 AS Int8)", -5),
        ("UInt8", "CAST(5, 'UInt8')", 5),
        ("UInt64", "toUInt64(7)", 7),
        ("Float64", "1.5", 1.5),
        ("String", "'abc'", b"abc"),
        ("String", "CAST('abc' AS String)", b"abc"),
        ("FixedString(4)", "'ab'", b"ab\0\0"),
        ("Enum8('b' = 5, 'a' = -3)", "'b'", 5),
        ("Enum8('b' = 5)", "CAST('b' AS Enum8('b' = 5))", 5),
        ("Enum8('b' = 5)", r"CAST('b', 'Enum8(\'b\' = 5)')", 5),
        ("Decimal(9, 2)", "CAST(1.5, 'Decimal(9, 2)')", Decimal("1.50")),
        ("Nullable(UInt8)", "7", 7),
        ("Nullable(UInt8)", "NULL", None),
    ],
)
def test_a_constant_is_filled_in(kind, expression, expected):
    assert not is_left_to_server(column(kind, expression))
    assert missing(kind, expression) == expected


@pytest.mark.parametrize(
    ("kind", "expression"),
    [
        ("Date", "toDate(at)"),
        ("UInt8", "a + b"),
        ("UInt8", "toUInt8(a) + toUInt8(b)"),
        ("UInt8", "(1) + (2)"),
        ("UInt8", "300"),
        ("UInt8", "'x'"),
        ("String", "toString(1.5)"),
        ("String", r"'a\%b'"),
        ("String", "concat('a', 'b')"),
        ("UUID", "generateUUIDv4()"),
        ("UInt32", "now()"),
        ("DateTime", "now() + 5"),
        ("Array(UInt8)", "[1, a]"),
        ("Array(UInt8)", "[1, 300]"),
        ("Array(UInt8)", "[NULL]"),
        ("Array(UInt8)", "[1, 2"),
        ("UInt8", "[1, 2][1]"),
        ("UInt8", "NULL"),
        ("UInt8", "60 * 60"),
        ("UInt8", "1.0"),
        ("Float64", "9007199254740993"),
        ("Decimal(9, 2)", "0.29"),
        ("Decimal(9, 2)", "1.999"),
        ("Decimal(9, 2)", "'1.999'"),
        ("Decimal(9, 2)", "'12345678.00'"),
        ("Date", "'2020-1-1'"),
        ("Date", "'2020-02-30'"),
        ("Date", "'2150-01-01'"),
        ("Date", "1577836800"),
        ("DateTime", "'2020-01-01'"),
        ("DateTime('Europe/Berlin')", "'2020-10-25 02:30:00'"),
        ("DateTime('Europe/Berlin')", "'2020-03-29 02:30:00'"),
        ("DateTime('Nowhere')", "'2020-01-01 00:00:00'"),
        ("DateTime64(3)", "1577836800"),
        ("DateTime64(1)", "'2020-01-01 00:00:00.55'"),
        ("UUID", "'61f0c404'"),
        ("Enum8('b' = 5)", "'a'"),
        ("Enum8('b' = 5)", "1"),
        ("Bool", "2"),
        ("FixedString(2)", "'abc'"),
        ("Map(String, JSON)", ""),
        ("Tuple(UInt8, String)", "(1, a)"),
        ("Tuple(UInt8, String)", "(1, 'x', 2)"),
        ("Tuple(UInt8)", "(1)"),
        ("Tuple(a UInt8)", "CAST((1), 'Tuple(b UInt8)')"),
        ("Map(String, UInt8)", "['a']"),
        ("Map(String, UInt8)", "map('a', 300)"),
        ("Date32", ""),
        ("Tuple(UInt8, Tuple(Date32, String))", ""),
    ],
)
def test_other_expressions_are_left_to_the_server(kind, expression):
    assert is_left_to_server(column(kind, expression))


@pytest.mark.parametrize(
    ("kind", "expression", "expected"),
    [
        ("DateTime", "now()", NIGHT // 1000),
        ("DateTime", "CAST(now() AS DateTime)", NIGHT // 1000),
        ("DateTime64(3)", "now64(3)", NIGHT),
        ("DateTime64(1)", "now64(1)", NIGHT // 100),
        ("DateTime64(6)", "now64(6)", NIGHT * 1000),
        ("Date", "today()", 19_676),
        ("Date", "now()", 19_676),
        ("Date", "toDate(now())", 19_676),
        ("Date32", "today()", 19_676),
        ("DateTime", "CURRENT_TIMESTAMP", NIGHT // 1000),
        ("Date", "CURRENT_DATE", 19_676),
    ],
)
def test_the_present_is_the_time_of_the_record(kind, expression, expected):
    assert is_record_time(column(kind, expression))
    assert not is_left_to_server(column(kind, expression))
    assert missing(kind, expression) == expected


def test_a_day_is_that_of_the_servers_time_zone():
    late = 1_700_060_400_000  # 15:00 in UTC, midnight in Tokyo
    assert missing("Date", "today()", timestamp_ms=late) == 19_676
    assert missing("Date", "today()", timestamp_ms=late, timezone="Asia/Tokyo") == 19_677


@pytest.mark.parametrize("kind", ["DateTime", "DateTime64(3)"])
@pytest.mark.parametrize(
    "expression", ["today()", "toDateTime(today())", "toDate(now())", "CAST(now(), 'Date')"]
)
def test_the_begin_of_a_day_is_no_time_of_a_record(kind, expression):
    assert not is_record_time(column(kind, expression))
    assert is_left_to_server(column(kind, expression))


@pytest.mark.parametrize("timestamp_ms", [9_300_000_000_000, 253_402_300_800_000, 2**63 - 1])
@pytest.mark.parametrize(
    ("kind", "last"),
    [
        ("DateTime", 2**32 - 1),
        ("DateTime64(9)", (2**63 - 1) // 10**6 * 10**6),
        ("Date", 2**16 - 1),
    ],
)
def test_a_record_behind_the_end_of_a_column_has_the_last_time_of_it(kind, last, timestamp_ms):
    assert missing(kind, "now()", timestamp_ms=timestamp_ms) == last


def test_a_record_of_a_far_year_is_of_the_last_day_that_the_server_has():
    assert missing("Date32", "now()", timestamp_ms=2**63 - 1) == 120_529
    assert missing("DateTime64(6)", "now64(6)", timestamp_ms=2**63 - 1) == 10_413_791_999_999_000


def test_a_record_without_a_timestamp_is_of_1970():
    assert missing("DateTime", "now()", timestamp_ms=-1) == 0
    assert missing("Date", "today()", timestamp_ms=-1, timezone="America/New_York") == 0


def test_the_empty_day_of_a_date32_is_known_to_the_server_alone():
    assert texts_of("SELECT toInt32(defaultValueOfTypeName('Date32'))") != [["0"]]
    assert not is_left_to_server(column("Nullable(Date32)", ""))
    assert not is_left_to_server(column("Array(Date32)", ""))
    assert not is_left_to_server(column("Map(String, Date32)", ""))
    assert not is_left_to_server(column("Tuple(Nullable(Date32), Array(Date32))", ""))
    assert not is_left_to_server(column("Date", ""))


def test_values_that_are_there_stay():
    values = pa.array([5, None], pa.uint8())
    found = filled(column("UInt8", "7"), values, np.array([0, 0]), "UTC")
    assert found.to_pylist() == [5, 7]
    assert filled(column("UInt8"), values[:1], np.array([0]), "UTC").to_pylist() == [5]


# -- Defaults that a repeated insert would evaluate to another value are named.

SAME_ON_REPEAT = re.compile(
    "__|chdb|addressTo|lowCardinality|toColumnTypeName|dumpColumnStructure|isConstant|timeSeries|"
    "arrayJoin|unnest|arrayPartial(Reverse)?Sort|naiveBayes|pg_?get_?user_?by_?id|showCertificate|"
    "financialNet|assignCentroid",
    re.IGNORECASE,
)
"""Other such functions: of one server's build or data, for tests, or the same again for a row."""


@pytest.mark.parametrize(
    ("column", "name"),
    [
        (Column("id", "UUID", "DEFAULT", "generateUUIDv4()"), "generateUUIDv4"),
        (Column("n", "UInt32", "DEFAULT", "rand() % 10"), "rand"),
        (Column("n", "UInt64", "DEFAULT", "randConstant ()"), "randConstant"),
        (Column("hour", "DateTime", "DEFAULT", "toStartOfHour(now())"), "now"),
        (Column("at", "DateTime", "MATERIALIZED", "now()"), "now"),
        (Column("at", "UInt32", "MATERIALIZED", "toUInt32(NOW())"), "NOW"),
        (Column("host", "String", "DEFAULT", "concat('at ', hostName())"), "hostName"),
        (Column("name", "String", "DEFAULT", "dictGetString('d', 'n', id)"), "dictGetString"),
        (Column("n", "UInt64", "DEFAULT", "rowNumberInAllBlocks()"), "rowNumberInAllBlocks"),
        (Column("at", "DateTime", "DEFAULT", "today()"), "today"),
        (Column("at", "DateTime", "MATERIALIZED", "CURRENT_TIMESTAMP"), "CURRENT_TIMESTAMP"),
        (Column("all", "Array(UInt8)", "DEFAULT", "arrayShuffle(some)"), "arrayShuffle"),
        (Column("at", "DateTime64(3)", "MATERIALIZED", "nowInBlock64()"), "nowInBlock64"),
        (Column("n", "UInt64", "DEFAULT", "generateSerialID('n')"), "generateSerialID"),
        (Column("who", "String", "EPHEMERAL", "currentUser()"), "currentUser"),
    ],
)
def test_a_default_that_is_another_one_each_time_is_named(column, name):
    assert unrepeatable(column) == name


@pytest.mark.parametrize(
    "column",
    [
        Column("plain", "String"),
        Column("at", "DateTime", "DEFAULT", "now()"),
        Column("day", "Date", "DEFAULT", "today()"),
        Column("day", "Date", "DEFAULT", "toDate(at)"),
        Column("n", "UInt64", "MATERIALIZED", "cityHash64(name)"),
        Column("n", "UInt64", "ALIAS", "rand()"),
        Column("text", "String", "DEFAULT", "concat('rand() or now()', name)"),
        Column("version", "UInt8", "DEFAULT", "1"),
        Column("n", "UInt64", "DEFAULT", "operand(2)"),
        Column("text", "String", "DEFAULT", "airport(code)"),
    ],
)
def test_a_default_that_is_the_same_each_time_is_none(column):
    assert unrepeatable(column) is None


def test_functions_that_the_server_calls_not_deterministic_are_known():
    query = """
        SELECT name FROM system.functions WHERE NOT is_aggregate AND (deterministic = 0
        OR alias_to IN (SELECT name FROM system.functions WHERE deterministic = 0))
    """
    names = {name for (name,) in texts_of(query) if not SAME_ON_REPEAT.match(name)}
    assert [name for name in names if not UNREPEATABLE.search(f"{name}(x)")] == []
