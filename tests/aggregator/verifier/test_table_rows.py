"""Rows of thousands of partitions are asked for, whatever a query's text may hold."""

from __future__ import annotations

from typing import Any

import pytest

from aggregator.tables.table_schema import Column, TableSchema
from aggregator.verifier.table_rows import LogRange, RowsFrom, TopicInTable
from tests.aggregator.tables.engine import engine, texts_of

PARTITIONS = 4000
DATABASE = "of_table_rows"


class EngineClient:
    """Client of the engine, with the calls of clickhouse_driver that counts make."""

    def execute(self, query: str, parameters: dict[str, str], **_: Any) -> list[tuple[int, ...]]:
        quoted = {name: f"'{value}'" for name, value in parameters.items()}
        return [tuple(map(int, row)) for row in texts_of(query % quoted)]


@pytest.fixture
def table() -> TableSchema:
    engine().query(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
    engine().query(
        f"CREATE OR REPLACE TABLE {DATABASE}.hits (_cluster String, _topic String, "
        "_partition Int32, _offset Int64, _incarnation Int64) ENGINE = Memory"
    )
    engine().query(
        f"INSERT INTO {DATABASE}.hits "
        f"SELECT 'aggregate east', 'hits', number, 7, 0 FROM numbers({PARTITIONS})"
    )
    return TableSchema("hits", (Column("_incarnation", "Int64"),))


def test_a_query_names_no_more_partitions_than_its_text_may_hold(table: TableSchema) -> None:
    client: Any = EngineClient()
    topic = TopicInTable(client, DATABASE, table, "aggregate east", "hits")
    begins = {number: LogRange(number % 9, 0) for number in range(PARTITIONS)}
    assert topic.counts(begins) == {
        number: RowsFrom(1, 7) for number in range(PARTITIONS) if number % 9 <= 7
    }
