"""Kafka under a feed: brokers die, topics are compacted, cut, deleted and created again, partitions
move. What can be loaded is loaded once; what cannot stops its partition and is named."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence

import pytest
from confluent_kafka import TopicPartition as KafkaTopicPartition
from confluent_kafka.admin import NewTopic

from aggregator.loader.loss_acceptance import AcceptedLosses, accept
from aggregator.tables.table_schema import INCARNATION, INCARNATION_TYPE
from balancer.topic_partition import TopicPartition
from deploy.lab.traffic import Shape, TrafficRecord
from deploy.lab.wait import until
from replicator.kafka.client.cluster import Cluster, Fenced
from replicator.kafka.client.loss import LossKind
from replicator.kafka.client.reader import WAIT_MS
from tests.live.feed_ground import CLUSTER, COLUMNS, FeedGround, documents
from tests.live.feed_oracle import assert_exact, committed_intents, findings
from tests.live.feed_steps import Step, begin_with_end
from tests.live.loop_thread import LoopThread
from tests.live.test_feed_kills import await_death
from tests.live.test_unclean_elections import REPLICAS, UNCLEAN, Loser, three
from tests.live.topics import alter, create, delete

__all__ = ["three"]  # fixture
SMALL = Shape(batch_records=20)


@pytest.fixture
def make_feed(tmp_path, aggregate, redis, replicated_database, opened):
    """`make_feed(cluster=another, partitions=2)`: a feed of one table, named as its topic."""

    def make(
        cluster=aggregate, redis=redis, *, is_leading: bool = True, **options: object
    ) -> FeedGround:
        options.setdefault("settings", "reference_seconds = 1")
        options.setdefault("brokers_die", cluster is not aggregate)
        ground = opened.enter_context(
            FeedGround(tmp_path, cluster, redis, replicated_database, **options)
        )
        replicated_database.create_table(
            ground.topic, COLUMNS, order_by="(_partition, _offset, _row)"
        )
        if is_leading:
            ground.lead()
        return ground

    return make


def accepted(feed: FeedGround, restart_at: int | None = None) -> AcceptedLosses:
    """Accepts the losses of all partitions of the feed, as an operator does."""
    places = [TopicPartition(feed.topic, at) for at in range(feed.partitions)]

    async def run() -> AcceptedLosses | None:
        cluster = Cluster(CLUSTER, feed.appliance.cluster(CLUSTER))
        try:
            await cluster.open([feed.topic])
            return await accept(cluster, feed.feed, places, restart_at)
        except Fenced:
            return None  # a loader was faster
        finally:
            await cluster.close()

    loop = LoopThread()
    try:
        while (found := loop.wait(run())) is None:
            pass
        return found
    finally:
        loop.close()


def await_parked(feed: FeedGround, kind: LossKind) -> None:
    def is_parked() -> bool:
        feed.raise_failures()
        parked = feed.intents()[0].parked
        return parked is not None and parked.kind is kind

    assert until(is_parked, 60), feed.intents()


def delete_below(feed: FeedGround, offset: int) -> None:
    """Deletes the records of partition 0 below an offset, as retention does."""
    admin = feed.cluster.admin()
    asked = admin.delete_records([KafkaTopicPartition(feed.topic, 0, offset)])
    for answer in asked.values():
        answer.result(30)


def test_a_broker_that_is_killed_and_started_again_loses_and_repeats_nothing(
    make_feed, make_cluster
):
    cluster = make_cluster("own")
    feed = make_feed(cluster, partitions=2)
    feed.load()
    sent = feed.send(documents(1000, partitions=2), SMALL)
    assert until(lambda: feed.count() > 0, 30)
    for _ in range(2):
        cluster.kill()
        cluster.restart()
        cluster.wait_ready()
        sent += feed.send(documents(1000, first=sent, partitions=2), SMALL)
        time.sleep(0.5)  # the next kill is to hit commits
    assert_exact(feed)


def test_loaders_need_no_redis(make_feed, make_redis):
    redis = make_redis()
    feed = make_feed(redis=redis)
    feed.load()
    sent = feed.send(documents(200), SMALL)
    feed.wait_count(sent)
    redis.kill()
    sent += feed.send(documents(200, first=sent), SMALL)
    feed.wait_count(sent)
    feed.publish()
    feed.load(number=1)
    feed.send(documents(200, first=sent), SMALL)
    assert_exact(feed)


def test_partitions_that_move_between_loaders_are_loaded_once(make_feed):
    feed = make_feed(partitions=4)
    places: Sequence[tuple[int, int]] = ((0, 1), (2, 3))
    sent = 0
    for turn in range(4):
        if turn:
            feed.publish()
        for number, some in enumerate(places if turn % 2 else reversed(places)):
            feed.load(number, some)
        for _ in range(4):
            sent += feed.send(documents(200, first=sent, partitions=4), SMALL)
            time.sleep(0.5)  # blocks are under way when the partitions move
    assert_exact(feed)


def test_records_that_compaction_removes_before_a_replay_are_no_anomaly(make_feed, east):
    feed = make_feed(east)
    alter(
        east,
        feed.topic,
        {"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01"},
    )
    records = [*documents(200)]
    feed.send(records, SMALL)
    await_death(begin_with_end(feed, Step.INTENT_COMMITTED))
    feed.send([TrafficRecord(0, each.key, each.value) for each in records[:120]], SMALL)
    time.sleep(0.3)  # the segment is older than segment.ms
    feed.send(documents(5, first=1000))

    def is_compacted() -> bool:
        return feed.wanted()[0].offset >= 120

    assert until(is_compacted, 60)
    feed.load()
    assert_exact(feed)
    feed.publish()
    assert until(lambda: feed.intents()[0].transactional_id.endswith(".free"), 30)
    assert any(intent.up_to for intents in committed_intents(east, feed.feed).values()
               for intent in intents)  # fmt: skip
    assert not findings(feed)


@pytest.mark.parametrize("is_cut", [True, False])
def test_records_that_retention_took_are_named_and_loading_goes_on_behind_them(make_feed, is_cut):
    """The deletion ends within the block of an intent, or behind it."""
    feed = make_feed()
    feed.send(documents(100))
    await_death(begin_with_end(feed, Step.INTENT_COMMITTED))
    feed.send(documents(100, first=100))
    delete_below(feed, 60 if is_cut else 130)
    feed.load()
    await_parked(feed, LossKind.RETENTION_PASSED)
    assert not accepted(feed).left
    feed.send(documents(50, first=200))
    assert_exact(feed)


def test_retention_that_passes_a_frozen_loader_is_named(make_feed):
    feed = make_feed()
    loader = feed.load_apart()
    feed.send(documents(100))
    feed.wait_count(100)
    loader.send(signal.SIGSTOP)
    time.sleep(10 * WAIT_MS / 1000)  # the broker has answered the fetch request that it holds
    feed.send(documents(100, first=100))
    delete_below(feed, 150)
    loader.send(signal.SIGCONT)
    await_parked(feed, LossKind.RETENTION_PASSED)
    assert accepted(feed).continued
    feed.send(documents(10, first=200))
    feed.wait_count(100 + 50 + 10)
    assert [row.offset for row in feed.rows()] == [*range(100), *range(150, 210)]
    assert not findings(feed)


def test_a_topic_that_is_deleted_and_created_again_is_named_and_loaded_once_accepted(make_feed):
    feed = make_feed(partitions=1)
    feed.database.order(0, f"ALTER TABLE {feed.topic} ADD COLUMN {INCARNATION} {INCARNATION_TYPE}")
    loader = feed.load_apart()
    feed.send(documents(100))
    feed.wait_count(100)
    delete(feed.cluster, feed.topic)
    feed.cluster.create_topics(NewTopic(feed.topic, 1))
    feed.send(documents(30, first=500))
    assert until(lambda: "event=parked" in loader.log.read_text(), 60), loader.failure("?")
    assert feed.count() == 100
    assert not accepted(feed, restart_at=0).left
    feed.wait_count(130)
    assert sorted(row.id for row in feed.rows())[100:] == [*range(500, 530)]


def test_records_that_an_unclean_election_took_are_named_and_what_follows_is_loaded(
    make_feed, three
):
    feed = make_feed(three, is_leading=False, partitions=2)
    feed.database.order(0, f"ALTER TABLE {feed.topic} ADD COLUMN {INCARNATION} {INCARNATION_TYPE}")
    delete(three, feed.topic)
    create(three, feed.topic, config=UNCLEAN, replicas=REPLICAS)
    feed.lead()
    with Loser(three, feed.topic) as loser:
        feed.load()
        sent = feed.send(documents(100, partitions=2), SMALL)
        feed.wait_count(sent)
        loser.leave_one_behind()
        sent += feed.send(documents(60, first=sent, partitions=2), SMALL)
        feed.wait_count(sent)
        loser.elect_the_one_left_behind()
        feed.send(documents(100, first=sent, partitions=2), SMALL)
        await_parked(feed, LossKind.SOURCE_TRUNCATED)
        feed.wait_count(sent + 50)
        assert accepted(feed).continued
        feed.wait_count(sent + 100)
        ids = sorted(row.id for row in feed.rows())
        assert ids == list(range(sent + 100))
