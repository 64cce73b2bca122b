"""Partitioners: folders by partition, field and time."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.objects.folders import Folders
from aggregator.objects.hive_path import columns_of
from aggregator.objects.named_folder import UnknownFolder, named_folder
from aggregator.objects.partitioner import ByField, ByPartition, ByTime, WithinLimit
from aggregator.objects.time_folders import NEVER, time_folders
from replicator.config.object_feed import ObjectFeed
from tests.aggregator.files.written_files import RECORDS, slices
from tests.aggregator.formats.slices import slice_of
from tests.aggregator.loader.test_object_layout import layout, schema_layout

# -- Partitioners: each record is where its own values say, whatever else was read with it.

NOTHING = "__HIVE_DEFAULT_PARTITION__"
TEXTS = st.sampled_from(["", "x", "/", "=", "%", "..", "é", "x" * 300, NOTHING]) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=5
)
VALUES = st.one_of(
    st.none(),
    st.just(b"no"),
    st.builds(
        lambda found: json.dumps(found).encode(),
        st.fixed_dictionaries(
            {},
            optional={
                "carrier": TEXTS | st.none() | st.integers(0, 2),
                "from": st.fixed_dictionaries({}, optional={"city": TEXTS}) | st.booleans(),
            },
        ),
    ),
)


def folders(partitioner, records, partition=3):
    found = partitioner.folders(partition, records)
    assert len(set(found.names)) == len(found.names)
    return [found.names[number] for number in found.number]


def value_of(document, *path):
    for name in path:
        document = document.get(name) if isinstance(document, dict) else None
    text = None if document is None or isinstance(document, bool | dict) else str(document)
    return None if text in ("", NOTHING) else text


@given(st.lists(VALUES, min_size=1, max_size=12))
def test_folders_of_fields_are_read_back_as_the_records_values(values):
    found = folders(ByField(["carrier", "from.city"]), slice_of(values))
    documents = [json.loads(value) if value and value != b"no" else None for value in values]
    assert [columns_of(name) for name in found] == [
        [("carrier", value_of(each, "carrier")), ("from.city", value_of(each, "from", "city"))]
        for each in documents
    ]


@given(st.lists(VALUES, min_size=2, max_size=6))
def test_a_record_alone_decides_its_folders(values):
    for partitioner in (
        ByField(["from.city", "carrier"]),
        ByTime("year=%Y/day=%d", ZoneInfo("UTC"), "carrier", "s"),
        WithinLimit(ByField(["carrier"]), 60),
    ):
        together = folders(partitioner, slice_of(values))
        assert together == [folders(partitioner, slice_of([value]))[0] for value in values]


def test_values_that_stand_for_none_share_a_folder_and_its_records_keep_their_order():
    values = [b'{"a":""}', b'{"a":"x"}', b"{}", None, b"no", b'{"a":[]}', b'{"a":"x"}']
    records = slice_of(values, first=10)
    split = ByField(["a"]).folders(0, records).split(records)
    assert {name: part.offset.tolist() for name, part in split.items()} == {
        f"a={NOTHING}": [10, 12, 13, 14, 15],
        "a=x": [11, 16],
    }


@given(RECORDS)
def test_time_folders_take_the_records_timestamps_or_those_of_a_field(records):
    pattern = "at=%Y-%m-%dT%H"
    found = folders(ByTime(pattern, ZoneInfo("UTC")), *slices(records))
    assert found == [
        datetime.fromtimestamp(each.timestamp / 1000, UTC).strftime(pattern)
        if each.timestamp >= 0
        else f"at={NOTHING}"
        for each in records
    ]
    values = [json.dumps({"t": {"ms": each.timestamp}}).encode() for each in records]
    by_field = folders(ByTime(pattern, ZoneInfo("UTC"), "t.ms", "ms"), slice_of(values))
    assert by_field == [
        datetime.fromtimestamp(each.timestamp / 1000, UTC).strftime(pattern) for each in records
    ]


def test_a_field_may_hold_a_time_before_1970_and_one_that_is_none_has_no_folder():
    values = [b'{"born":"1969-07-20"}', b'{"born":"soon"}', b"{}"]
    assert folders(ByTime("year=%Y", ZoneInfo("UTC"), "born"), slice_of(values)) == [
        "year=1969",
        f"year={NOTHING}",
        f"year={NOTHING}",
    ]


def test_each_kafka_partition_has_a_folder():
    assert folders(ByPartition(), slice_of([b"x", None]), 7) == ["partition=7"] * 2


@given(st.lists(st.integers(0, 60).map(lambda size: b'{"a":"%s"}' % (b"/" * size)), min_size=1))
def test_records_whose_folders_are_too_long_are_nowhere_and_are_named(values):
    partitioner, records = WithinLimit(ByField(["a"]), 32), slice_of(values)
    # An escaped slash has three bytes.
    are_too_long = [value.count(b"/") > 10 for value in values]
    for name, is_too_long, value in zip(
        folders(partitioner, records), are_too_long, values, strict=True
    ):
        is_nowhere = is_too_long or b"/" not in value
        assert (name == partitioner.nowhere(3)) == is_nowhere
    assert sorted(partitioner.too_long(3, records)) == [
        at for at, each in enumerate(are_too_long) if each
    ]


# -- Folders: each record is in the one of its name, and a name is there once.


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=4), st.data())
def test_records_are_split_by_name_in_their_order(names, data):
    number = data.draw(st.lists(st.integers(0, len(names) - 1), min_size=1, max_size=12))
    folders = Folders.of(names, np.array(number, np.int64))
    found = folders.split(slice_of([b"x"] * len(number), first=7))
    wanted: dict[str, list[int]] = {}
    for offset, at in enumerate(number, 7):
        wanted.setdefault(names[at], []).append(offset)
    assert {name: part.offset.tolist() for name, part in found.items()} == wanted


# -- Time folders: as strftime names them in the zone, whatever the clocks do.

PATTERN = "year=%Y/month=%m/day=%d/hour=%H"
NO_TIME = (
    "year=__HIVE_DEFAULT_PARTITION__/month=__HIVE_DEFAULT_PARTITION__"
    "/day=__HIVE_DEFAULT_PARTITION__/hour=__HIVE_DEFAULT_PARTITION__"
)
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Africa/Monrovia"]
MILLISECONDS = st.one_of(
    st.integers(0, 200_000_000_000),
    st.integers(1_350_000_000_000, 1_400_000_000_000),
    st.integers(-5, 5),
    st.integers(-30_000_000_000_000, 0),
    st.just(NEVER),
)


def folders_in(pattern, zone, times):
    found = time_folders(pattern, ZoneInfo(zone), np.array(times, np.int64))
    return [found.names[number] for number in found.number]


@given(st.sampled_from(ZONES), st.booleans(), st.lists(MILLISECONDS, min_size=1, max_size=20))
def test_each_time_is_in_the_folder_that_strftime_names(zone, by_minute, times):
    pattern = f"{PATTERN}/minute=%M" if by_minute else PATTERN
    nothing = f"{NO_TIME}/minute=__HIVE_DEFAULT_PARTITION__" if by_minute else NO_TIME
    assert folders_in(pattern, zone, times) == [
        nothing
        if time == NEVER
        else datetime.fromtimestamp(time / 1000, ZoneInfo(zone)).strftime(pattern)
        for time in times
    ]


def test_the_hour_that_is_twice_in_autumn_is_one_folder_and_the_one_left_out_in_spring_none():
    autumn = [datetime(2026, 10, 25, hour, 30, tzinfo=UTC).timestamp() * 1000 for hour in (0, 1)]
    spring = [datetime(2026, 3, 29, hour, 30, tzinfo=UTC).timestamp() * 1000 for hour in (0, 1)]
    assert folders_in("hour=%H", "Europe/Berlin", autumn) == ["hour=02", "hour=02"]
    assert folders_in("hour=%H", "Europe/Berlin", spring) == ["hour=01", "hour=03"]


def test_a_time_beyond_every_calendar_is_no_time():
    found = folders_in("kind=x/year=%Y", "UTC", [1 << 62, -(1 << 62), NEVER])
    assert found == ["kind=x/year=__HIVE_DEFAULT_PARTITION__"] * 3


# -- Operators name folders as listings show them; what no folder can be named is refused.

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
