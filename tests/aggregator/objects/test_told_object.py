"""Told objects: read as they were written, and a record of something else is named."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from aggregator.intents.table_range import Manifest
from aggregator.objects.told_object import ToldObject, UnreadableObject, decode
from balancer.topic_partition import TopicPartition

MANIFEST = Manifest(
    180,
    270,
    90,
    "7",
    1_000,
    left_out=2,
    size_bytes=94_371_840,
    crc32c=0xFFFF_FFFF,
    first_ms=1,
    last_ms=2,
    digest="00ff",
)
KEY = "topics/flights/flights+3+0000000180.avro"
PLACE = TopicPartition("flights", 3)
TOLD = ToldObject.of(KEY, "east", PLACE, MANIFEST, layout="1a2b3c4d", told_at_ms=9)


def test_an_object_is_read_as_it_was_told():
    assert decode(TOLD.key.encode(), TOLD.encode()) == TOLD
    assert (TOLD.begin, TOLD.end, TOLD.records, TOLD.left_out) == (180, 270, 90, 2)
    assert TOLD.layout == "1a2b3c4d"
    assert (TOLD.schema, TOLD.size_bytes, TOLD.sealed_at_ms) == ("7", 94_371_840, 1_000)


def test_a_range_without_a_record_for_an_object_is_told_with_no_bytes():
    assert not TOLD.is_empty
    manifest = replace(MANIFEST, left_out=90)
    empty = ToldObject.of(KEY, "east", PLACE, manifest, layout="", told_at_ms=9)
    assert empty.is_empty
    assert (empty.size_bytes, empty.crc32c) == (0, 0)


def test_an_object_is_told_with_all_that_it_has_also_where_a_loss_took_a_part_of_its_range():
    part = MANIFEST.within(200, 260)
    assert (part.begin, part.end) == (200, 260)
    assert ToldObject.of(KEY, "east", PLACE, part, layout="1a2b3c4d", told_at_ms=9) == TOLD


def test_an_object_that_an_older_version_told_of_is_of_the_first_log():
    told = json.loads(TOLD.encode())
    assert told.pop("incarnation") == 0
    assert decode(TOLD.key.encode(), json.dumps(told).encode()) == TOLD
    later = replace(TOLD, incarnation=5)
    assert decode(later.key.encode(), later.encode()).incarnation == 5


def test_what_a_newer_version_tells_besides_is_left_out():
    more = TOLD.encode()[:-1] + b',"colour":"red"}'
    assert decode(TOLD.key.encode(), more) == TOLD


@pytest.mark.parametrize("value", [b"", b"5", b"{}", b'{"begin": 1}', b"\xff"])
def test_a_record_that_is_no_object_is_named(value):
    with pytest.raises(UnreadableObject, match="the record of b'key' cannot be read"):
        decode(b"key", value)
