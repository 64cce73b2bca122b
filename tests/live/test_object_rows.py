"""`sluice verify check --rows` of feeds into objects: what is planted is named, and no more."""

from __future__ import annotations

import io
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as KafkaTopicPartition

from deploy.lab.traffic import Shape, TrafficRecord
from replicator.config.names import dead_letter_topic
from tests.live.feed_ground import committed, documents
from tests.live.object_commands import sluice
from tests.live.test_object_loading import make_feed, object_server

__all__ = ["make_feed", "object_server"]  # fixtures
HOUR_MS = 3_600_000
BY_HOUR = 'partition_by = "time"\nfolders = "hour=%H"\nobject_records = 10'


def interleaved(count: int, first: int = 0, partitions: int = 1):
    """Yields documents of three hours, tombstones, and records that are no JSON."""
    for at, each in enumerate(documents(count, first=first, partitions=partitions)):
        value = None if at % 11 == 5 else b"{no" if at % 13 == 7 else each.value
        yield replace(each, value=value, timestamp_ms=HOUR_MS * (480_000 + at % 3))


def checked(feed, more: str = ""):
    """Returns the exit code, and the count of the topic."""
    code, found, said = sluice(feed, f"verify check --region east --rows --since 3650d {more}")
    assert found["tables"], (found, said)
    (count,) = found["tables"]
    return code, count


def differing(count) -> dict[str, int]:
    names = ("missing", "surplus", "doubled", "changed_chunks")
    return {name: count[name] for name in names if count[name]}


FILES = {
    "parquet": "",
    "json_lines": 'file = "json_lines"\ncodec = "gzip"\ntombstones = "dead_letters"',
    "bytes": 'file = "bytes"\ncodec = "zstd"\nseparator = "|"',
}


@pytest.mark.parametrize("file", FILES)
def test_records_in_objects_of_all_formats_are_found_to_be_those_of_the_topic(make_feed, file):
    feed = make_feed(partitions=2, settings=f"{BY_HOUR}\n{FILES[file]}")
    shape = Shape(codec="lz4", batch_records=17, transaction_records=40, abort_every=3)
    feed.send(interleaved(400, partitions=2), shape)
    feed.load()
    ends = {at: max((m.offset() or 0 for m in committed(feed.cluster, feed.topic)
                     if m.partition() == at), default=-1) for at in range(2)}  # fmt: skip
    feed.wait_passed(sum(ends.values()) - 2 * 3 * 30)
    code, count = checked(feed)
    assert (code, differing(count), count["not_compared"]) == (0, {}, []), count
    assert count["found"] == count["expected"] > 150
    # One byte less in one object.
    name, content = next(iter(feed.objects().items()))
    if file == "bytes":
        (feed.bucket / name.key).write_bytes(content[:-1])
        code, count = checked(feed)
        assert (code, differing(count)) == (9, {"changed_chunks": 1})
        assert name.key in count["examples"][0]


def rewrite(feed, name, change) -> None:
    """Replaces an object by one with other rows."""
    table = pq.read_table(io.BytesIO(feed.objects()[name]))
    out = io.BytesIO()
    pq.write_table(change(table), out)
    (feed.bucket / name.key).write_bytes(out.getvalue())


def other_values(table: pa.Table) -> pa.Table:
    at = table.column_names.index("value")
    return table.set_column(at, table.field(at), pa.array([b"other"] * len(table)))


def moved(table: pa.Table) -> pa.Table:
    at = table.column_names.index("offset")
    offsets = [1000, *table.column("offset").to_pylist()[1:]]
    return table.set_column(at, table.field(at), pa.array(offsets))


CHANGES = {
    "same rows": (lambda table: table, {}),
    "a row less": (lambda table: table.slice(1), {"missing": 1}),
    "a row twice": (lambda table: pa.concat_tables([table, table.slice(0, 1)]), {"doubled": 1}),
    "another offset": (moved, {"missing": 1, "surplus": 1}),
    "other values": (other_values, {"changed_chunks": 1}),
}


def test_rows_that_are_planted_are_named_by_their_offsets(make_feed):
    feed = make_feed(settings=BY_HOUR)
    feed.send(interleaved(90))
    feed.load()
    feed.wait_passed(87)
    (name, *_), before = sorted(feed.objects(), key=lambda each: each.begin), feed.objects()
    for what, (change, expected) in CHANGES.items():
        rewrite(feed, name, change)
        code, count = checked(feed)
        assert (code, differing(count)) == (9 if expected else 0, expected), (what, count)
        if "missing" in expected:
            assert any(f"missing: offsets {name.begin}" in text for text in count["examples"])
        (feed.bucket / name.key).write_bytes(before[name])
    (feed.bucket / name.key).unlink()
    code, count = checked(feed)
    assert (code, differing(count)) == (9, {"missing": 10})
    assert count["examples"] == [f"missing: {name.key} is not there"]
    (feed.bucket / name.key).write_bytes(b"no file")
    code, count = checked(feed)
    assert (code, differing(count)) == (9, {"changed_chunks": 1})


def test_dead_letters_are_looked_for(make_feed):
    settings = 'object_records = 10\nfile = "json_lines"\ntombstones = "left_out"'
    feed = make_feed(settings=settings)
    bad = [TrafficRecord(0, b"k", b"{no" if at == 3 else b"{}") for at in range(10)]
    feed.send(bad)
    feed.load()
    feed.wait_passed(10)
    assert checked(feed)[0] == 0
    (letter,) = committed(feed.cluster, dead_letter_topic(feed.feed))
    producer = Producer({**feed.cluster.librdkafka_options(), "acks": "all"})
    producer.produce(
        letter.topic(), letter.value(), headers=letter.headers(), partition=letter.partition()
    )
    assert producer.flush(30) == 0
    code, count = checked(feed)
    assert (code, differing(count)) == (9, {"doubled": 1}), count
    assert count["examples"] == ["doubled among the dead letters: partition 0, offsets 3"]
    # Another letter stands in place of both, and then Kafka forgets it, too.
    headers = [("trace", b"other"), *(letter.headers() or [])]
    forget_letters(feed, letter)
    producer.produce(
        letter.topic(), letter.value(), letter.key(), letter.partition(), headers=headers
    )
    assert producer.flush(30) == 0
    code, count = checked(feed)
    assert (code, differing(count)) == (9, {"changed_chunks": 1}), count
    assert count["examples"] == ["changed among the dead letters: partition 0, offsets 3"]
    forget_letters(feed, letter)
    code, count = checked(feed)
    assert (code, differing(count)) == (9, {"missing": 1}), count
    assert count["examples"] == ["missing among the dead letters: partition 0, offsets 3"]


def forget_letters(feed, letter) -> None:
    """Deletes all records of a partition of the dead letters."""
    place = KafkaTopicPartition(letter.topic(), letter.partition(), -1)
    admin = feed.cluster.admin()
    (done,) = admin.delete_records([place]).values()
    done.result(30)


def test_objects_of_other_settings_are_compared_by_their_manifests(make_feed):
    feed = make_feed(settings="object_records = 10")
    feed.send(documents(20))
    feed.load()
    feed.wait_passed(20)
    feed.config.write_text(feed.config.read_text() + "\n")
    text = feed.config.read_text().replace(
        "object_records = 10", 'object_records = 10\ncodec = "gzip"'
    )
    feed.config.write_text(text)
    code, count = checked(feed)
    assert (code, differing(count), count["found"]) == (5, {}, 20), count
    assert all("its manifest was compared" in each for each in count["not_compared"])
