"""Formats with schemas between real servers: Avro datums, Protobuf messages and row batches."""

from __future__ import annotations

import io
import json
import shutil
import struct

import fastavro
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.message_factory import GetMessageClass

from aggregator.formats.proto_messages import pool_of
from deploy.lab.traffic import Shape, TrafficRecord
from deploy.lab.wait import until
from replicator.config.schema_folder import descriptor_set
from tests.live.feed_ground import COLUMNS, FeedGround, Row
from tui.program import run

HEADERS = [("table", b"flights")]
BY_HEADER = 'table_from = "header"\n'
APART_SECONDS = 180.0
"""Longest wait for a loader in a process of its own, which imports all of its libraries first."""
CONFLUENT = b"\0" + struct.pack(">I", 7) + b"\0"
PROTO = """
syntax = "proto3";
message flights { uint64 id = 1; string name = 2; optional double price = 3; string unknown = 4; }
"""


@pytest.fixture
def make_feed(tmp_path, aggregate, redis, replicated_database, opened):
    """`make_feed(settings)`: a feed with a table `flights`, whose driver leads."""

    def make(settings: str) -> FeedGround:
        feed = opened.enter_context(
            FeedGround(
                tmp_path, aggregate, redis, replicated_database, settings=BY_HEADER + settings
            )
        )
        replicated_database.create_table("flights", COLUMNS, order_by="(_offset, _row)")
        feed.lead()
        return feed

    return make


def compiled(folder, name: str):
    """Returns a message's class, as a program gets it from the .proto files of a folder."""
    files = [path.name for path in folder.glob("*.proto")]
    pool = pool_of(FileDescriptorSet.FromString(descriptor_set(folder, files)).file)
    return GetMessageClass(pool.FindMessageTypeByName(name))


def price_of(number: int) -> float | None:
    return None if number % 7 == 0 else number / 4


def record(value: bytes | None) -> TrafficRecord:
    return TrafficRecord(0, b"key", value, HEADERS)


def test_protobuf_messages_become_rows_and_those_that_cannot_dead_letters(make_feed, tmp_path):
    folder = tmp_path / "protos"
    folder.mkdir()
    (folder / "flights.proto").write_text(PROTO)
    feed = make_feed('format = "protobuf"\nschemas = "protos"')
    message = compiled(folder, "flights")
    values = [
        message(id=number, name=f"näme {number}", price=price_of(number), unknown="x")
        for number in range(2000)
    ]
    sent = [
        (CONFLUENT if number % 2 else b"") + value.SerializeToString()
        for number, value in enumerate(values)
    ]
    sent[1000:1000] = [b"\xff", None, b"\0\0\0\0\7\2\2"]
    # A loader on another host has no such folder.
    shutil.rmtree(folder)
    feed.load_apart()
    feed.send(map(record, sent), Shape(batch_records=100))
    feed.wait_count(2000, "flights", APART_SECONDS)
    wanted = [
        Row(
            0,
            number if number < 1000 else number + 3,
            0,
            number,
            f"näme {number}",
            price_of(number),
        )
        for number in range(2000)
    ]
    assert feed.rows("flights") == wanted
    letters = [(value, headers["sluice.offset"]) for value, headers in feed.dead_letters()]
    assert letters == [(b"\xff", b"1000"), (b"\0\0\0\0\7\2\2", b"1002")]


class Writer:
    """Program that writes row batches by the file that `sluice aggregate proto` prints."""

    def __init__(self, feed: FeedGround, capsys, folder) -> None:
        capsys.readouterr()
        arguments = ["--config", str(feed.config), "--feed", feed.feed, "--table", "flights"]
        assert run(["aggregate", "proto", *arguments]) == 0
        text = capsys.readouterr().out
        folder.mkdir()
        (folder / "flights.proto").write_text(text)
        self._batch = compiled(folder, "sluice.RowBatch")
        self.hash = text.partition("schema_hash ")[2].partition(".")[0]

    def batch(self, first: int, *, is_named: bool, rows: int = 10, **more) -> TrafficRecord:
        batch = self._batch(table="flights")
        for number in range(first, first + rows):
            name = f"näme {number}".encode()
            batch.rows.add(id=number, name=name, price=price_of(number), **more)
        if is_named:
            for name, kind in (
                ("id", "UInt64"),
                ("name", "String"),
                ("price", "Nullable(Float64)"),
            ):
                batch.columns.column.add(name=name, type=kind)
        else:
            batch.schema_hash = self.hash
        return record(batch.SerializeToString())


def test_row_batches_are_loaded_through_changes_of_the_table(make_feed, tmp_path, capsys):
    feed = make_feed('format = "row_batches"')
    feed.load()
    old = Writer(feed, capsys, tmp_path / "old")
    feed.send(old.batch(first, is_named=first % 20 == 0) for first in range(0, 500, 10))
    feed.wait_count(500, "flights")
    with feed.database.client() as client:
        client.execute("ALTER TABLE flights ADD COLUMN gate String DEFAULT 'none' AFTER id")
    # The loader's columns are of before, and it reads those of now when it sees the new hash.
    new = Writer(feed, capsys, tmp_path / "new")
    assert new.hash != old.hash
    feed.send([new.batch(500, is_named=False, gate=b"A1"), old.batch(510, is_named=True)])
    feed.wait_count(520, "flights")
    assert feed.dead_letters() == []
    wanted = [
        Row(0, number // 10, number % 10, number, f"näme {number}", price_of(number))
        for number in range(520)
    ]
    assert feed.rows("flights") == wanted
    with feed.database.client() as client:
        gates = client.execute("SELECT gate, count() FROM flights GROUP BY gate ORDER BY gate")
    assert gates == [("A1", 10), ("none", 510)]


def test_a_batch_for_columns_that_the_table_never_had_is_a_dead_letter(make_feed, tmp_path, capsys):
    feed = make_feed('format = "row_batches"')
    writer = Writer(feed, capsys, tmp_path / "own")
    known = writer.hash
    good = writer.batch(0, is_named=False)
    writer.hash = "01234567"
    feed.send([good, writer.batch(10, is_named=False), record(b"\xff")])
    feed.load()
    assert until(lambda: len(feed.dead_letters()) == 2, 30)
    reasons = [headers["sluice.reason"].decode() for _, headers in feed.dead_letters()]
    assert "01234567" in reasons[0] and known in reasons[0]
    feed.wait_count(10, "flights")
    assert [row.id for row in feed.rows("flights")] == list(range(10))


AVRO = {
    "type": "record",
    "name": "flights",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": "string"},
        {"name": "price", "type": ["null", "double"]},
        {"name": "unknown", "type": {"type": "map", "values": "int"}},
    ],
}
OLDER_AVRO = {**AVRO, "fields": AVRO["fields"][:2]}


def datum(number: int, schema) -> bytes:
    row = {"id": number, "name": f"näme {number}", "price": price_of(number), "unknown": {"x": 1}}
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), row)
    return out.getvalue()


def test_avro_datums_of_several_schemas_become_rows_and_others_dead_letters(make_feed, tmp_path):
    folder = tmp_path / "avro"
    folder.mkdir()
    (folder / "7.avsc").write_text(json.dumps(OLDER_AVRO))
    (folder / "70000.avsc").write_text(json.dumps(AVRO))
    feed = make_feed('format = "avro"\nschemas = "avro"')
    headers = {True: b"\0" + struct.pack(">I", 7), False: b"\0" + struct.pack(">I", 70_000)}
    sent: list[bytes | None] = [
        headers[number % 3 == 0] + datum(number, OLDER_AVRO if number % 3 == 0 else AVRO)
        for number in range(2000)
    ]
    unknown = b"\0\0\0\0\x09" + datum(1, AVRO)
    sent[1000:1000] = [datum(1, AVRO), None, unknown, headers[False] + datum(1, AVRO)[:-1]]
    # A loader on another host has no such folder.
    shutil.rmtree(folder)
    feed.load_apart()
    feed.send(map(record, sent), Shape(batch_records=100))
    feed.wait_count(2000, "flights", APART_SECONDS)
    assert feed.rows("flights") == [
        Row(
            0,
            number if number < 1000 else number + 4,
            0,
            number,
            f"näme {number}",
            None if number % 3 == 0 else price_of(number),
        )
        for number in range(2000)
    ]
    letters = [
        (headers["sluice.offset"], headers["sluice.reason"].decode())
        for _, headers in feed.dead_letters()
    ]
    mend = "into the folder of schemas, and start `sluice aggregate` again"
    assert letters == [
        (b"1000", f"no Confluent header; for plain datums put flights.avsc {mend}"),
        (b"1002", f"9.avsc: the schema is unknown; put it {mend}"),
        (b"1003", "unknown: cannot be read"),
    ]
