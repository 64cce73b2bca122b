"""An operator sees counters and status of a feed into objects; objects without records are not
written."""

from __future__ import annotations

import io
import json
import re
from concurrent.futures import Future
from contextlib import redirect_stdout

import pytest

from aggregator.loader.counters import (
    OBJECT_BYTES,
    OBJECT_ENDINGS,
    OBJECT_LOOKS,
    OBJECT_RECORDS,
    OBJECTS,
    OBJECTS_NOT_WRITTEN,
    RECORDS_LEFT_OUT,
    STORE_REQUESTS,
)
from aggregator.loader.report_store import ReportStore
from deploy.lab.object_server import ACCESS_KEY, SECRET_KEY, ObjectServer
from deploy.lab.traffic import TrafficRecord
from deploy.lab.wait import until
from replicator.orders.feed_orders import FeedOrders
from replicator.orders.order_records import Freeze
from tests.aggregator.formats.datums import encoded
from tests.live.object_ground import ObjectGround
from tui.program import run


@pytest.fixture(scope="module")
def object_server(tmp_path_factory):
    server = ObjectServer(tmp_path_factory.mktemp("objects"))
    server.start()
    server.wait_ready()
    yield server
    server.process.kill()


@pytest.fixture
def make_feed(tmp_path, aggregate, redis, object_server, opened, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)

    def make(settings: str) -> ObjectGround:
        by_field = 'partition_by = "field"\nfields = ["c"]\nobject_age_seconds = 0\n'
        ground = opened.enter_context(
            ObjectGround(tmp_path, aggregate, redis, object_server, settings=by_field + settings)
        )
        ground.lead()
        return ground

    return make


def records(text):
    """Yields a record for each letter; a dot is a tombstone."""
    for letter in text:
        value = None if letter == "." else b'{"c":"%s"}' % letter.encode()
        yield TrafficRecord(0, b"key", value)


class Counts:
    """Counters of the feed's loaders, as they leave them in Redis."""

    def __init__(self, feed):
        self._feed, self._url = feed.feed, feed.appliance.region("east").redis_url()

    def value(self, counter, *labels):
        with ReportStore(self._url) as store:
            found = store.totals(self._feed).values()
        return sum(each.counts.get(counter.name, {}).get(labels, 0) for each in found)

    def wait(self, counter, *labels, wanted):
        assert until(lambda: self.value(counter, *labels) == wanted, 30), (
            counter.name,
            labels,
            self.value(counter, *labels),
        )


def test_what_holds_the_offset_back_too_far_ends_one_after_the_other_and_is_counted(make_feed):
    feed = make_feed("object_records = 10\nheld_back_records = 25\n")
    feed.send(records("ab" + "z" * 40))
    feed.load()
    feed.wait_passed(32)
    counts = Counts(feed)
    counts.wait(OBJECT_ENDINGS, feed.topic, "held back", wanted=2)
    counts.wait(OBJECT_ENDINGS, feed.topic, "records", wanted=4)
    counts.wait(OBJECTS, feed.topic, wanted=6)
    counts.wait(OBJECT_RECORDS, feed.topic, wanted=42)
    counts.wait(OBJECT_BYTES, feed.topic, wanted=sum(map(len, feed.objects().values())))
    counts.wait(OBJECT_LOOKS, "ours", wanted=6)
    counts.wait(STORE_REQUESTS, "PutObject", "200", wanted=6)
    feed.assert_exact()


def test_ranges_whose_records_are_all_left_out_are_passed_without_an_object(make_feed):
    feed = make_feed('object_records = 5\ntombstones = "left_out"\n')
    feed.send(records("." * 10 + "a..aa" + "." * 7 + "aa"))
    feed.load()
    feed.wait_passed(15)
    counts = Counts(feed)
    counts.wait(OBJECTS_NOT_WRITTEN, feed.topic, wanted=3)
    counts.wait(RECORDS_LEFT_OUT, feed.topic, wanted=15)
    counts.wait(OBJECTS, feed.topic, wanted=1)
    assert [name.encoded_partition for name in feed.objects()] == ["c=a"]
    feed.assert_told()
    ranges = sorted((each.begin, each.is_empty) for each in feed.told().values())
    assert ranges == [(0, True), (5, True), (10, False), (11, True)]
    out = io.StringIO()
    with redirect_stdout(out):
        words = ["aggregate", "status", "--config", str(feed.config), "--partitions"]
        assert run(words) == 0
    heads, row, *_ = (re.split(r" {2,}", line) for line in out.getvalue().splitlines())
    shown = dict(zip(heads, row, strict=True))
    told = [shown[head] for head in ("MODE", "COMMITTED", "END", "OPEN", "SEALED", "SEALED S")]
    assert told == ["consume", "18", "24", "1", "0", "-"]


def test_a_folder_is_frozen_in_each_version_of_its_records(make_feed, tmp_path):
    (tmp_path / "schemas").mkdir()
    of_version = {
        version: {
            "type": "record",
            "name": "Row",
            "fields": [{"name": "c", "type": "string"}, {"name": f"v{version}", "type": "int"}],
        }
        for version in (1, 2)
    }
    for version, schema in of_version.items():
        (tmp_path / "schemas" / f"{version}.avsc").write_text(json.dumps(schema))

    def row(letter: str, version: int) -> TrafficRecord:
        datum = encoded(of_version[version], {"c": letter, f"v{version}": 1})
        return TrafficRecord(0, b"key", b"\0" + version.to_bytes(4, "big") + datum)

    feed = make_feed('object_records = 1\nfile = "avro"\nformat = "avro"\nschemas = "schemas"\n')
    feed.send([row("b", 1), row("b", 2), row("a", 2), row("b", 1), row("a", 1)])
    said = {"route": feed.feed, "at_ms": 0, "who": "ann@ops", "why": "wrong producer"}

    def load(*tables: str) -> Future:
        freezes = tuple(Freeze(**said, table=each) for each in tables)
        return feed.load(orders=FeedOrders(feed=feed.feed, freezes=freezes))

    for tables, passed in ((("c=a",), 2), (("c=a#1",), 4), ((), 5)):
        loader = load(*tables)
        feed.wait_passed(passed)
        feed.publish()
        loader.result(30)
        assert feed.intents()[0].offset == passed
    feed.assert_told()
