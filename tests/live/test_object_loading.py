"""Loaders into objects between real servers: each record is in one object, whatever dies."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import NewPartitions

from deploy.lab.object_server import ACCESS_KEY, SECRET_KEY, ObjectServer
from deploy.lab.traffic import Shape, TrafficRecord
from deploy.lab.wait import until
from replicator.kafka.client.loss import LossKind
from tests.live.feed_ground import documents
from tests.live.object_ground import ObjectGround
from tui.program import run

MIB = 1 << 20


def served(server: ObjectServer) -> Iterator[ObjectServer]:
    """Yields a server that takes connections; kills it afterwards."""
    server.start()
    server.wait_ready()
    yield server
    server.process.kill()


@pytest.fixture(scope="module")
def object_server(tmp_path_factory):
    yield from served(ObjectServer(tmp_path_factory.mktemp("objects")))


@pytest.fixture
def make_feed(tmp_path, aggregate, redis, object_server, opened, monkeypatch):
    """`make_feed(partitions=2, settings="...")`: a feed whose driver leads, with its bucket."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)

    def make(**options: object) -> ObjectGround:
        ground = opened.enter_context(
            ObjectGround(tmp_path, aggregate, redis, object_server, **options)
        )
        ground.lead()
        return ground

    return make


def test_every_record_is_in_one_object(make_feed):
    feed = make_feed(partitions=3, settings="object_records = 100")
    feed.send(documents(3000, partitions=3), Shape(codec="lz4", batch_records=77))
    feed.load()
    feed.wait_passed(3000)
    feed.assert_exact()
    assert len(feed.objects()) == 30


def test_a_killed_loader_is_replaced_and_no_record_is_lost_or_in_two_objects(make_feed):
    feed = make_feed(partitions=2, settings="object_age_seconds = 0.3\nobject_records = 400")
    loader = feed.load_apart()
    sent = 0
    for _ in range(5):
        feed.send(documents(1000, first=sent, partitions=2))
        sent += 1000
        feed.wait_passed(random.randrange(sent - 900, sent))
        loader.kill()
        loader = feed.load_apart()
    feed.wait_passed(sent)
    feed.assert_exact()


def test_other_folders_park_a_partition_with_records_in_objects_above_its_offset(make_feed):
    """They would be written again, into the other folders."""
    by = 'partition_by = "field"\nfields = ["{}"]\nobject_records = 2\nobject_age_seconds = 1000.0'
    feed = make_feed(settings=by.format("a"))
    values = [b'{"a": 1, "b": 1}', *[b'{"a": 2, "b": 2}'] * 2]
    feed.send(TrafficRecord(0, b"key", value) for value in values)
    loader = feed.load_apart()
    assert until(lambda: feed.intents()[0].tables and not feed.intents()[0].blocks, 60)
    loader.kill()
    present = feed.appliance
    other = present.feed(feed.feed).model_copy(update={"fields": ("b",)})
    feed.appliance = present.model_copy(update={"feeds": {feed.feed: other}})
    loader = feed.load_apart()
    assert until(lambda: feed.intents()[0].parked is not None, 60)
    assert feed.intents()[0].parked.kind is LossKind.OBJECT_SETTINGS
    loader.kill()
    feed.appliance = present
    words = ["aggregate", "accept-loss", "--config", str(feed.config), "--feed", feed.feed]
    assert run([*words, "--yes"]) == 0
    feed.load()
    feed.send([TrafficRecord(0, b"key", values[0])])
    feed.wait_passed(4)
    feed.assert_exact()


FOLDERS = 600
"""Folders of a partition: more than an intent can name."""


def test_interleaved_values_of_a_field_are_an_object_each_at_the_rate_of_the_store(make_feed):
    by = 'partition_by = "field"\nfields = ["a"]\nobject_age_seconds = 2.5'
    feed = make_feed(settings=by)
    loader = feed.load_apart()
    count = 3 * FOLDERS
    values = (b'{"a": %d}' % (at % FOLDERS) for at in range(count))
    feed.send(TrafficRecord(0, b"key", value) for value in values)
    assert until(lambda: len(feed.objects()) > FOLDERS // 3, 60)
    loader.kill()
    feed.load()
    feed.wait_passed(count, 60)
    feed.assert_exact()
    assert len(feed.objects()) <= 3 * FOLDERS
    assert feed.intents()[0].offset == count


def test_a_feed_that_begins_at_the_end_has_all_of_what_is_made_later(make_feed, aggregate):
    feed = make_feed(settings='start = "latest"')
    admin = aggregate.admin()
    admin.create_partitions([NewPartitions(feed.topic, 2)])[feed.topic].result(30)
    feed.partitions = 2
    feed.send(TrafficRecord(1, b"key", b"%d" % at) for at in range(10))

    def is_adopted() -> bool:
        feed.adopt()
        return 1 in feed.intents()

    assert until(is_adopted, 30)
    assert feed.intents()[1].offset == 0
