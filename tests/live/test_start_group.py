"""A feed into objects begins where the group of another sink has stopped."""

from __future__ import annotations

import uuid

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as KafkaTopicPartition

from deploy.lab.object_server import ACCESS_KEY, SECRET_KEY, ObjectServer
from deploy.lab.wait import until
from tests.live.feed_ground import documents
from tests.live.object_ground import ObjectGround


@pytest.fixture
def object_server(tmp_path):
    server = ObjectServer(tmp_path)
    server.start()
    server.wait_ready()
    yield server
    server.process.kill()


@pytest.fixture
def group():
    return f"connect-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def feed(tmp_path, aggregate, redis, object_server, opened, group, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    settings = f'start = "group:{group}"\nobject_records = 50\nobject_age_seconds = 1.0'
    return opened.enter_context(
        ObjectGround(tmp_path, aggregate, redis, object_server, partitions=3, settings=settings)
    )


def consumer_of(feed, group):
    """Returns a member of the group that has taken up its partitions."""
    consumer = Consumer(
        {
            "bootstrap.servers": feed.cluster.bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([feed.topic])
    assert until(lambda: consumer.poll(0.1) is not None, 60)
    return consumer


def test_a_feed_goes_on_where_the_group_has_stopped_under_the_names_of_its_next_objects(
    feed, group
):
    feed.send(documents(300, partitions=3))
    feed.lead()
    assert feed.leadership.waiting == {
        feed.feed: f"group {group} has committed nothing for these topics; correct its name in "
        "`start`"
    }
    consumer = consumer_of(feed, group)
    feed.adopt()
    assert feed.leadership.waiting == {feed.feed: f"group {group} has members; stop its consumers"}
    assert feed.intents() == {}
    commits = {0: 40, 1: 100}
    places = [KafkaTopicPartition(feed.topic, *each) for each in commits.items()]
    consumer.commit(offsets=places, asynchronous=False)
    consumer.close()
    assert until(lambda: feed.adopt() or not feed.leadership.waiting, 60)
    feed.load()
    feed.send(documents(30, first=300, partitions=3))
    feed.wait_passed(330)
    names = {(each.partition, each.begin) for each in feed.objects()}
    assert {(0, 40), (1, 100), (2, 0), (2, 50)} <= names
    assert min(each for each in names if each[0] == 0) == (0, 40)
    wanted = [each for each in feed.sent() if each.offset >= commits.get(each.partition, 0)]
    assert feed.records() == wanted
    feed.assert_told()
