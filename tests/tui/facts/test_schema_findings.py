"""Schema findings: schemas by which no record could be loaded are named before one is read."""

import json

import pytest

from aggregator.store.schema_reader import TableFacts
from aggregator.tables.table_schema import COORDINATES, Column, TableSchema
from replicator.config.feed_settings import ClickHouseFeed
from tests.replicator.config.any_feed import ANY_FEED
from tui.facts.feed_findings import Finding, ReplicaFacts, ShardFacts, schema_findings

NESTED = {
    "type": "record",
    "name": "Node",
    "fields": [{"name": "next", "type": ["null", "Node"]}],
}
SOUND = {"type": "record", "name": "Flight", "fields": [{"name": "id", "type": "long"}]}


def found(format_name, folder, *, topics=None, tables=(), **more):
    feed = ClickHouseFeed.model_validate(
        {**ANY_FEED, "name": "air", "format": format_name, "schemas": str(folder), **more}
    )
    named = None if topics is None else dict.fromkeys(topics, 8)
    columns = tuple(Column(name, kind, "", "") for name, kind in COORDINATES.items())
    facts = {name: TableFacts(TableSchema(name, columns), "x") for name in tables}
    return list(schema_findings(ShardFacts(feed, 0, named, [ReplicaFacts("r", (26, 9, 2), facts)])))


def test_an_avro_schema_that_no_column_can_take_is_named_by_its_file(tmp_path):
    (tmp_path / "1.avsc").write_text(json.dumps(SOUND))
    (tmp_path / "2.avsc").write_text(json.dumps(NESTED))
    assert found("avro", tmp_path, topics=["flights"]) == [
        Finding("feeds.air.schemas", "2.avsc: Node is part of itself")
    ]


@pytest.fixture
def messages(tmp_path):
    (tmp_path / "air.proto").write_text(
        'syntax = "proto3"; message flights { int64 id = 1; } message crews { int64 id = 1; }'
    )
    return tmp_path


def test_a_table_without_a_protobuf_message_is_named(messages):
    (finding,) = found("protobuf", messages, topics=["flights", "gates"])
    assert (finding.where, finding.is_mistake) == ("default.gates", True)
    assert "has no message gates, and no file gates.proto" in finding.text


@pytest.mark.parametrize("more", [{}, {"table_from": "header"}])
def test_without_a_message_a_table_that_may_be_another_feeds_is_a_remark(messages, more):
    """Its records may name any table, or a cluster did not list its topics."""
    (finding,) = found("protobuf", messages, tables=["flights", "gates"], **more)
    assert (finding.where, finding.is_mistake) == ("default.gates", False)


def test_tables_with_messages_have_no_finding(messages):
    assert found("protobuf", messages, topics=["flights", "crews"]) == []
