"""Constant defaults against ClickHouse, which evaluates them for a row that leaves them out."""

import numpy as np
import pytest

from aggregator.tables.column_default import is_left_to_server
from aggregator.tables.decoded import Decoded
from aggregator.tables.native_block import native
from aggregator.tables.table_schema import Column, TableSchema
from tests.aggregator.tables.engine import engine, native_of, texts_of

CONSTANTS = [
    ("UInt8", "7"),
    ("Int8", "-5"),
    ("UInt8", "true"),
    ("UInt8", "'12'"),
    ("UInt16", "CAST('12' AS UInt16)"),
    ("Int64", "-9223372036854775808"),
    ("UInt64", "18446744073709551615"),
    ("UInt64", "toUInt64('18446744073709551615')"),
    ("Float64", "1e3"),
    ("Float64", "-0.1"),
    ("Float32", "0.1"),
    ("Float64", "3"),
    ("Float64", "inf"),
    ("Float64", "-inf"),
    ("Bool", "true"),
    ("Bool", "0"),
    ("String", "'abc'"),
    ("String", r"'a\n\'b\\'"),
    ("String", "'it''s'"),
    ("String", "5"),
    ("String", "toString(-5)"),
    ("FixedString(3)", "'ab'"),
    ("FixedString(3)", "toFixedString('ab', 3)"),
    ("Date", "'2020-02-29'"),
    ("Date", "toDate('2020-02-29')"),
    ("Date", "CAST('2020-02-29' AS Date)"),
    ("Date", "18262"),
    ("Date32", "'1950-01-01'"),
    ("DateTime", "'2020-01-01 10:20:30'"),
    ("DateTime", "toDateTime('2020-01-01 10:20:30')"),
    ("DateTime", "1577836800"),
    ("DateTime('Asia/Tokyo')", "'2020-01-01 00:00:00'"),
    ("DateTime('Asia/Tokyo')", "toDateTime('2020-01-01 00:00:00')"),
    ("DateTime('UTC')", "toDateTime('2020-07-01 00:00:00', 'Europe/Berlin')"),
    ("DateTime64(3)", "'2020-01-01 00:00:00.5'"),
    ("DateTime64(9, 'Asia/Tokyo')", "'2020-01-01 00:00:00.123456789'"),
    ("DateTime64(6)", "toDateTime64('2020-01-01 00:00:00.25', 6)"),
    ("UUID", "'61f0c404-5cb3-11e7-907b-a6006ad3dba0'"),
    ("UUID", "toUUID('61f0c404-5cb3-11e7-907b-A6006AD3DBA0')"),
    ("Enum8('a' = 1, 'b' = -2)", "'b'"),
    ("Enum8('a' = 1, 'b' = -2)", "-2"),
    ("Enum8('a' = 1, 'b' = -2)", "CAST('b', 'Enum8(\\'a\\' = 1, \\'b\\' = -2)')"),
    ("Int128", "-5"),
    ("UInt128", "18446744073709551615"),
    ("Int256", "'-170141183460469231731687303715884105729'"),
    ("UInt256", "toUInt256('340282366920938463463374607431768211456')"),
    ("Decimal(76, 3)", "'123456789012345678901234567890.125'"),
    ("IPv4", "'1.2.3.4'"),
    ("IPv4", "toIPv4('1.2.3.4')"),
    ("IPv6", "'2001:db8::1'"),
    ("IPv6", "toIPv6('::1')"),
    ("Tuple(UInt8, String)", "(1, 'a')"),
    ("Tuple(a UInt8, b Array(Nullable(String)))", "(1, ['a', NULL])"),
    ("Tuple(Date, Tuple(Decimal(9, 2)))", "tuple('2020-02-29', tuple('1.25'))"),
    ("Map(String, UInt8)", "map('a', 1, 'b', 2)"),
    ("Map(String, Array(Int64))", "map()"),
    ("Decimal(9, 2)", "5"),
    ("Decimal(9, 2)", "1.5"),
    ("Decimal(9, 2)", "-1.5"),
    ("Decimal(9, 2)", "'0.29'"),
    ("Decimal(9, 2)", "toDecimal32('0.29', 2)"),
    ("Decimal(9, 2)", "0.29::Decimal(9, 2)"),
    ("Decimal(38, 2)", "'123456789012345678901234567890123456.78'"),
    ("Nullable(UInt8)", "7"),
    ("Nullable(UInt8)", "NULL"),
    ("Nullable(Date)", "'2020-02-29'"),
    ("Nullable(Decimal(18, 4))", "'0.0001'"),
    ("Array(UInt8)", "[1, 2]"),
    ("Array(UInt8)", "array(1, 2)"),
    ("Array(UInt8)", "[]"),
    ("Array(UInt8)", "emptyArrayUInt8()"),
    ("Array(UInt8)", "CAST([1, 2] AS Array(UInt8))"),
    ("Array(String)", r"['a', 'b\'c', '']"),
    ("Array(Nullable(UInt8))", "[1, NULL]"),
    ("Array(Array(UInt8))", "[[1], []]"),
    ("Array(Date)", "['2020-02-29']"),
    ("Array(UUID)", "[toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0')]"),
]


@pytest.fixture(scope="module")
def timezone():
    """Makes a table with a column for each constant, and a row that leaves all of them out; returns
    the server's time zone."""
    columns = [f"c{at} {kind} DEFAULT {text}" for at, (kind, text) in enumerate(CONSTANTS)]
    # A worker that gets further tests of this module makes the fixture once more.
    engine().query("DROP TABLE IF EXISTS constants SYNC")
    engine().query(
        f"CREATE TABLE constants (k UInt8, {', '.join(columns)}) ENGINE = MergeTree ORDER BY k"
    )
    engine().query("INSERT INTO constants (k) VALUES (1)")
    return texts_of("SELECT timezone()")[0][0]


@pytest.mark.parametrize("at", range(len(CONSTANTS)), ids=[f"{k} {t}" for k, t in CONSTANTS])
def test_a_constant_is_what_the_server_makes_of_it(timezone, at):
    kind, text = CONSTANTS[at]
    column = Column(f"c{at}", kind, "DEFAULT", text)
    assert not is_left_to_server(column, timezone)
    assert _filled(column, timezone) == _stored(f"c{at}")


def test_what_the_server_stores_of_an_expression_is_read_too(timezone):
    """The server writes an expression in a form of its own, and that is what loaders read."""
    rows = texts_of(
        "SELECT name, hex(default_expression) FROM system.columns "
        "WHERE table = 'constants' AND name != 'k'"
    )
    for name, text in rows:
        kind = CONSTANTS[int(name[1:])][0]
        column = Column(name, kind, "DEFAULT", bytes.fromhex(text).decode())
        assert _filled(column, timezone) == _stored(name), column


def _filled(column, timezone):
    """Returns the data of a row that holds nothing, with the default filled in here."""
    schema = TableSchema("t", (column,), timezone=timezone)
    row = Decoded({}, np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64))
    block = native(row, schema, cluster="c", topic="t", partition=0)
    assert block.names == (column.name,)
    return bytes(block.columns[0])


def _stored(name):
    """Returns the data that the server has, without the names of column and type."""
    found = native_of(f"SELECT {name} FROM constants")
    kind_at = 3 + found[2]
    return found[kind_at + 1 + found[kind_at] :]
