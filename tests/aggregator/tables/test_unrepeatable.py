"""Defaults that a repeated insert would evaluate to another value are named."""

import re

import pytest

from aggregator.tables.table_schema import Column
from aggregator.tables.unrepeatable import UNREPEATABLE, unrepeatable
from tests.aggregator.tables.engine import texts_of

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
