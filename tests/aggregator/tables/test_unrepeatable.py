"""Defaults that a repeated insert would evaluate to another value are named."""

import pytest

from aggregator.tables.table_schema import Column
from aggregator.tables.unrepeatable import unrepeatable


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
    ],
)
def test_a_default_that_is_the_same_each_time_is_none(column):
    assert unrepeatable(column) is None
