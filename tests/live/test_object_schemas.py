"""Feeds into objects by schema, between real servers: each record is in one object of its schema,
or a dead letter, once."""

from __future__ import annotations

import io
import json
import logging
import random
from typing import Any

import fastavro
import polars as pl
import pyarrow.parquet as pq
import pytest

from deploy.lab.traffic import TrafficRecord
from deploy.lab.wait import until
from tests.aggregator.formats.datums import encoded
from tests.live.feed_ground import LOADED_SECONDS
from tests.live.object_steps import Step, begin_with_end
from tests.live.registry_server import RegistryServer
from tests.live.test_feed_kills import await_death
from tests.live.test_object_loading import make_feed, object_server

__all__ = ["make_feed", "object_server"]  # fixtures
FLIGHT = {
    "type": "record",
    "name": "Flight",
    "namespace": "air",
    "fields": [
        {"name": "number", "type": "int"},
        {"name": "carrier", "type": ["null", "string"]},
    ],
}
"""First version, with the id 1."""
DELAYED = {
    **FLIGHT,
    "fields": [
        {"name": "delay", "type": ["null", "double"], "default": None},
        {"name": "number", "type": "long"},
        {"name": "carrier", "type": ["null", "string"]},
    ],
}
"""Second one, with the id 2: a further field, and a wider number."""
SCHEMAS = {1: FLIGHT, 2: DELAYED}
UNKNOWN_ID = 9


@pytest.fixture
def registry():
    with RegistryServer(dict(SCHEMAS)) as server:
        yield server


def flight(number):
    carrier = None if number % 5 == 0 else f"cärrier {number % 3}"
    return {"number": number, "carrier": carrier, "delay": number / 4 if number % 2 else None}


def datum(number, schema_id):
    return b"\0" + schema_id.to_bytes(4, "big") + encoded(SCHEMAS[schema_id], flight(number))


def bad(number):
    """Returns a value that has no header, whose schema nobody knows, or that is cut."""
    header = b"\0" + UNKNOWN_ID.to_bytes(4, "big")
    return [b"no header", header + b"\x02\0", datum(number, 2)[:-1]][number % 3]


def value(number):
    """Returns a value: one in eleven is bad, and the others are of both schemas in turn."""
    return bad(number) if is_bad(number) else datum(number, 1 + number % 2)


def is_bad(number):
    return number % 11 == 5


def records(first, count):
    return [TrafficRecord(n % 2, b"key", value(n)) for n in range(first, first + count)]


def rows_of(data: bytes) -> list[dict[str, Any]]:
    """Returns the records of a container."""
    rows: Any = list(fastavro.reader(io.BytesIO(data)))
    return rows


def assert_letters(feed, numbers):
    """Compares the dead letters with the bad values of these numbers."""
    letters = feed.dead_letters()
    assert sorted(each for each, _ in letters) == sorted(bad(each) for each in numbers)
    places = {(each["sluice.partition"], each["sluice.offset"]) for _, each in letters}
    assert len(places) == len(letters)


def test_versions_that_alternate_have_containers_of_their_own(make_feed, registry):
    feed = make_feed(
        partitions=2,
        settings=f"""
file = "avro"
format = "avro"
schemas = "{registry.url}"
unknown_schema_seconds = 0.5
record_columns = ["key", "offset"]
object_records = 70
object_age_seconds = 0.5
""",
    )
    sent = 1000
    feed.send(records(0, sent))
    loader = feed.load_apart()
    feed.wait_passed(random.randrange(1, sent - 100))
    loader.kill()
    feed.load()
    feed.wait_passed(sent)
    found = []
    for name, data in feed.objects().items():
        rows = rows_of(data)
        assert len({tuple(row) for row in rows}) == 1
        assert rows[0]["offset"] == name.begin
        found += rows
    numbers = [each for each in range(sent) if not is_bad(each)]
    assert sorted(row["number"] for row in found) == numbers
    for row in found:
        wanted = flight(row["number"]) | {"key": b"key", "offset": row["number"] // 2}
        assert row == {key: each for key, each in wanted.items() if key in row}
        assert ("delay" in row) == (row["number"] % 2 == 1)
    assert_letters(feed, [each for each in range(sent) if is_bad(each)])
    assert {each.schema for each in feed.told().values() if each.size_bytes} == {"1", "2"}
    feed.assert_told()


def test_older_records_become_those_of_the_newer_schema(make_feed, tmp_path):
    folder = tmp_path / "schemas"
    folder.mkdir()
    for number, schema in SCHEMAS.items():
        (folder / f"{number}.avsc").write_text(json.dumps(schema))
    feed = make_feed(
        settings="""
format = "avro"
schemas = "schemas"
compatibility = "backward"
record_columns = ["offset"]
object_records = 100
object_age_seconds = 1000.0
"""
    )
    # The first record of the newer schema behind those of the older one ends their object.
    older = range(101, 131)
    values = [datum(each, 1) if each in older else value(each) for each in range(1, 331)]
    feed.send(TrafficRecord(0, None, each) for each in values)
    await_death(begin_with_end(feed, Step.SEALED))
    [sealed] = feed.intents()[0].blocks.values()
    feed.load()
    feed.wait_passed(330)
    tables = {name.begin: pq.read_table(io.BytesIO(data)) for name, data in feed.objects().items()}
    assert sorted(tables) == [0, 100, 130, 230]
    names = {begin: each.schema.names for begin, each in tables.items()}
    assert names.pop(100) == ["number", "carrier", "offset"]
    assert {tuple(each) for each in names.values()} == {("delay", "number", "carrier", "offset")}
    frame = pl.concat(
        [pl.read_parquet(data) for data in feed.objects().values()], how="diagonal_relaxed"
    ).sort("number")
    numbers = [each for each in range(1, 331) if each in older or not is_bad(each)]
    assert frame["number"].to_list() == numbers
    assert frame["offset"].to_list() == [each - 1 for each in numbers]
    assert frame["carrier"].to_list() == [flight(each)["carrier"] for each in numbers]
    # A record of the older schema has no delay.
    assert frame["delay"].to_list() == [
        None if each in older else flight(each)["delay"] for each in numbers
    ]
    assert_letters(feed, [each for each in range(1, 331) if each not in numbers])
    told = {each.begin: each for each in feed.told().values()}
    assert [told[begin].schema for begin in sorted(tables)] == ["2", "1", "2", "2"]
    # The taker made the same bytes of the same records.
    assert (told[0].schema, told[0].crc32c) == (sealed.schema, sealed.crc32c)
    feed.assert_told()


def test_json_documents_become_typed_columns(make_feed, tmp_path):
    schema = {
        "type": "record",
        "name": "Flight",
        "fields": [
            {"name": "number", "type": "int"},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "stops", "type": {"type": "array", "items": "string"}, "default": []},
        ],
    }
    (tmp_path / "flight.avsc").write_text(json.dumps(schema))
    feed = make_feed(
        settings="""
format = "json"
schemas = "flight.avsc"
object_records = 50
object_age_seconds = 1000.0
"""
    )

    def document(number):
        found = {"number": number, "at": f"2013-07-01T00:00:{number % 60:02}Z", "more": [1, {}]}
        found |= {"stops": ["é", "b"][: number % 3]} if number % 3 else {}
        return json.dumps(found if number % 7 else found | {"number": str(number)}).encode()

    feed.send(TrafficRecord(0, b"key", document(number)) for number in range(200))
    feed.load()
    feed.wait_passed(200)
    frame = pl.concat([pl.read_parquet(data) for data in feed.objects().values()]).sort("offset")
    numbers = [each for each in range(200) if each % 7]
    assert frame["number"].to_list() == frame["offset"].to_list() == numbers
    assert frame["at"].dt.second().to_list() == [each % 60 for each in numbers]
    assert frame["stops"].to_list() == [["é", "b"][: each % 3] for each in numbers]
    assert frame["key"].to_list() == [b"key"] * len(numbers)
    letters = feed.dead_letters()
    assert sorted(each for each, _ in letters) == sorted(map(document, range(0, 200, 7)))
    feed.assert_told()


def test_a_partition_waits_for_a_registry_that_is_away(make_feed, registry, caplog):
    feed = make_feed(
        partitions=2,
        settings=f"""
file = "avro"
format = "avro"
schemas = "{registry.url}"
object_records = 10
""",
    )
    feed.load()
    feed.send(TrafficRecord(0, None, datum(each, 1)) for each in range(10))
    feed.wait_passed(10)
    registry.stop()
    with caplog.at_level(logging.WARNING):
        feed.send(TrafficRecord(0, None, datum(each, 2)) for each in range(10, 20))
        assert until(lambda: "event=schemas-away" in caplog.text, LOADED_SECONDS)
        # The schema of the other partition's records is known.
        feed.send(TrafficRecord(1, None, datum(each, 1)) for each in range(20, 30))
        feed.wait_passed(20)
    assert f"{feed.topic}-0: {registry.url}/schemas/ids/2: " in caplog.text
    assert feed.intents()[0].offset == 10
    registry.start()
    feed.wait_passed(30)
    rows = [row for data in feed.objects().values() for row in rows_of(data)]
    assert sorted(row["number"] for row in rows) == [*range(30)]
    assert registry.asked == ["/schemas/ids/1", "/schemas/ids/2"]
    # A registry that follows another learns a schema late.
    feed.send(TrafficRecord(0, None, b"\0\0\0\0\3" + datum(each, 2)[5:]) for each in range(10))
    assert until(lambda: "/schemas/ids/3" in registry.asked, LOADED_SECONDS)
    registry.schemas[3] = DELAYED
    feed.wait_passed(40)
    assert not feed.dead_letters()
    feed.assert_told()
