"""Partitions that a feed loads of the topics of a cluster."""

from uuid import UUID

from aggregator.loader.reports import FeedPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import ClickHouseFeed
from replicator.kafka.admin.topic import Configs, Topic
from tests.replicator.config.any_feed import ANY_FEED
from tui.facts.watch.feed_intents import loaded_partitions

WEST = ClusterName.regional("west")


def topic(name: str, partitions: int = 1, *, is_internal: bool = False) -> Topic:
    return Topic(name, UUID(int=1), partitions, Configs({}), is_internal)


def test_clusters_are_named_by_plain_texts_for_yaml():
    feed = ClickHouseFeed.model_validate(ANY_FEED)
    ((cluster, *_),) = loaded_partitions(feed, WEST, [topic("a")])
    assert type(cluster) is str


def test_only_partitions_of_topics_that_a_shard_has_are_loaded():
    shards = [{"topics": ["a.*"], "replicas": ["clickhouse://h"]}]
    feed = ClickHouseFeed.model_validate({**ANY_FEED, "shards": shards})
    topics = [topic("a", 2), topic("b"), topic("abc"), topic("a.x", is_internal=True)]
    assert loaded_partitions(feed, WEST, topics) == (
        FeedPartition(WEST, "a", 0),
        FeedPartition(WEST, "a", 1),
        FeedPartition(WEST, "abc", 0),
    )
