"""Avro files: one container of datums, with the record beside its fields."""

from __future__ import annotations

import io
import json

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.files.avro_fields import TYPES, avro_fields, encoded_fields
from aggregator.files.avro_file import CODECS, AvroFile
from aggregator.schemas.known_schemas import KnownSchemas
from replicator.config import object_feed
from replicator.config.object_feed import RECORD_COLUMNS
from tests.aggregator.files.schema_records import (
    FIRST,
    KNOWN,
    SECOND,
    admitted,
    file_of,
    row,
    value,
)
from tests.aggregator.files.written_files import CUTS, HEADERS
from tests.aggregator.formats.datums import encoded
from tests.aggregator.formats.slices import TIMESTAMP, slice_of

# -- Avro files: fastavro reads from them what the records held, and the same records are the
# same bytes.

ALL = ("key", "headers", "timestamp", "topic", "partition", "offset")


def avro(**settings):
    found = {"columns": (), "codec": "zstd", "key": "t+3+0.avro", "block_bytes": 60}
    return AvroFile(KNOWN, settings.pop("topic", "t"), 3, **(found | settings))


def rows(data):
    return list(fastavro.reader(io.BytesIO(data)))


def slices(values, cuts):
    ends = sorted({each for each in cuts if each < len(values)} | {len(values)})
    whole = slice_of(values)
    return [whole.at(slice(b, e)) for b, e in zip([0, *ends], ends, strict=False)]


@pytest.mark.parametrize("codec", object_feed.CODECS["avro"])
def test_a_container_holds_the_datums_in_their_order(codec):
    data = file_of(avro(codec=codec), slice_of([value(each, 2) for each in range(50)]))
    assert rows(data) == [row(each) for each in range(50)]
    reader = fastavro.reader(io.BytesIO(data))
    assert reader.metadata["avro.codec"] == CODECS[codec][0]
    assert json.loads(reader.metadata["avro.schema"]) == SECOND


@given(st.lists(st.integers(0, 40), min_size=1), CUTS, st.sampled_from([*CODECS]))
@settings(max_examples=40)
def test_the_same_records_are_the_same_bytes_however_they_come_in(numbers, cuts, codec):
    values = [value(each, 1) for each in numbers]
    whole = file_of(avro(codec=codec), slice_of(values))
    assert file_of(avro(codec=codec), *slices(values, cuts)) == whole
    assert whole[:-16] not in file_of(avro(codec=codec, key="other"), slice_of(values))


@given(st.lists(HEADERS, min_size=1, max_size=20))
@settings(max_examples=40)
def test_fields_of_the_record_stand_behind_those_of_its_value(headers):
    values = [value(each, 1) for each in range(len(headers))]
    found = rows(file_of(avro(columns=ALL), slice_of(values, headers=headers)))
    for at, (each, own) in enumerate(zip(found, headers, strict=True)):
        assert list(each) == ["number", "text", *ALL]
        assert (each["key"], each["topic"], each["partition"], each["offset"]) == (
            b"key",
            "t",
            3,
            at,
        )
        assert each["headers"] == [{"name": name, "value": found} for name, found in own]
        assert each["timestamp"].timestamp() * 1000 == TIMESTAMP + at


def test_datums_of_another_schema_become_those_of_the_first_one():
    values = [value(1, 2), value(2, 1), value(3, 2)]
    found = rows(file_of(avro(columns=("offset",)), slice_of(values)))
    wanted = [row(1), {**row(2), "more": None}, row(3)]
    assert found == [each | {"offset": at} for at, each in enumerate(wanted)]


def test_what_is_no_datum_is_refused_and_spoils_no_other():
    values = [value(1, 1), value(2, 1)[:-1], value(3, 1) + b"x", b"", b"x" * 9, value(4, 1)]
    values += [b"\0\0\0\0\x09abc", value(5, 3), value(6, 2)]
    writer = avro(codec="none")
    found = admitted(writer, slice_of(values))
    reasons = {each.offset: each.reason for each in found.dead}
    assert reasons == {
        1: "ends too early, by the schema 1",
        2: "1 bytes behind the datum, by the schema 1",
        3: "no Confluent header; plain datums need a schema t.avsc",
        4: "no Confluent header; plain datums need a schema t.avsc",
        6: "nobody knows the schema 9",
        7: "the schema 3 does not become 1",
        8: "the schema 2 does not become 1",
    }
    data = writer.write([found.records]) + writer.finish()
    assert [each["number"] for each in rows(data)] == [1, 4]
    assert writer.schema == "1"


def test_datums_may_stay_unopened():
    writer = avro(is_checking=False)
    found = admitted(writer, slice_of([value(2, 1)[:-1], value(3, 3)]))
    assert [each.offset for each in found.dead] == [1]
    # A schema that is part of itself cannot be walked by columns.
    datum = b"\0\0\0\0\x04\x02\x00"
    assert rows(file_of(avro(), slice_of([datum]))) == [{"next": {"next": None}}]


def test_a_topic_may_have_plain_datums_of_one_schema():
    data = file_of(avro(topic="plain"), slice_of([encoded(FIRST, row(0))]))
    assert [each["number"] for each in rows(data)] == [0]
    assert len(avro(topic="plain").schema) == 8


def test_a_value_that_is_no_record_takes_no_further_fields():
    known = KnownSchemas({"t.avsc": b'"int"'})
    settings = {"codec": "none", "key": "k"}
    writer = AvroFile(known, "t", 3, columns=("offset",), **settings)
    found = admitted(writer, slice_of([b"\x02"]))
    assert [each.reason for each in found.dead] == [
        "the schema t.avsc is no record, which could have further fields"
    ]
    assert rows(file_of(AvroFile(known, "t", 3, columns=(), **settings), slice_of([b"\x02"]))) == [
        1
    ]


def test_a_file_without_datums_has_no_bytes():
    writer = avro()
    assert file_of(writer, slice_of([b"none"])) == b""
    assert (writer.schema, writer.size_bytes) == ("", 0)


def test_records_that_are_in_no_block_yet_take_memory():
    writer = avro(block_bytes=1 << 20)
    writer.write([admitted(writer, slice_of([value(1, 1)])).records])
    assert writer.size_bytes > 0


def test_key_and_timestamp_may_be_null():
    records = slice_of([value(1, 1), value(2, 1)])
    records.key_begin[0] = records.key_end[0] = records.timestamp_ms[1] = -1
    found = rows(file_of(avro(columns=("key", "timestamp")), records))
    assert [each["key"] for each in found] == [None, b"key"]
    assert [each["timestamp"] is None for each in found] == [False, True]


# -- Avro fields of records: their names and types; the tests above read their bytes.


def test_each_column_of_a_record_has_a_field():
    assert tuple(TYPES) == RECORD_COLUMNS
    assert [each["name"] for each in avro_fields(("topic", "key"))] == ["topic", "key"]


def test_what_all_records_share_is_written_once():
    records = slice_of([b"a", b"b"])
    topic, headers = encoded_fields(records, ("topic", "headers"), "é", 3)
    assert topic == encoded("string", "é")
    assert headers == encoded(TYPES["headers"], [])
