"""`sluice verify check --rows` of feeds whose values have a schema: what is planted is named, and
no more."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import fastavro
import pyarrow as pa
from confluent_kafka import TopicPartition as KafkaTopicPartition

from deploy.lab.traffic import TrafficRecord
from replicator.config.names import dead_letter_topic
from tests.live.feed_ground import committed
from tests.live.test_object_loading import make_feed, object_server
from tests.live.test_object_rows import checked, differing, rewrite
from tests.live.test_object_schemas import (
    FLIGHT,
    datum,
    is_bad,
    records,
    registry,
    rows_of,
)

__all__ = ["make_feed", "object_server", "registry"]  # fixtures
SENT = 300
RECORDS = 'object_records = 40\nobject_age_seconds = 0.5\nrecord_columns = ["key", "offset"]'


def written(make_feed, settings, sent=None):
    """Returns a feed whose records are in objects, or dead letters."""
    feed = make_feed(settings=f"{RECORDS}\n{settings}")
    sent = [*sent] if sent else [replace(each, partition=0) for each in records(0, SENT)]
    feed.send(sent)
    feed.load()
    feed.wait_passed(len(sent))
    return feed


def assert_same(feed, expected: int) -> None:
    code, count = checked(feed)
    assert (code, differing(count), count["not_compared"]) == (0, {}, []), count
    assert count["found"] == count["expected"] == expected


def rewrite_container(feed, name, change) -> None:
    """Replaces an object by one with other datums."""
    data = io.BytesIO(feed.objects()[name])
    out, schema = io.BytesIO(), fastavro.reader(data).writer_schema
    fastavro.writer(out, schema, change(rows_of(data.getvalue())))
    (feed.bucket / name.key).write_bytes(out.getvalue())


def test_containers_of_several_schemas_are_compared_by_their_datums(make_feed, registry):
    settings = f'file = "avro"\nformat = "avro"\nschemas = "{registry.url}"\ncodec = "zstd"'
    feed = written(make_feed, settings)
    good = [each for each in range(SENT) if not is_bad(each)]
    assert_same(feed, len(good))
    name, before = min(feed.objects(), key=lambda each: each.begin), feed.objects()
    changes = {
        "same datums": (lambda rows: rows, {}),
        "a datum less": (lambda rows: rows[1:], {"missing": 1}),
        "another datum": (
            lambda rows: [{**rows[0], "number": 99_999}, *rows[1:]],
            {"changed_chunks": 1},
        ),
    }
    for what, (change, expected) in changes.items():
        rewrite_container(feed, name, change)
        code, count = checked(feed)
        assert (code, differing(count)) == (9 if expected else 0, expected), (what, count)
        (feed.bucket / name.key).write_bytes(before[name])


def test_typed_columns_are_compared_after_their_projection(make_feed, registry):
    settings = f'format = "avro"\nschemas = "{registry.url}"\ncompatibility = "backward"'
    feed = written(make_feed, settings)
    assert_same(feed, len([each for each in range(SENT) if not is_bad(each)]))
    name = next(each for each in feed.objects() if each.begin > 40)
    for change, expected in (
        (lambda table: table, {}),
        (other_numbers, {"changed_chunks": 1}),
    ):
        before = feed.objects()[name]
        rewrite(feed, name, change)
        code, count = checked(feed)
        assert (code, differing(count)) == (9 if expected else 0, expected), count
        (feed.bucket / name.key).write_bytes(before)


def other_numbers(table: pa.Table) -> pa.Table:
    at = table.column_names.index("number")
    numbers = pa.array([7] * len(table), table.schema.field(at).type)
    return table.set_column(at, table.field(at), numbers)


def test_columns_of_documents_are_compared(make_feed, tmp_path):
    (tmp_path / "flight.avsc").write_text(json.dumps(FLIGHT))
    settings = 'format = "json"\nschemas = "flight.avsc"'
    documents = (
        TrafficRecord(
            0, b"key", json.dumps({"number": n if n % 7 else "n", "carrier": "é"}).encode()
        )
        for n in range(100)
    )
    feed = written(make_feed, settings, documents)
    assert_same(feed, 85)
    name = next(iter(feed.objects()))
    rewrite(feed, name, other_numbers)
    code, count = checked(feed)
    assert (code, differing(count)) == (9, {"changed_chunks": 1})


def test_what_schemas_of_today_read_otherwise_is_named_and_compared_as_far_as_it_can_be(
    make_feed, registry
):
    """An id that nobody knew is known by now; then the registry is away."""
    settings = f'''
file = "avro"
format = "avro"
schemas = "{registry.url}"
unknown_schema_seconds = 0.5
compatibility = "backward"
'''
    unknown = b"\0" + (9).to_bytes(4, "big") + datum(1, 1)[5:]
    # The first object has half of its records, the second one has none.
    values = [unknown if each % 2 or each >= 40 else datum(each, 1) for each in range(80)]
    feed = written(make_feed, settings, [TrafficRecord(0, b"key", each) for each in values])
    assert_same(feed, 20)
    registry.schemas[9] = FLIGHT
    code, count = checked(feed)
    assert (code, differing(count), count["found"]) == (5, {}, 20), count
    (why,) = count["not_compared"]
    assert "was written by the schema 1" in why and "only its checksum was compared" in why
    # What is not in the objects is looked for among the dead letters.
    forget_letters(feed)
    code, count = checked(feed)
    assert (code, differing(count)) == (9, {"missing": 60}), count
    registry.stop()
    code, count = checked(feed)
    assert registry.url in count["not_compared"][0], count


def forget_letters(feed) -> None:
    """Deletes the dead letters from Kafka."""
    letters = committed(feed.cluster, dead_letter_topic(feed.feed))
    admin = feed.cluster.admin()
    for topic, number in {(each.topic(), each.partition()) for each in letters}:
        (done,) = admin.delete_records([KafkaTopicPartition(topic, number, -1)]).values()
        done.result(30)
