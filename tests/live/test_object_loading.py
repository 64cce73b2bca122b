"""Loaders into objects between real servers: each record is in one object, whatever dies."""

from __future__ import annotations

import random

import pytest

from deploy.lab.object_server import ACCESS_KEY, SECRET_KEY, ObjectServer
from deploy.lab.traffic import Shape
from tests.live.feed_ground import documents
from tests.live.object_ground import ObjectGround

MIB = 1 << 20


@pytest.fixture(scope="module")
def object_server(tmp_path_factory):
    server = ObjectServer(tmp_path_factory.mktemp("objects"))
    server.start()
    server.wait_ready()
    yield server
    server.process.kill()


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
