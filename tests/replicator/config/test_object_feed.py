"""Feeds into objects refuse settings that cannot work, by name."""

import json
import pickle
from datetime import time
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from pydantic import ValidationError

from replicator.config.cluster_name import ClusterName
from replicator.config.object_feed import CODECS, RECORD_COLUMNS, ObjectFeed
from replicator.config.schema_folder import SchemaFolder
from replicator.config.schema_source import RegistryUrl
from tests.replicator.config.any_feed import ANY_FEED, ANY_OBJECT_FEED

TWO_CLUSTERS = [ClusterName.regional("west"), ClusterName.regional("east")]


def feed(**values: Any) -> ObjectFeed:
    return ObjectFeed.model_validate({**ANY_FEED, **ANY_OBJECT_FEED, "shards": (), **values})


def refusal(**values: Any) -> str:
    with pytest.raises(ValidationError) as refused:
        feed(**values)
    [error] = refused.value.errors()
    return str(error["ctx"]["error"] if error["type"] == "value_error" else error["msg"])


def contradictions(**values: Any) -> str:
    with pytest.raises(ValidationError) as refused:
        feed(**values)
    return str(refused.value.errors()[0]["ctx"]["error"].found)


@pytest.mark.parametrize("name", ["abc", "a.b-c", "0" * 63, "1.2.3", "123456789012"])
def test_a_bucket_is_named_as_s3_names_them(name: str) -> None:
    assert feed(bucket=name).bucket == name


@pytest.mark.parametrize(
    "name", ["ab", "a" * 64, "Abc", "a_b", "a/b", "-abc", "abc.", "a..b", "10.0.0.1", "abc\n", ""]
)
def test_other_names_of_buckets_are_refused(name: str) -> None:
    assert "a bucket's name is" in refusal(bucket=name)


@pytest.mark.parametrize(
    "url", ["http://h", "https://s3.west.example:9000", "https://h/storage/v1/s3", "http://[::1]:7"]
)
def test_an_endpoint_is_a_url(url: str) -> None:
    assert feed(endpoint=url).endpoint == url


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("h:9000", "starts with http:// or https://"),
        ("s3://bucket", "starts with http:// or https://"),
        ("https://", "starts with http:// or https://"),
        ("https://me:sesame@h", "no credentials in the URL: put them into credentials_file"),
        ("https://h:0", "is https://host:port, without a query"),
        ("https://h:http", "is https://host:port, without a query"),
        ("https://:9000", "is https://host:port, without a query"),
        ("https://[::1", "is https://host:port, without a query"),
        ("https://h h", "is https://host:port, without a query"),
        ("https://h/?a=b", "is https://host:port, without a query"),
        ("https://h/#a", "is https://host:port, without a query"),
    ],
)
def test_an_endpoint_that_no_client_takes_is_refused(url: str, reason: str) -> None:
    assert reason in refusal(endpoint=url)


@pytest.mark.parametrize("prefix", ["", "a", "year=2013/{cluster}/b", "{cluster}"])
def test_a_prefix_is_folders_without_a_slash_at_an_end(prefix: str) -> None:
    assert feed(prefix=prefix).prefix == prefix


@pytest.mark.parametrize(
    ("prefix", "reason"),
    [
        ("/a", "has a slash at an end, or two in a row"),
        ("a/", "has a slash at an end, or two in a row"),
        ("a//b", "has a slash at an end, or two in a row"),
        ("a/../b", "has a folder . or .."),
        ("{region}", "'{' is not safe in keys"),
        ("{cluster", "'{' is not safe in keys"),
        ("a b", "' ' is not safe in keys"),
        ("é", "'é' is not safe in keys"),
    ],
)
def test_a_prefix_that_readers_do_not_find_is_refused(prefix: str, reason: str) -> None:
    assert reason in refusal(prefix=prefix)


def test_clusters_have_prefixes_of_their_own() -> None:
    found = feed(prefix="a/{cluster}", clusters=TWO_CLUSTERS)
    assert [found.prefix_of(each) for each in found.clusters] == [
        "a/west-regional",
        "a/east-regional",
    ]
    assert "('prefix', 'needs {cluster}" in contradictions(prefix="a", clusters=TWO_CLUSTERS)


@pytest.mark.parametrize(
    ("table", "found"),
    [
        ({"shards": ANY_FEED["shards"]}, "'shards', 'has no meaning with kind"),
        ({"dead_letters": "stop"}, "'dead_letters', '\"stop\" is for tables"),
        ({"file": "json_lines", "codec": "snappy"}, "'codec', 'a file of json_lines takes no"),
        ({"object_mib": 0, "object_age_seconds": 0}, "'object_age_seconds', 'an object would"),
        ({"endpoint": "http://h", "ca_file": __file__}, "'ca_file', 'has no meaning with http:"),
        ({"encryption_key": "k"}, "'encryption_key', 'has no meaning without encryption"),
        ({"encryption": "AES256", "encryption_key": "k"}, "'encryption_key', 'has no meaning"),
        ({"partition_by": "field"}, "'fields', 'go with partition_by"),
        ({"fields": ["a"]}, "'fields', 'go with partition_by"),
        ({"partition_by": "field", "fields": ["a", "a"]}, "'fields', 'name a field twice'"),
        ({"partition_by": "field", "fields": ["topic"]}, "'fields', 'topic is a column"),
        ({"partition_by": "time", "folders": "offset=%Y"}, "'folders', 'offset is a column"),
        ({"time_from": "at"}, "'time_from', 'has no meaning without"),
        ({"retry_seconds": 11.0}, "'retry_seconds', 'must be retry_seconds_max (10) or less'"),
    ],
)
def test_a_feed_that_contradicts_itself_is_refused(table: dict[str, Any], found: str) -> None:
    assert found in contradictions(**table)


def test_each_format_takes_its_codecs() -> None:
    for file, codecs in CODECS.items():
        values = TYPED if file == "avro" else {}
        assert [feed(file=file, codec=codec, **values).codec for codec in codecs] == list(codecs)


def test_a_limit_of_0_is_none() -> None:
    unlimited = feed(object_records=0, object_mib=0.0, object_interval_seconds=0, object_times=[])
    assert unlimited.object_records is unlimited.object_mib is None
    assert unlimited.object_interval_seconds is None
    assert unlimited.object_age_seconds == 600
    only = feed(object_records=90, object_mib=0, object_age_seconds=0)
    assert (only.object_records, only.object_mib, only.object_age_seconds) == (90, None, None)


@pytest.mark.parametrize("key", ["object_records", "object_mib", "object_age_seconds"])
def test_a_limit_that_is_no_number_is_refused(key: str) -> None:
    for value in (False, "1", -1):
        assert refusal(**{key: value})


SCHEMAS = SchemaFolder(Path("schemas"), {"7.avsc": json.dumps({
    "type": "record", "name": "row", "fields": [{"name": "topic", "type": "string"}]
}).encode()})  # fmt: skip
SINGLE = SchemaFolder(Path("rows.avsc"), {"rows.avsc": b'"int"'}, is_single=True)
REGISTRY = RegistryUrl("http://registry:8081")
TYPED = {"format": "avro", "schemas": REGISTRY}


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({"file": "avro"}, '\'format\', \'must be "avro" with file = "avro"'),
        ({"file": "bytes", **TYPED}, "'format', 'has no meaning with a file of bytes"),
        ({"file": "json_lines", "record_columns": ["key"]}, "a file of json_lines holds values"),
        ({"schemas": SINGLE}, "'schemas', 'has no meaning with format = \"bytes\"; remove it'"),
        ({"format": "avro"}, "'schemas', 'is missing; format = \"avro\" needs it'"),
        ({"format": "json", "schemas": REGISTRY}, "JSON documents name no schema"),
        ({"compatibility": "full"}, "'compatibility', 'has no meaning without records that name"),
        (
            {"format": "avro", "schemas": SINGLE, "compatibility": "none"},
            "'compatibility', 'has no meaning without records that name",
        ),
        ({"registry_user": "me"}, "'registry_user', 'has no meaning without a registry"),
        ({**TYPED, "registry_user": "me"}, "'goes with registry_password_file: set both, or none"),
        ({"unknown_schema_seconds": 1}, "'unknown_schema_seconds', 'has no meaning without a reg"),
        ({"check_datums": False}, "'check_datums', 'has no meaning without file = \"avro\"'"),
        ({"record_columns": ["key", "key"]}, "'record_columns', 'name a column twice'"),
        (
            {**TYPED, "record_columns": []},
            "'tombstones', 'with no record_columns the row of a tombstone would hold nothing",
        ),
        (
            {"format": "avro", "schemas": SCHEMAS},
            "'record_columns', 'topic is a field of 7.avsc: leave it out",
        ),
        (
            {"partition_by": "field", "fields": ["key"], "record_columns": ["key"]},
            "'fields', 'key is a column of the files already'",
        ),
    ],
)
def test_settings_of_schemas_that_contradict_each_other_are_named(
    values: dict[str, Any], found: str
) -> None:
    assert found in contradictions(**values)


def test_columns_of_records_are_all_in_parquet_files_and_none_in_others() -> None:
    assert feed().columns == RECORD_COLUMNS
    assert feed(record_columns=["offset", "key"]).columns == ("key", "offset")
    assert feed(file="avro", **TYPED).columns == ()
    assert feed(file="bytes").columns == ()
    folder = feed(partition_by="field", fields=["key"], record_columns=["offset"])
    assert folder.columns == ("offset",)


def test_a_feed_with_schemas_goes_to_other_hosts() -> None:
    found = feed(format="avro", schemas=SCHEMAS, record_columns=["key"])
    assert pickle.loads(pickle.dumps(found)) == found


def test_times_of_day_are_texts_or_those_of_toml() -> None:
    found = feed(object_times=["06:00", "23:59:30", time(12)], zone="Europe/Berlin")
    assert found.object_times == (time(6), time(23, 59, 30), time(12))
    assert found.zone == ZoneInfo("Europe/Berlin")
    assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.parametrize("value", ["6:00", "24:00", "06:00Z", "06:00+01:00", "noon", "", 21600])
def test_other_times_of_day_are_refused(value: Any) -> None:
    assert "should be a time of day" in refusal(object_times=[value])


@pytest.mark.parametrize("zone", ["Berlin", "", "../etc/passwd", "Europe", 1])
def test_an_unknown_zone_is_refused(zone: Any) -> None:
    assert "no known time zone" in refusal(zone=zone)


@pytest.mark.parametrize(
    ("folders", "reason"),
    [
        ("year=%y", "%y is none of %Y, %m, %d, %H, %M"),
        ("year=%Y%", "% is none of %Y"),
        ("year=2013", "names no part of a time"),
        ("%Y/month=%m", "'%Y' is no folder of the form name=value"),
        ("year=%Y/", "'' is no folder of the form name=value"),
        ("a=%Y/a=%m", "has two folders of the same name"),
        ("at=%H:%M", "':' is not safe in keys"),
    ],
)
def test_folders_that_are_none_are_refused(folders: str, reason: str) -> None:
    assert reason in refusal(partition_by="time", folders=folders)


def test_denied_topics_and_those_of_kafka_and_sluice_are_not_taken() -> None:
    found = feed(topics=["flights.*", "delays"], deny=["flights[.]raw"])
    names = ("flights", "flights.raw", "delays", "delays2")
    assert [name for name in names if found.takes(name)] == ["flights", "delays"]
    everything = feed()
    assert not everything.takes("sluice.balance") and not everything.takes("__consumer_offsets")


def test_tags_are_those_that_a_store_takes() -> None:
    assert feed(tagging=True, tags={"team": "air", "cost centre": "a/b@c"}).tags["team"] == "air"
    assert "have no meaning without tagging = true" in contradictions(tags={"team": "air"})
    with pytest.raises(ValidationError):
        feed(tagging=True, tags={"team": 1})


@pytest.mark.parametrize(
    ("tags", "reason"),
    [
        ({"startOffset": "1"}, "a name that others give"),
        ({"aws:x": "1"}, "a name that others give"),
        ({"": "1"}, "no name of a tag"),
        ({"a?": "1"}, "no name of a tag"),
        ({"a": "b?"}, "a value is at most"),
        ({"a": "b" * 257}, "a value is at most"),
        ({str(at): "" for at in range(8)}, "there may be 7"),
    ],
)
def test_other_tags_are_refused(tags: dict[str, str], reason: str) -> None:
    assert reason in refusal(tagging=True, tags=tags)
