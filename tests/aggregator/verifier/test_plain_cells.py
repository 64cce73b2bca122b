"""Cells of tables, value by value."""

from datetime import UTC, date, datetime
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address

import pytest

from aggregator.tables.column_type import column_type
from aggregator.verifier.plain_cells import Refused, cell, selected
from aggregator.verifier.plain_records import UNSURE, Moment
from tests.aggregator.tables.engine import json_of

NANOS = 1_577_836_800_000_000_000


@pytest.mark.parametrize(
    ("kind", "given", "meant"),
    [
        ("UInt8", True, 1),
        ("Int64", -(2**63), -(2**63)),
        ("Decimal(38, 1)", Decimal("99999999999999999.9"), Decimal("99999999999999999.9")),
        ("Decimal(9, 2)", "1.50", Decimal("1.5")),
        ("Decimal(38, 0)", 10**38 - 1, Decimal(10**38 - 1)),
        ("Decimal(38, 33)", Decimal("99999." + "9" * 33), Decimal("99999." + "9" * 33)),
        ("Date", "2020-01-01", 18262),
        ("Date32", date(1969, 12, 31), -1),
        ("DateTime('UTC')", "2020-01-01 00:00:00.9", NANOS),
        ("DateTime", datetime(2020, 1, 1, tzinfo=UTC), NANOS),
        ("DateTime64(9)", Decimal("1577836800.123456789"), NANOS + 123456789),
        ("DateTime64(6)", Moment(NANOS + 123456789), NANOS + 123456000),
        ("DateTime64(3)", 1_577_836_800_123, NANOS + 123_000_000),
        ("DateTime64(0, 'Asia/Tokyo')", "2020-01-01T09:00:00", NANOS),
        ("DateTime64(3)", "2020-01-01T02:00:00.5+02:00", NANOS + 500_000_000),
        ("DateTime('Europe/Berlin')", "2020-10-25 02:30:00", UNSURE),
        ("FixedString(3)", "ab", b"ab\0"),
        ("Nullable(UInt8)", None, None),
        ("Int128", -(2**127), -(2**127)),
        ("UInt256", "340282366920938463463374607431768211456", 2**128),
        ("Decimal(76, 1)", Decimal("9" * 50 + ".5"), Decimal("9" * 50 + ".5")),
        ("IPv4", "1.2.3.4", IPv4Address("1.2.3.4")),
        ("IPv6", "1.2.3.4", IPv6Address("::ffff:1.2.3.4")),
        ("Array(Nullable(UInt8))", [1, None], [1, None]),
        ("Array(DateTime)", ["soon"], UNSURE),
    ],
)
def test_a_value_is_what_the_column_holds_of_it(kind, given, meant):
    assert cell(column_type(kind), given, "UTC") == meant


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("UInt8", None),
        ("UInt8", 256),
        ("UInt8", "1"),
        ("Int8", True),
        ("Bool", 1),
        ("Decimal(9, 2)", Decimal("1.999")),
        ("Decimal(9, 2)", 10**7),
        ("Decimal(9, 2)", "x"),
        ("Int128", 2**127),
        ("UInt128", -1),
        ("UInt128", Decimal("1.5")),
        ("Decimal(76, 1)", Decimal("1.25")),
        ("IPv4", "::1"),
        ("IPv4", 5),
        ("IPv6", "x"),
        ("Array(UInt8)", 1),
        ("Array(UInt8)", [None]),
        ("String", [1]),
        ("Date", "2020-02-30"),
    ],
)
def test_a_value_that_the_column_cannot_hold_is_refused(kind, given):
    with pytest.raises(Refused):
        cell(column_type(kind), given, "UTC")


def test_times_are_read_as_numbers_at_any_depth():
    assert selected("`a`", column_type("Array(Array(Nullable(DateTime64(9))))")) == (
        "arrayMap(x0 -> arrayMap(x1 -> toDecimal128(x1, 9), x0), `a`)"
    )
    assert selected("`a`", column_type("Array(String)")) == "`a`"
    assert selected("`a`", column_type("Tuple(y UInt8, x Date)")) == (
        "tuple(tupleElement(`a`, 1), toInt64(tupleElement(`a`, 2)))"
    )
    assert selected("`a`", column_type("Map(String, DateTime)")) == (
        "arrayMap((k0, x0) -> tuple(k0, toInt64(x0)), mapKeys(`a`), mapValues(`a`))"
    )
    assert selected("`a`", column_type("Array(Int256)")) == "arrayMap(x0 -> toString(x0), `a`)"


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        ("Map(String, DateTime(\\'UTC\\'))", "map('a', '1970-01-01 00:00:05')", [["a", 5]]),
        ("Tuple(Tuple(a Date), Map(Int8, Int8))", "(tuple('1970-01-02'), map())", [[1], []]),
        (
            "Array(Tuple(a Map(UInt8, Tuple(IPv4, Date)), `b c` Nullable(Int128)))",
            "[(map(1, ('1.2.3.4', '1970-01-05')), NULL)]",
            [[[[1, ["1.2.3.4", 4]]], None]],
        ),
        ("Nested(a UInt8, b Array(Date))", "[(1, ['1970-01-05'])]", [[1, [4]]]),
        ("Map(UInt8, Map(UInt8, Map(Date, UInt8)))", "map(1, map(2, map('1970-01-02', 3)))",
         [[1, [[2, [[1, 3]]]]]]),
    ],
)  # fmt: skip
def test_a_server_understands_how_nested_columns_are_asked_for(kind, value, shown):
    asked = selected("`c`", column_type(kind.replace("\\'", "'")))
    query = f"SELECT {asked} FROM (SELECT CAST({value}, '{kind}') AS c)"
    [[found]] = json_of(query)
    assert found == shown
