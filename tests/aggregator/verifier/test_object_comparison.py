"""Objects are compared with the records of their ranges; what cannot be compared is named."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
import pytest
from crc32c import crc32c

from aggregator.formats.record_slice import RecordSlice
from aggregator.loader.object_layout import ObjectLayout
from aggregator.objects import forgotten as forgetting
from aggregator.objects.forgotten import Forgotten
from aggregator.objects.record_digest import RecordDigest
from aggregator.objects.told_object import ToldObject
from aggregator.s3.object_store import ObjectStore
from aggregator.verifier.object_comparison import ObjectComparison
from aggregator.verifier.row_check import RowCount
from aggregator.verifier.topic_records import TopicRecords
from replicator.config.cluster_name import ClusterName
from tests.aggregator.files.schema_records import value
from tests.aggregator.formats.slices import slice_of
from tests.aggregator.loader.test_object_layout import PLACE, layout, schema_layout

BATCH = 7


@dataclass
class Log:
    """Records of a partition, as a broker gives them: in batches."""

    records: RecordSlice

    async def slices(
        self, topic: str, partition: int, begin: int, end: int
    ) -> AsyncIterator[RecordSlice]:
        found = self.records.between(begin, end)
        for at in range(0, len(found), BATCH):
            yield found.at(slice(at, at + BATCH))


@dataclass
class Store:
    """Objects by their keys."""

    objects: dict[str, bytes] = field(default_factory=dict)

    def read(self, key: str) -> bytes | None:
        return self.objects.get(key)


@dataclass
class Written:
    """Objects of some records, as a loader writes and tells them."""

    log: Log
    store: Store = field(default_factory=Store)
    told: list[ToldObject] = field(default_factory=list)

    def compared(
        self, made: ObjectLayout, *, is_compacted: bool = False, forgotten: Forgotten | None = None
    ) -> tuple[RowCount, list[int]]:
        """Returns the count, and the offsets of records that have to be dead letters."""
        count = RowCount(ClusterName("east aggregate"), "lake", PLACE.topic, "air/topics", "AWS")
        comparison = ObjectComparison(
            made,
            cast("ObjectStore", self.store),
            cast("TopicRecords", self.log),
            PLACE,
            count,
            is_compacted,
            forgotten=forgotten,
        )
        end = int(self.log.records.offset[-1]) + 1
        asyncio.run(comparison.compare(self.told, 0, 0, end))
        return count, sorted(comparison.dead)

    def without(self, *offsets: int) -> Written:
        """Returns the same objects of a log that has lost records."""
        left = self.log.records.at(np.flatnonzero(~np.isin(self.log.records.offset, offsets)))
        return replace(self, log=Log(left))


def written(
    made: ObjectLayout, values: Sequence[bytes | None], size: int = 10, begin: int = 0
) -> Written:
    """Writes objects of so many records of each encoded partition, from an offset on."""
    found = Written(Log(slice_of(values)))
    for name, records in made.route(PLACE, found.log.records.between(begin, len(values))).items():
        for at in range(0, len(records), size):
            part = records.at(slice(at, at + size))
            key = made.key(PLACE, name, int(part.offset[0]))
            writer = made.writer(PLACE, key)
            admitted = made.admission(PLACE, name, writer.decode)(part).records
            content = writer.write([admitted]) + writer.finish()
            digest = RecordDigest()
            digest.add([admitted])
            is_empty = not len(admitted)
            if not is_empty:
                found.store.objects[key] = content
            found.told.append(
                ToldObject(
                    key=key,
                    cluster="east aggregate",
                    topic=PLACE.topic,
                    partition=PLACE.partition,
                    begin=int(part.offset[0]),
                    end=int(part.offset[-1]) + 1,
                    records=len(part),
                    left_out=len(part) - len(admitted),
                    size_bytes=0 if is_empty else len(content),
                    crc32c=0 if is_empty else crc32c(content),
                    first_ms=digest.first_ms,
                    last_ms=digest.last_ms,
                    schema=writer.schema,
                    digest=digest.text,
                    sealed_at_ms=0,
                    told_at_ms=0,
                    layout=made.folders,
                )
            )
    return found


def differing(count: RowCount) -> dict[str, int]:
    names = ("missing", "surplus", "doubled", "changed")
    return {name: getattr(count, name) for name in names if getattr(count, name)}


VALUES = [b'{"a":%d}' % each for each in range(50)]
VERSIONS = [value(each, 2 - each % 2) for each in range(40)]
UNKNOWN = b"\0" + (9).to_bytes(4, "big") + b"\2"
"""Value of a schema that nobody knows."""


@pytest.mark.parametrize(
    ("made", "values"),
    [
        (layout(), VALUES),
        (layout(file="json_lines", tombstones="left_out"), [*VALUES, None, b"{no"]),
        (layout(file="bytes", codec="zstd"), [*VALUES, None]),
        (schema_layout(), VERSIONS),
        (schema_layout(compatibility="backward", codec="snappy"), VERSIONS),
        (schema_layout(file="parquet"), [*VERSIONS, None, UNKNOWN]),
        (schema_layout(file="parquet", compatibility="backward"), [*VERSIONS, None]),
    ],
)
def test_objects_are_found_to_be_those_of_the_records(made, values):
    found = written(made, values)
    count, _ = found.compared(made)
    assert (differing(count), count.doubts) == ({}, []), count.examples
    assert count.expected == count.found == sum(each.records - each.left_out for each in found.told)
    for key, content in [*found.store.objects.items()]:
        found.store.objects[key] = content[:-1]
        count, _ = found.compared(made)
        assert list(differing(count)) == ["changed"] and key in count.examples[0]
        del found.store.objects[key]
        count, _ = found.compared(made)
        assert list(differing(count)) == ["missing"]
        assert count.examples == [f"missing: {key} is not there"]
        found.store.objects[key] = content


def test_a_range_without_a_record_for_its_object_needs_none_in_the_store():
    made = layout(file="json_lines", tombstones="left_out")
    found = written(made, [None] * 10 + [b"{no"] * 10)
    assert all(each.is_empty for each in found.told) and not found.store.objects
    count, dead = found.compared(made)
    assert (count.expected, differing(count), count.doubts) == (0, {}, [])
    assert dead == [*range(10, 20)]


def test_a_range_that_is_told_as_empty_although_it_has_records_is_named():
    made = layout(file="json_lines")
    found = written(made, VALUES[:10])
    (told,) = found.told
    found.told = [replace(told, left_out=told.records, size_bytes=0, crc32c=0)]
    count, dead = found.compared(made)
    assert (differing(count), dead) == ({"changed": 1}, [])
    assert count.examples == [f"changed: some of its records belong into an object: {told.key}"]


def test_records_without_an_object_are_named_and_those_in_two_as_well():
    made = layout()
    found = written(made, VALUES)
    third = found.told.pop(2)
    count, _ = found.compared(made)
    assert differing(count) == {"missing": 10}
    parts = ["20", "21..27", "28..29"]  # of batches
    assert count.examples == [f"missing: in no object: partition 3, offsets {at}" for at in parts]
    found.told.append(third)
    found.told.append(replace(third, key=third.key.replace("+0000000020", "+0000000015"), begin=15))
    count, _ = found.compared(made)
    assert differing(count)["doubled"] == 15
    assert "doubled: up to 5 records" in " ".join(count.examples)


def test_records_of_forgotten_objects_are_not_compared_which_is_said_and_others_are():
    made = layout()
    found = written(made, VALUES)
    third = found.told.pop(2)
    forgotten = Forgotten(forgetting.Log.of(third)).with_objects([third], 1)
    count, _ = found.compared(made, forgotten=forgotten)
    assert differing(count) == {}
    (doubt,) = count.doubts
    assert doubt.startswith(
        "partition 3: 10 records are in no object, where objects were forgotten"
    )
    found.told.pop(0)
    count, _ = found.compared(made, forgotten=forgotten)
    assert differing(count) == {"missing": 10}


@pytest.mark.parametrize("made", [layout(), schema_layout(compatibility="backward")])
def test_objects_whose_records_were_compacted_since_are_named_and_the_others_compared(made):
    found = written(made, VERSIONS).without(13, 31, 32)
    count, _ = found.compared(made, is_compacted=True)
    assert (differing(count), count.found) == ({}, 20)
    keys = [made.key(PLACE, "partition=3", begin) for begin in (10, 30)]
    assert count.doubts == [
        f"{keys[0]} and 1 more may have lost records by compaction: it was not compared"
    ]
    # A topic that is not compacted has no excuse.
    count, _ = found.compared(made)
    assert differing(count), count


def test_an_object_of_one_version_is_known_by_what_is_told_once_its_first_record_is_gone():
    made = schema_layout(file="parquet")
    found = written(made, [*VERSIONS, *[None] * 10]).without(0, 40)
    count, _ = found.compared(made, is_compacted=True)
    assert differing(count) == {}, count.examples
    first, nulls = (made.key(PLACE, "partition=3", begin) for begin in (0, 40))
    assert count.doubts == [
        f"{first} may have lost records by compaction: it was not compared",
        f"{nulls} has lost its first record: it was not compared",
    ]


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ({}, {"codec": "gzip"}, "is written as .zstd.parquet, and no more"),
        ({}, {"record_columns": ("offset",)}, "was written under other settings"),
        (
            {"file": "bytes", "codec": "none"},
            {"file": "bytes", "codec": "none", "separator": "|"},
            "was written under other settings",
        ),
    ],
)
def test_of_objects_under_other_settings_the_manifest_is_compared(before, after, why):
    found, made = written(layout(**before), VALUES), layout(**after)
    count, _ = found.compared(made)
    assert (differing(count), count.found) == ({}, 50)
    assert count.doubts == [f"{found.told[0].key} and 4 more {why}: its manifest was compared"]
    found.told[1] = replace(found.told[1], digest="0" * 48)
    count, _ = found.compared(made)
    assert differing(count) == {"changed": 1}
    assert found.told[1].key in count.examples[0]


@pytest.mark.parametrize(
    ("after", "why"),
    [
        (
            {"partition_by": "time", "folders": "hour=%H"},
            "is in a folder of other settings: it was not compared",
        ),
        ({"prefix": "other"}, "is not below the prefix of today"),
    ],
)
def test_objects_in_other_folders_are_named_and_their_records_are_not_missing(after, why):
    found = written(layout(), VALUES)
    last = found.told.pop()
    count, _ = found.compared(layout(**after))
    assert differing(count) == {"missing": last.records}
    assert count.doubts == [f"{found.told[0].key} and 3 more {why}"]


@pytest.mark.parametrize(("before", "after"), [("apart", "backward"), ("backward", "apart")])
def test_objects_from_before_versions_were_kept_apart_or_together_are_not_compared(before, after):
    former = written(schema_layout(file="parquet", compatibility=before), VERSIONS[:20])
    made = schema_layout(file="parquet", compatibility=after)
    found = written(made, VERSIONS, begin=20)
    found.told += former.told
    found.store.objects |= former.store.objects
    count, _ = found.compared(made)
    assert (differing(count), count.found) == ({}, 20), count.examples
    first = made.key(PLACE, "partition=3", 0)
    why = "1 more is in a folder of other settings: it was not compared"
    assert count.doubts == [f"{first} and {why}"]


def test_of_objects_of_another_schema_the_checksum_is_compared():
    made = schema_layout(compatibility="backward")
    found = written(made, VERSIONS)
    found.told = [replace(each, schema="8") for each in found.told]
    count, dead = found.compared(made)
    assert (differing(count), count.found, dead) == ({}, 40, [])
    (why,) = count.doubts
    assert "was written by the schema 8, and its records are read by 2" in why
    key = found.told[0].key
    found.store.objects[key] = b"other"
    count, _ = found.compared(made)
    assert differing(count) == {"changed": 1}
    assert count.examples == [f"changed: not the content that its manifest names: {key}"]


def test_an_object_of_another_schema_has_as_many_records_as_its_range():
    made = schema_layout(compatibility="backward")
    found = written(made, VERSIONS)
    found.told = [replace(each, schema="8", records=each.records - 3) for each in found.told]
    assert differing(found.compared(made)[0]) == {"changed": len(found.told)}


@pytest.mark.parametrize("schema", ["", "8"])
def test_objects_from_before_the_column_of_offsets_are_compared_by_their_manifest(schema):
    found = written(schema_layout(compatibility="backward"), VERSIONS)
    if schema:
        found.told = [replace(each, schema=schema) for each in found.told]
    count, _ = found.compared(schema_layout(compatibility="backward", record_columns=("offset",)))
    assert (differing(count), count.found) == ({}, 40)
    assert ("only its checksum" if schema else "its manifest was compared") in count.doubts[0]
