"""Object layout: a tree of objects that engines read as one Hive table."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from aggregator.files.typed_parquet import TypedParquet
from aggregator.formats.schema_ids import SchemasWanted
from aggregator.loader.file_kind import kind_of
from aggregator.loader.object_layout import BYTES_SETTINGS, OFFSET_MAX, ObjectLayout
from aggregator.objects.object_name import KEY_BYTES_MAX, parsed
from balancer.topic_partition import TopicPartition
from replicator.config.object_feed import ObjectFeed
from replicator.config.schema_folder import SchemaFolder
from replicator.config.schema_source import RegistryUrl
from tests.aggregator.files.schema_records import KNOWN, value
from tests.aggregator.formats.slices import TIMESTAMP, slice_of

PLACE = TopicPartition("flights", 3)
FOLDER = SchemaFolder(Path("schemas"), KNOWN.files)


def layout(**settings: Any) -> ObjectLayout:
    feed = ObjectFeed(
        name="lake",
        kind="s3",
        region="east",
        clusters=("east aggregate",),
        bucket="air",
        **settings,
    )
    return ObjectLayout(feed, "east aggregate")


def schema_layout(**settings: Any) -> ObjectLayout:
    return layout(**({"file": "avro", "format": "avro", "schemas": FOLDER} | settings))


def tree(made: ObjectLayout, values: list[bytes | None], folder: Path) -> list[str]:
    """Writes the objects of records below a folder; returns the dead letters' reasons."""
    reasons: list[str] = []
    for name, records in made.route(PLACE, slice_of(values)).items():
        admitted = made.admission(PLACE, name)(records)
        reasons += [each.reason for each in admitted.dead]
        writer = made.writer(PLACE)
        path = folder / made.key(PLACE, name, int(records.offset[0]))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(writer.write([admitted.records]) + writer.finish())
    return reasons


def rows(folder: Path, kind: str = "parquet", **columns: pa.DataType) -> list[dict[str, Any]]:
    partitioning = ds.partitioning(pa.schema(columns.items()), flavor="hive")
    found = ds.dataset(folder / "topics/flights", format=kind, partitioning=partitioning)
    table = found.to_table()
    return table.sort_by("offset").to_pylist() if kind == "parquet" else table.to_pylist()


def documents(*found: dict[str, Any]) -> list[bytes | None]:
    return [json.dumps(each).encode() for each in found]


def test_a_tree_of_time_folders_is_one_table_with_their_columns(tmp_path):
    hours = [datetime(2013, 1, 31, hour, 59, tzinfo=UTC) for hour in (0, 22, 23)]
    made = layout(
        partition_by="time", time_from="at", folders="year=%Y/day=%d/hour=%H", zone="Europe/Berlin"
    )
    values = documents(*({"at": each.isoformat()} for each in hours), {"at": "soon"})
    assert tree(made, values, tmp_path) == []
    found = rows(tmp_path, year=pa.int32(), day=pa.int32(), hour=pa.int32())
    assert [(row["year"], row["day"], row["hour"]) for row in found] == [
        (2013, 31, 1),
        (2013, 31, 23),
        (2013, 1, 0),
        (None, None, None),
    ]
    assert [row["value"] for row in found] == values


def test_a_tree_of_fields_has_their_values_as_columns(tmp_path):
    names = ["UA", "a/b=c%d", "..", "é ü", "x" * 200, "", None]
    made = layout(partition_by="field", fields=("carrier", "to.city"))
    values = documents(*({"carrier": each, "to": {"city": each}} for each in names))
    assert tree(made, values, tmp_path) == []
    found = rows(tmp_path, carrier=pa.string(), **{"to.city": pa.string()})
    wanted = [each or None for each in names]
    assert [row["carrier"] for row in found] == wanted
    assert [row["to.city"] for row in found] == wanted
    assert [row["value"] for row in found] == values


def test_json_lines_are_read_as_a_table_with_the_folders_columns(tmp_path):
    made = layout(file="json_lines", codec="none", partition_by="field", fields=("carrier",))
    values = [
        b'{"carrier":"UA",\n"delay":5}',
        b'{"carrier":"UA","delay":}',
        b"no",
        b'{"carrier":"AA","delay":-1}',
        None,
    ]
    reasons = tree(made, values, tmp_path)
    assert [each.split(":")[0] for each in reasons] == ["no JSON", "no JSON"]
    texts = sorted(
        line for path in tmp_path.rglob("*.json") for line in path.read_text().splitlines()
    )
    assert texts == ["null", '{"carrier":"AA","delay":-1}', '{"carrier":"UA", "delay":5}']
    for path in tmp_path.rglob("*DEFAULT*/*.json"):
        path.unlink()  # pyarrow reads objects only
    found = rows(tmp_path, "json", carrier=pa.string())
    assert sorted((row["carrier"], row["delay"]) for row in found) == [("AA", -1), ("UA", 5)]


def test_kafka_partitions_are_a_column_of_their_own(tmp_path):
    tree(layout(), [b"x", None], tmp_path)
    found = rows(tmp_path, partition=pa.int32())
    assert [(row["partition"], row["value"]) for row in found] == [(3, b"x"), (3, None)]


@pytest.mark.parametrize(
    ("file", "tombstones", "kept", "dead"),
    [
        ("parquet", "written", [0, 1, 2], 0),
        ("parquet", "left_out", [0, 2], 0),
        ("parquet", "dead_letters", [0, 2], 1),
        ("json_lines", "written", [0, 1], 1),
        ("json_lines", "left_out", [0], 1),
        ("json_lines", "dead_letters", [0], 2),
        ("bytes", "written", [0, 2], 0),
        ("bytes", "left_out", [0, 2], 0),
        ("bytes", "dead_letters", [0, 2], 1),
    ],
)
def test_tombstones_go_the_way_that_the_feed_says(file, tombstones, kept, dead):
    made = layout(file=file, tombstones=tombstones)
    found = made.admission(PLACE, "partition=3")(slice_of([b"1", None, b""]))
    assert found.records.offset.tolist() == kept
    assert len(found.dead) == dead


def test_a_record_whose_key_or_folder_would_be_too_long_is_a_dead_letter():
    made = layout(partition_by="field", fields=("a", "b", "c", "d"))
    nothing = "/".join(f"{name}=__HIVE_DEFAULT_PARTITION__" for name in "abcd")
    room = KEY_BYTES_MAX - len(made.key(PLACE, "a=/b=/c=/d=", 2**63 - 1))
    longest = [253, 253, 253, room - 3 * 253]
    assert longest[-1] < 253
    values = documents(
        dict(zip("abcd", map("x".__mul__, longest), strict=True)),
        dict(zip("abcd", map("x".__mul__, [*longest[:-1], longest[-1] + 1]), strict=True)),
        {"a": "x" * 254},
        {"b": ""},
    )
    routed = made.route(PLACE, slice_of(values))
    assert sorted(part.offset.tolist() for part in routed.values()) == [[0], [1, 2, 3]]
    assert max(len(made.key(PLACE, name, 2**63 - 1)) for name in routed) == KEY_BYTES_MAX
    found = made.admission(PLACE, nothing)(routed[nothing])
    assert found.records.offset.tolist() == [3]
    assert [each.offset for each in found.dead] == [1, 2]
    assert "more than 255 bytes" in found.dead[0].reason


def test_keys_are_named_by_topic_partition_and_offset_and_are_read_back():
    made = layout(prefix="lake/{cluster}", file="json_lines", codec="gzip")
    key = made.key(PLACE, "partition=3", 180)
    assert key == "lake/east-aggregate/flights/partition=3/flights+3+0000000180.json.gz"
    assert parsed(key, "lake/east-aggregate") is not None


def test_records_of_each_schema_have_objects_of_their_own_unless_they_share_them():
    values = [value(1, 1), value(2, 2), b"none", value(3, 1), None]
    apart = schema_layout()
    routed = apart.route(PLACE, slice_of(values))
    assert {name: part.offset.tolist() for name, part in routed.items()} == {
        "partition=3#1": [0, 3],
        "partition=3#2": [1],
        "partition=3#none": [2, 4],
    }
    assert (
        apart.key(PLACE, "partition=3#2", 1)
        == "topics/flights/partition=3/flights+3+0000000001.avro"
    )
    assert apart.versions("flights") is None
    together = schema_layout(compatibility="backward")
    assert list(together.route(PLACE, slice_of(values))) == ["partition=3"]
    assert together.versions("flights").first_change(None, slice_of(values)) == (1, 1)
    # Its records have no ids.
    plain = TopicPartition("plain", 3)
    assert list(apart.route(plain, slice_of(values))) == ["partition=3"]
    assert together.versions("plain") is None
    assert apart.folders != together.folders


def test_folders_are_those_of_fields_of_datums():
    made = schema_layout(partition_by="field", fields=("number",), compatibility="full")
    routed = made.route(PLACE, slice_of([value(7, 1), value(7, 2), b"none", value(8, 3)]))
    assert {name: part.offset.tolist() for name, part in routed.items()} == {
        "number=7": [0, 1],
        "number=8": [3],
        "number=__HIVE_DEFAULT_PARTITION__": [2],
    }


def test_a_file_has_the_schema_of_its_records():
    made = schema_layout(tombstones="written")
    writer = made.writer(PLACE, "key")
    found = made.admission(PLACE, "partition=3#1", writer.decode)(
        slice_of([value(1, 1), None, b"none"])
    )
    assert found.records.offset.tolist() == [0]
    assert [each.offset for each in found.dead] == [2]
    assert writer.schema == "1"
    typed = schema_layout(file="parquet", record_columns=("offset",))
    assert isinstance(typed.writer(PLACE), TypedParquet)
    assert layout().writer(PLACE).schema == ""


def test_schemas_of_a_registry_are_wanted_before_records_are_taken_in():
    made = schema_layout(schemas=RegistryUrl("http://registry"))
    with pytest.raises(SchemasWanted) as wanted:
        made.route(PLACE, slice_of([value(1, 1), b"none", value(2, 2)]))
    assert wanted.value.ids == {1, 2}


def test_columns_of_records_are_those_that_are_named():
    made = layout(record_columns=("offset", "key"))
    [records] = made.route(PLACE, slice_of([b"x"])).values()
    writer = made.writer(PLACE)
    table = pq.read_table(io.BytesIO(writer.write([records]) + writer.finish()))
    assert table.schema.names == ["key", "value", "offset"]


@pytest.mark.parametrize(
    "other",
    [
        {"codec": "none"},
        {"record_columns": ("key",)},
        {"tombstones": "left_out"},
        {"partition_by": "field", "fields": ("a",)},
        {"partition_by": "time"},
        {"zone": "Europe/Berlin"},
        {"time_unit": "s"},
        {"offset_digits": 11},
    ],
)
def test_a_setting_that_changes_names_or_bytes_changes_the_fingerprint(other):
    assert layout(**other).fingerprint != layout().fingerprint


BY_OTHER_NAMES = {"record_columns": "columns", "zone": "folders"}
"""Settings that count under another name: columns by the layout, a zone beside BYTES_SETTINGS."""
NEITHER = """
    bucket ca_file clusters credentials_file dead_letters deny encryption encryption_key endpoint
    epoch_seconds held_back_records kind name object_age_seconds object_interval_seconds object_mib
    object_records object_times owner part_mib path_style region registry_ca_file
    registry_password_file registry_user retry_seconds retry_seconds_max schemas shards start
    storage_class store_region tables tagging tags topics unknown_schema_seconds
"""
"""Settings that decide neither the name of an object nor its bytes: where it is stored, when it is
sealed, and how its schemas are found, whose content a topic fixes by their ids."""


def test_each_setting_decides_bytes_and_names_or_is_known_not_to():
    """A setting that were forgotten would let two loaders write other bytes under one name."""
    deciding = {
        name for name in ObjectFeed.model_fields if BY_OTHER_NAMES.get(name, name) in BYTES_SETTINGS
    }
    assert deciding.isdisjoint(NEITHER.split())
    assert set(ObjectFeed.model_fields) == deciding.union(NEITHER.split())


@pytest.mark.parametrize(
    "by",
    [{"partition_by": "field", "fields": ("a",)}, {"partition_by": "time", "time_from": "at"}],
)
def test_the_way_in_which_fields_are_read_decides_folders_too(by):
    """A record that is read again would go into another folder, and be written twice."""
    as_texts = layout(file="bytes", **by)
    as_datums = schema_layout(compatibility="none", **by)
    assert as_texts.folders != as_datums.folders
    by_record = {"partition_by": "time"}
    as_datums = schema_layout(compatibility="none", **by_record)
    assert layout(file="bytes", **by_record).folders == as_datums.folders


def test_a_setting_that_changes_neither_keeps_it():
    assert layout(object_records=5).fingerprint == layout().fingerprint


def test_records_keep_their_timestamps(tmp_path):
    tree(layout(), [b"x"], tmp_path)
    [row] = rows(tmp_path, partition=pa.int32())
    assert round(row["timestamp"].timestamp() * 1000) == TIMESTAMP


def test_a_folder_leaves_room_for_the_name_of_its_log():
    made = layout(partition_by="field", fields=("carrier", "origin"), prefix="p" * 200)
    place = TopicPartition("t" * 240, 3)

    def longest(incarnation: int) -> str:
        keys = []
        for length in range(100, 220):
            values = documents({"carrier": "c" * 100, "origin": "x" * length})
            (name,) = made.route(place, slice_of(values), incarnation)
            if "xxx" in name:
                keys.append(made.key(place, name, OFFSET_MAX, incarnation))
        return keys[-1]

    assert len(longest(0)) == len(longest(1_764_288_000_000)) == 1024


def test_each_file_of_the_settings_is_of_a_kind_of_its_own():
    files = get_args(ObjectFeed.model_fields["file"].annotation)
    feeds = [ObjectFeed.model_construct(file=each, format="avro", codec="none") for each in files]
    kinds = [kind_of(feed, KNOWN) for feed in feeds]
    assert len({*map(type, kinds)}) == len({each.extension for each in kinds}) == len(files) > 3
