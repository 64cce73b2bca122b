"""Kafka and Redis under a feed into objects: brokers die, Redis is away, topics are cut or created
again. Records that can be written are in one object; others stop their partition, named."""

from __future__ import annotations

from dataclasses import replace

import pytest
from confluent_kafka.admin import NewTopic

from deploy.lab.object_server import ACCESS_KEY, SECRET_KEY
from deploy.lab.wait import until
from replicator.kafka.client.loss import LossKind
from tests.live.feed_ground import documents
from tests.live.object_ground import ObjectGround
from tests.live.object_steps import Step, begin_with_end
from tests.live.test_feed_kills import await_death
from tests.live.test_feed_loss_acceptance import accepted as losses_accepted
from tests.live.test_feed_sources import accepted, await_parked, delete_below
from tests.live.test_object_loading import object_server
from tests.live.topics import delete

__all__ = ["object_server"]  # fixture
TEN = "object_records = 10\nobject_age_seconds = 0.5"


@pytest.fixture
def make_feed(tmp_path, aggregate, redis, object_server, opened, monkeypatch):
    """`make_feed(cluster=another)`: a feed whose objects end by ten records, or soon."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)

    def make(cluster=aggregate, redis=redis, **options: object) -> ObjectGround:
        options = {"settings": TEN, "brokers_die": cluster is not aggregate, **options}
        ground = opened.enter_context(
            ObjectGround(tmp_path, cluster, redis, object_server, **options)
        )
        ground.lead()
        return ground

    return make


def test_a_broker_that_is_killed_and_started_again_loses_and_repeats_nothing(
    make_feed, make_cluster
):
    cluster = make_cluster("own")
    feed = make_feed(cluster, partitions=2)
    feed.load()
    sent = 0
    for _ in range(2):
        feed.send(documents(300, first=sent, partitions=2))
        sent += 300
        feed.wait_objects(sent // 20)  # commits and completions are under way
        cluster.kill()
        cluster.restart()
        cluster.wait_ready()
    feed.wait_passed(sent)
    feed.assert_exact()


def test_loaders_need_no_redis(make_feed, make_redis):
    redis = make_redis()
    feed = make_feed(redis=redis)
    feed.load()
    feed.send(documents(50))
    feed.wait_passed(50)
    redis.kill()
    feed.send(documents(50, first=50))
    feed.wait_passed(100)
    feed.load(number=1)
    feed.send(documents(50, first=100))
    feed.wait_passed(150)
    feed.assert_exact()


@pytest.mark.parametrize("is_cut", [True, False])
def test_records_that_retention_took_are_named_and_writing_goes_on_behind_them(make_feed, is_cut):
    """The deletion ends within the range of a sealed object that is not there, or behind it."""
    feed = make_feed(settings="object_records = 100\nobject_age_seconds = 0.5")
    feed.send(documents(100))
    await_death(begin_with_end(feed, Step.SEALED))
    feed.send(documents(100, first=100))
    delete_below(feed, 60 if is_cut else 130)
    feed.load()
    await_parked(feed, LossKind.RETENTION_PASSED)
    parked, end = feed.intents()[0].parked, 60 if is_cut else 130
    assert (parked.begin, parked.end) == (0, end)
    assert not feed.objects()
    assert not accepted(feed).left
    feed.wait_passed(200)
    assert sorted(each.offset for each in feed.records()) == [*range(end, 200)]


def test_a_topic_that_is_deleted_and_created_again_is_named_and_not_read_on(make_feed):
    feed = make_feed(partitions=1)
    loader = feed.load_apart()
    feed.send(documents(50))
    feed.wait_passed(50)
    before = feed.objects()
    delete(feed.cluster, feed.topic)
    feed.cluster.create_topics(NewTopic(feed.topic, 1))
    feed.send(documents(30, first=500))
    assert until(lambda: "event=parked" in loader.log.read_text(), 60), loader.failure("?")
    assert feed.objects() == before


def test_objects_of_a_recreated_topic_are_not_taken_for_those_of_the_former_one(make_feed):
    """Both logs have the same records, so that their objects have the same bytes."""
    feed = make_feed()
    records = [replace(each, timestamp_ms=1_764_000_000_000) for each in documents(50)]
    feed.send(records)
    loader = feed.load_apart()
    feed.wait_passed(50)
    before = feed.objects()
    delete(feed.cluster, feed.topic)
    feed.cluster.create_topics(NewTopic(feed.topic, 1))
    feed.send(records)
    assert until(lambda: "event=parked" in loader.log.read_text(), 60), loader.failure("?")
    loader.kill()
    assert not losses_accepted(feed, partition=0, restart_at=0).left
    await_death(begin_with_end(feed, Step.SEALED))
    feed.load()
    feed.wait_passed(50)
    found = feed.objects()
    assert {name: found.pop(name) for name in before} == before
    assert {replace(name, incarnation=0): data for name, data in found.items()} == before
    assert len({name.incarnation for name in found}) == 1
    told = feed.told()
    assert {name.key for name in [*before, *found]} == told.keys()
