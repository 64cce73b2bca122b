"""Partitioners: each record is where its own values say, whatever else was read with it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from aggregator.objects.hive_path import columns_of
from aggregator.objects.partitioner import ByField, ByPartition, ByTime, WithinLimit
from tests.aggregator.files.written_files import RECORDS, slices
from tests.aggregator.formats.slices import slice_of

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


@given(st.lists(VALUES, min_size=2, max_size=12))
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
