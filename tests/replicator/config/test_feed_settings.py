"""Feeds refuse settings that cannot work, by name, and know the shard of a topic."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from replicator.config.feed_settings import AggregatorSettings, ClickHouseFeed, Shard
from replicator.config.schema_folder import SchemaFolder
from tests.replicator.config.any_feed import ANY_FEED

REPLICAS = ("clickhouse://one", "clickhouse://two:9001")


def feed(**values: Any) -> ClickHouseFeed:
    return ClickHouseFeed.model_validate({**ANY_FEED, **values})


def shard(*topics: str) -> Shard:
    return Shard(topics=topics, replicas=REPLICAS)


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ({"quorum": 3}, "'quorum', 'must be the number of replicas (2) or less'"),
        ({"replicas": (*REPLICAS, "clickhouse://me@one:9000")}, "'replicas', 'lists a server"),
        ({"replicas": ("clickhouse://one/mine",)}, "'replicas', 'names a database"),
        ({"ca_file": Path(__file__)}, "'ca_file', 'has no meaning with clickhouse://"),
    ],
)
def test_a_shard_that_contradicts_itself_is_refused(table: dict[str, Any], key: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Shard.model_validate({"replicas": REPLICAS, **table})
    found = refused.value.errors()[0]["ctx"]["error"].found
    assert key in str(found)


def test_a_quorum_may_be_all_replicas_and_a_server_may_serve_two_ports() -> None:
    two_ports = ("clickhouse://one", "clickhouse://one:9001")
    assert Shard(replicas=two_ports, quorum=2).quorum == 2


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ({"retry_seconds": 11.0}, "'retry_seconds', 'must be retry_seconds_max (10) or less'"),
        ({"block_seconds": 60.0}, "'block_seconds', 'must be below reference_seconds (60)'"),
        ({"format": "avro"}, "'schemas', \"is missing; format 'avro' needs it\""),
        ({"format": "protobuf"}, "'schemas', \"is missing; format 'protobuf' needs it\""),
        ({"schemas": "avro"}, "'schemas', \"has no meaning with format 'json'; remove it"),
    ],
)
def test_a_feed_that_contradicts_itself_is_refused(table: dict[str, Any], key: str) -> None:
    with pytest.raises(ValidationError) as refused:
        feed(**table)
    assert key in str(refused.value.errors()[0]["ctx"]["error"].found)


@pytest.mark.parametrize("key", ["clusters", "shards"])
def test_a_feed_without_clusters_or_shards_is_refused(key: str) -> None:
    with pytest.raises(ValidationError, match="is empty"):
        feed(**{key: []})


def test_the_folder_of_schemas_is_relative_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "avro").mkdir()
    (tmp_path / "avro" / "7.avsc").write_text('"string"')
    table = {**ANY_FEED, "format": "avro", "schemas": "avro"}
    found = ClickHouseFeed.model_validate(table, context={"directory": tmp_path})
    assert found.schemas == SchemaFolder(tmp_path / "avro", {"7.avsc": b'"string"'})


def test_the_first_shard_that_matches_a_topic_has_it() -> None:
    several = feed(shards=(shard("clicks", "sales\\..*"), shard("clicks.*")))
    assert [several.shard_number(topic) for topic in ("clicks", "clicks2", "sales.x", "other")] == [
        0,
        1,
        0,
        None,
    ]


@pytest.mark.parametrize("topic", ["sluice.runs.a.b", "sluice.dead.flights", "__consumer_offsets"])
def test_topics_of_kafka_and_sluice_are_never_loaded(topic: str) -> None:
    assert feed(shards=(shard(".*"),)).shard_number(topic) is None


def test_an_entry_is_stale_long_after_a_forced_flush_was_due() -> None:
    reference_seconds: float = ClickHouseFeed.model_fields["reference_seconds"].default
    assert AggregatorSettings().stale_seconds >= 5 * reference_seconds


def test_a_feed_begins_at_a_word_a_time_or_the_commits_of_a_group() -> None:
    assert feed(start="latest").start_group is None
    assert feed(start="2013-01-01T00:00:00Z").start == 1_356_998_400_000
    moved = feed(start="group:connect-lake: old")
    assert (moved.start, moved.start_group) == ("group:connect-lake: old", "connect-lake: old")


@pytest.mark.parametrize("start", ["group:", "group", "connect-lake", -1, True, None])
def test_any_other_start_of_a_feed_is_refused(start: Any) -> None:
    with pytest.raises(ValidationError) as refused:
        feed(start=start)
    (error,) = refused.value.errors()
    assert error["loc"] == ("start",)
