"""Rest of a feed: nothing that was loaded is loaded again, however long nobody loads it.

The broker deletes committed offsets a minute after their commit.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from deploy.lab.kafka import KafkaCluster
from deploy.lab.wait import until
from replicator.config.names import adopted_topic, objects_topic
from replicator.kafka.client.loss import Loss, LossKind
from tests.live.feed_ground import (
    COLUMNS,
    FeedGround,
    LoadedTopic,
    delete_intents,
    documents,
)
from tests.live.test_feed_look import commit
from tests.live.test_feed_loss_acceptance import accepted
from tests.live.test_object_loading import make_feed as make_object_feed
from tests.live.test_object_loading import object_server
from tests.live.topics import delete

__all__ = ["make_object_feed", "object_server"]  # fixtures

EXPIRED_SECONDS = 120.0


@pytest.fixture
def make_feed(tmp_path, redis, replicated_database, opened):
    """`make_feed(cluster)`: a feed of two partitions whose driver leads."""

    def make(cluster: KafkaCluster) -> FeedGround:
        ground = opened.enter_context(
            FeedGround(tmp_path, cluster, redis, replicated_database, partitions=2)
        )
        make_table(ground)
        ground.lead()
        return ground

    return make


def make_table(ground: FeedGround) -> None:
    """Makes the feed's table. ClickHouse would take the very same block for a repeat, and hide that
    it was loaded twice."""
    ground.database.create_table(
        ground.topic,
        COLUMNS,
        order_by="(_partition, _offset, _row)",
        settings={"replicated_deduplication_window": 0},
    )


def load(ground: FeedGround, rows: int) -> None:
    """Has what was sent loaded, and the partitions released."""
    loader = ground.load()
    ground.wait_count(rows)
    ground.publish()
    loader.result(30.0)


def forget(ground: LoadedTopic, *topics: str) -> None:
    """Deletes what the cluster knows of a feed's progress, and topics of the feed."""
    delete_intents(ground)
    for topic in (adopted_topic(ground.feed), *topics):
        delete(ground.cluster, topic)
    assert ground.is_forgotten()


def parked(ground: LoadedTopic) -> dict[int, str]:
    """Returns why partitions are parked; empty for those that are not."""
    return {at: str(each.parked or "") for at, each in ground.intents().items()}


def test_what_rests_too_long_parks_and_what_is_parked_or_idle_beside_a_daemon_is_kept(
    make_feed, forgetful
):
    lives = make_feed(forgetful)
    lives.send(documents(20, partitions=2))
    load(lives, 20)
    commit(lives, 0, parked=Loss(LossKind.SOURCE_CORRUPT, 10, 11, "bad"))
    rests = make_feed(forgetful)
    rests.send(documents(20, partitions=2))
    load(rests, 20)
    lives.lead_anew()
    loader = lives.load(0, [1])

    def has_expired() -> bool:
        lives.adopt()
        lives.raise_failures()
        return rests.is_forgotten()

    # Intents of the other feed were committed before, and would have expired by then.
    assert until(has_expired, EXPIRED_SECONDS, 1.0)
    kept = lives.intents()
    assert {at: each.offset for at, each in kept.items()} == {0: 10, 1: 10}
    assert str(kept[0].parked).endswith("bad")
    loader.cancel()
    lives.settle()

    rests.lead_anew()
    loader = rests.load()
    assert not until(lambda: rests.count() > 20, 3.0)
    loader.cancel()
    rests.settle()
    assert all(str(LossKind.INTENT_GONE) in each for each in parked(rests).values())
    assert all("--restart-at 10 " in each for each in parked(rests).values())
    for partition in (0, 1):
        (done,) = accepted(rests, partition=partition, restart_at=10).continued
        assert done.offset == 10
    rests.send(documents(10, first=20, partitions=2))
    rests.load()
    rests.assert_exact()


def test_a_feed_of_which_kafka_knows_nothing_begins_only_what_the_tables_have_no_row_of(
    make_feed, aggregate
):
    feed = make_feed(aggregate)
    feed.send(documents(10))
    load(feed, 10)
    feed.send(replace(each, partition=1) for each in documents(5, first=10))
    forget(feed)
    feed.lead_anew()
    assert "--restart-at 10 " in parked(feed)[0]
    assert parked(feed)[1] == ""
    load(feed, 15)
    feed.assert_exact()

    forget(feed)
    feed.database.execute(f"DROP TABLE {feed.topic}")
    make_table(feed)
    feed.lead_anew()
    assert all(f"table {feed.topic} is empty" in each for each in parked(feed).values())


def test_a_feed_of_which_kafka_knows_nothing_begins_only_what_the_bucket_has_no_object_of(
    make_object_feed,
):
    feed = make_object_feed(settings="object_records = 5")
    feed.send(documents(10))
    loader = feed.load()
    feed.wait_passed(10)
    feed.publish()
    loader.result(30.0)
    forget(feed)
    feed.lead_anew()
    assert "--restart-at 10 " in parked(feed)[0]

    forget(feed, objects_topic(feed.feed))
    feed.lead_anew()
    assert "an object begins at 5, its end is not told" in parked(feed)[0]
    assert len(feed.objects()) == 2
