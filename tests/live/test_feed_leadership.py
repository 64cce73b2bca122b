"""Leadership of feeds that read several clusters: each cluster by itself."""

from __future__ import annotations

import json
import uuid

import pytest
from confluent_kafka.admin import NewTopic

from aggregator.driver.feed_leadership import FeedLeadership
from aggregator.driver.feed_posting import FeedCluster, FeedPostingFile
from deploy.lab.wait import until
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import load
from replicator.spark.driver_command import TermSuperseded
from tests.live.loop_thread import LoopThread

WEST, EAST = ClusterName("west regional"), ClusterName("east regional")


@pytest.fixture
def loop():
    loop = LoopThread()
    yield loop
    loop.settle()
    loop.close()


@pytest.fixture
def two_clusters(tmp_path, regional, aggregate, redis, make_cluster):
    """A feed of two regional clusters, of which east may be killed; with a topic in each."""
    east = make_cluster("east-regional")
    topic = f"docs_{uuid.uuid4().hex[:8]}"
    for cluster in (regional, east):
        cluster.create_topics(NewTopic(topic, 2))
    feed = f"feed-{uuid.uuid4().hex[:8]}"
    config = tmp_path / "appliance.toml"
    config.write_text(
        f"""
[regions.west]
redis = "{redis.url}"
regional.bootstrap = {json.dumps(regional.bootstrap.split(","))}
aggregate.bootstrap = ["127.0.0.1:1"]
[regions.east]
redis = "{redis.url}"
regional.bootstrap = {json.dumps(east.bootstrap.split(","))}
aggregate.bootstrap = {json.dumps(aggregate.bootstrap.split(","))}
[aggregator]
refresh_seconds = 1.0
[feeds.{feed}]
region = "east"
clusters = ["west regional", "east regional"]
[[feeds.{feed}.shards]]
topics = ["{topic}"]
replicas = ["clickhouse://sluice@127.0.0.1:9/default"]
"""
    )
    return load(config), feed, east, tmp_path


def led(appliance, directory, name="posting.json"):
    file = FeedPostingFile(directory / name)
    return FeedLeadership(appliance, "east", file), file


def partitions_of(file, feed):
    """Returns the number of planned partitions by cluster."""
    posting = file.read()
    counts = {WEST: 0, EAST: 0}
    for loader, carried in posting.plan.loads.items() if posting else ():
        counts[FeedCluster.parse(loader.route).cluster] += len(carried)
    return counts


def test_a_cluster_that_is_down_leaves_the_others_flowing_and_joins_later(two_clusters, loop):
    appliance, feed, east, directory = two_clusters
    east.kill_all()
    leadership, file = led(appliance, directory)
    leading = loop.spawn(leadership.lead(lambda: 2))
    try:
        assert until(lambda: partitions_of(file, feed) == {WEST: 2, EAST: 0}, 40)
        first = file.read()
        east.start()
        east.wait_ready()
        assert until(lambda: partitions_of(file, feed) == {WEST: 2, EAST: 2}, 60)
        assert file.read().plan.version > first.plan.version
        assert set(file.read().terms) == {WEST, EAST}
    finally:
        leading.cancel()
        loop.settle()
        loop.wait(leadership.close())


def test_a_newer_driver_ends_the_older_one(two_clusters, loop):
    appliance, feed, _, directory = two_clusters
    older, file = led(appliance, directory)
    newer, other = led(appliance, directory, "other.json")
    first = loop.spawn(older.lead(lambda: 1))
    assert until(lambda: partitions_of(file, feed) == {WEST: 2, EAST: 2}, 60)
    second = loop.spawn(newer.lead(lambda: 1))
    try:
        assert until(lambda: partitions_of(other, feed) == {WEST: 2, EAST: 2}, 60)
        assert until(first.done, 30)
        with pytest.raises(BaseExceptionGroup) as ended:
            first.result()
        assert ended.group_contains(TermSuperseded) or "Fenced" in repr(ended.value)
        assert other.read().plan.version > file.read().plan.version
    finally:
        second.cancel()
        loop.settle()
        for each in (older, newer):
            loop.wait(each.close())
