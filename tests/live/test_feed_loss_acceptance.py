"""Losses of a feed are accepted on a real cluster, and loading goes on behind them."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import NewTopic

from aggregator.loader.reports import FeedPartition
from deploy.lab.wait import until
from replicator.kafka.client.custody import Custody
from replicator.kafka.client.loss import Loss, LossKind
from tests.live.feed_ground import CLUSTER, FeedGround, delete_intents, documents
from tests.live.feed_oracle import findings
from tests.live.feed_steps import Step, begin_with_end
from tests.live.test_feed_kills import await_death
from tests.live.test_feed_look import commit, ground
from tests.live.test_feed_sources import make_feed
from tests.live.topics import delete
from tui.commands.aggregate_losses import BadRestart, FeedLossRequest, accept_feed_losses
from tui.facts.feed_losses import FeedLosses
from tui.facts.feed_scope import Scope

__all__ = ["ground", "make_feed"]  # fixtures


def accepted(
    ground: FeedGround, *, is_accepting: bool = True, restart_at: int | None = None,
    partition: int | None = None,
) -> FeedLosses:  # fmt: skip
    request = FeedLossRequest(
        feed=ground.appliance.feed(ground.feed),
        scope=Scope(topic=ground.topic, partition=partition),
        restart_at=restart_at,
        is_accepting=is_accepting,
        timeout_seconds=20.0,
    )
    return accept_feed_losses(ground.appliance, request)


def test_a_parked_partition_is_shown_then_goes_on_behind_its_loss(ground):
    ground.send(documents(10, partitions=2))
    commit(ground, 1, parked=Loss(LossKind.SOURCE_CORRUPT, 0, 2, "bad"))
    shown = accepted(ground, is_accepting=False)
    place = FeedPartition(CLUSTER, ground.topic, 1)
    assert [each.partition for each in shown.parked] == [place]
    assert ground.intents()[1].parked is not None
    done = accepted(ground)
    assert [(each.partition, each.offset) for each in done.continued] == [(place, 2)]
    assert done.left == {}
    intent = ground.intents()[1]
    assert (intent.custody, intent.offset, intent.losses) == (Custody.RELEASED, 2, 1)
    assert accepted(ground) == FeedLosses()
    ground.load()
    ground.wait_count(8)


def test_a_loss_without_an_end_needs_an_offset_of_the_log(ground):
    ground.send(documents(10, partitions=2))
    commit(ground, 0, parked=Loss(LossKind.SOURCE_CORRUPT, 0, None, "bad"))
    (why,) = accepted(ground).left.values()
    assert "--restart-at" in why
    with pytest.raises(BadRestart, match="the log has offsets 0 to 5"):
        accepted(ground, partition=0, restart_at=6)
    (done,) = accepted(ground, partition=0, restart_at=3).continued
    assert done.offset == ground.intents()[0].offset == 3


def recreated(feed: FeedGround, count: int) -> None:
    """Creates the topic of a feed again, and waits until its partition is parked for that."""
    delete(feed.cluster, feed.topic)
    feed.cluster.create_topics(NewTopic(feed.topic, 1))
    feed.send(documents(count, first=1000))
    # Kafka deletes committed offsets with their topic, unless the loader was faster.
    assert until(lambda: accepted(feed, is_accepting=False).parked, 60), feed.intents()


def test_a_block_of_a_recreated_topic_is_not_taken_for_rows_of_the_former_one(make_feed):
    feed = make_feed()
    feed.send(documents(200))
    feed.load()
    feed.wait_count(200)
    recreated(feed, 200)
    (why,) = accepted(feed, partition=0, restart_at=0).left.values()
    feed.database.order(0, why.partition("; run ")[2].partition(" on clickhouse:")[0])
    assert accepted(feed, partition=0, restart_at=0).left == {}
    feed.publish()
    await_death(begin_with_end(feed, Step.INTENT_COMMITTED))
    loader = feed.load()
    feed.wait_count(400)
    ids = sorted(row.id for row in feed.rows())
    assert ids == [*range(200), *range(1000, 1200)]
    assert not findings(feed)
    # Committed offsets expire in a rest, and what remembers the partition does not.
    feed.publish()
    loader.result(30.0)
    (before,) = feed.intents().values()
    delete_intents(feed)
    feed.lead_anew()
    (parked,) = feed.intents().values()
    assert parked.parked is not None and parked.incarnation == before.incarnation > 0
    found = accepted(feed, partition=0, restart_at=200)
    assert found.left == {}
    assert [each.offset for each in found.continued] == [200]
    assert feed.intents()[0].incarnation == before.incarnation
