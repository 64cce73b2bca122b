"""Operators name folders as listings show them; what no folder can be named is refused."""

from __future__ import annotations

import re
from typing import Any

import pytest

from aggregator.objects.named_folder import UnknownFolder, named_folder
from replicator.config.object_feed import ObjectFeed
from tests.aggregator.loader.test_object_layout import layout, schema_layout

BY_HOUR = {"partition_by": "time", "folders": "year=%Y/day=%m-%d/kind=hourly"}
BY_FIELD = {"partition_by": "field", "fields": ("carrier", "origin.city")}
HOUR = "year=2013/day=07-04/kind=hourly"


def feed_of(**settings: Any) -> ObjectFeed:
    return layout(**settings).feed


@pytest.mark.parametrize(
    ("settings", "text", "topic", "name"),
    [
        ({}, "partition=3", None, "partition=3"),
        ({}, "partition=3/", None, "partition=3"),
        ({}, "topics/flights/partition=3", "flights", "partition=3"),
        ({}, "flights/partition=3/", "flights", "partition=3"),
        (
            {},
            "topics/flights/partition=3/flights+3+0000000180.zstd.parquet",
            "flights",
            "partition=3",
        ),
        ({"prefix": "a/{cluster}"}, "a/east-aggregate/t/partition=0", "t", "partition=0"),
        ({"prefix": ""}, "t/partition=0", "t", "partition=0"),
        ({"prefix": "lake=1"}, "lake=1/t/partition=0", "t", "partition=0"),
        (BY_HOUR, HOUR, None, HOUR),
        (BY_HOUR, f"topics/t/{HOUR}/t+0+0000000001.zstd.parquet", "t", HOUR),
        (
            BY_HOUR,
            "year=__HIVE_DEFAULT_PARTITION__/day=__HIVE_DEFAULT_PARTITION__/kind=hourly",
            None,
            "year=__HIVE_DEFAULT_PARTITION__/day=__HIVE_DEFAULT_PARTITION__/kind=hourly",
        ),
        (BY_FIELD, "carrier=UA/origin.city=Köln", None, "carrier=UA/origin.city=Köln"),
        (BY_FIELD, "carrier=a:b/origin.city=100%25", None, "carrier=a%3Ab/origin.city=100%25"),
        (
            {"partition_by": "time", "folders": "day='%Y'/at=*%d"},
            "day='2001'/at=*09",
            None,
            "day='2001'/at=*09",
        ),
        (
            BY_FIELD,
            "t/carrier=UA/origin.city=__HIVE_DEFAULT_PARTITION__",
            "t",
            "carrier=UA/origin.city=__HIVE_DEFAULT_PARTITION__",
        ),
    ],
)
def test_a_folder_is_known_by_its_name_by_its_path_and_by_an_object_in_it(
    settings, text, topic, name
):
    assert named_folder(feed_of(**settings), text)[1:] == (topic, name)


@pytest.mark.parametrize(
    ("settings", "text", "shape"),
    [
        ({}, "partition=x", "partition=0, partition=1 and so on"),
        ({}, "partition=03", "partition=0, partition=1 and so on"),
        ({}, "", "partition=0"),
        ({}, "flights", "partition=0"),
        (BY_HOUR, "year=2013/day=7-4/kind=hourly", BY_HOUR["folders"]),
        (BY_HOUR, "year=2013", BY_HOUR["folders"]),
        (BY_HOUR, "year=2013/day=07-04/kind=daily", BY_HOUR["folders"]),
        (BY_FIELD, "origin.city=A/carrier=UA", "carrier=.../origin.city=..."),
        (BY_FIELD, "carrier=UA", "carrier=.../origin.city=..."),
        (BY_FIELD, "carrier=UA/origin.city=%ff", "carrier=.../origin.city=..."),
        (BY_FIELD, "carrier=UA/origin.city=A/B", "carrier=.../origin.city=...; write a slash"),
        ({}, "topics/flights/partition=3/nonsense", "partition=0"),
    ],
)
def test_what_is_no_folder_of_the_feed_is_refused_with_the_names_of_those_that_are(
    settings, text, shape
):
    wanted = re.escape(f"feed lake has no folder {text}; its folders are {shape}")
    with pytest.raises(UnknownFolder, match=wanted):
        named_folder(feed_of(**settings), text)


def test_a_version_is_named_where_they_are_kept_apart():
    apart, shared = schema_layout().feed, schema_layout(compatibility="backward").feed
    assert named_folder(apart, "partition=3#7")[1:] == (None, "partition=3#7")
    assert named_folder(apart, "partition=3#007")[1:] == (None, "partition=3#7")
    assert named_folder(apart, "t/partition=3/#none")[1:] == ("t", "partition=3#none")
    assert named_folder(shared, "partition=3")[1:] == (None, "partition=3")
    with pytest.raises(UnknownFolder, match="name the id of a schema, or none"):
        named_folder(apart, "partition=3#latest")
    with pytest.raises(UnknownFolder, match="name the id of a schema, or none"):
        named_folder(apart, "partition=3#٣")
    for feed in (shared, feed_of()):
        with pytest.raises(UnknownFolder, match="no versions of folders .* leave out #7"):
            named_folder(feed, "partition=3#7")


def test_a_path_whose_prefix_names_the_cluster_is_of_that_cluster_alone():
    feed = feed_of(prefix="a/{cluster}")
    (cluster,) = feed.clusters
    assert (
        named_folder(feed, f"a/{'-'.join(str(cluster).split())}/t/partition=0").cluster == cluster
    )
    assert named_folder(feed, "t/partition=0").cluster is None
    assert named_folder(feed_of(), "topics/t/partition=0").cluster is None
