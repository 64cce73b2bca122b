"""Feeds into a store of another maker: each record is in one object, whatever dies."""

from __future__ import annotations

import pytest

from deploy.lab.s3proxy import S3Proxy
from tests.live.feed_ground import committed, documents
from tests.live.object_commands import sluice
from tests.live.object_steps import Step, begin_with_end
from tests.live.test_feed_kills import await_death
from tests.live.test_object_kills import IN_PARTS, large
from tests.live.test_object_loading import make_feed, served

__all__ = ["make_feed"]  # a fixture


@pytest.fixture(scope="module")
def object_server(tmp_path_factory):
    yield from served(S3Proxy(tmp_path_factory.mktemp("s3proxy")))


@pytest.fixture
def feed(make_feed):
    return make_feed(settings=IN_PARTS)


@pytest.mark.parametrize("step", [Step.PARTS_SENT, Step.SEALED, Step.COMPLETED])
def test_a_loader_that_dies_leaves_each_record_to_one_object(feed, step):
    feed.send(large(10))
    await_death(begin_with_end(feed, step, 2 if step is Step.PARTS_SENT else 1))
    feed.send(documents(50, first=10))
    feed.load()
    feed.wait_passed(60)
    feed.assert_exact()


def test_the_verifier_finds_every_object_and_record(feed):
    feed.send(documents(200))
    feed.load()
    feed.wait_passed(200)
    code, found, said = sluice(feed, "verify check --region east --objects --rows --since 3650d")
    assert code == 0, (found, said)
    (objects,), (rows,) = found["objects"], found["tables"]
    assert (objects["told"], objects["examples"]) == (len(feed.objects()), [])
    assert (rows["expected"], rows["found"], rows["examples"]) == (200, 200, [])


def test_a_topic_is_restored_from_a_listing(feed):
    """This store keeps no CRC-32C: objects are read for theirs."""
    feed.send(documents(200))
    feed.load()
    feed.wait_passed(200)
    words = f"restore --feed {feed.feed} --topic {feed.topic} --as {feed.topic}-again"
    more = "--from-listing --create --replication-factor 1"
    code, found, said = sluice(feed, f"{words} {more}")
    assert (code, found["partitions"][0]["restored_records"]) == (0, 200), said
    values = [each.value() for each in committed(feed.cluster, f"{feed.topic}-again")]
    assert values == [each.value() for each in committed(feed.cluster, feed.topic)]
