"""Losses of a feed are accepted on a real cluster, and loading goes on behind them."""

from __future__ import annotations

import pytest

from aggregator.loader.reports import FeedPartition
from replicator.kafka.client.custody import Custody
from replicator.kafka.client.loss import Loss, LossKind
from tests.live.feed_ground import CLUSTER, FeedGround, documents
from tests.live.test_feed_look import commit, ground
from tui.actions.feed_loss_acceptance import BadRestart, FeedLossRequest, accept_feed_losses
from tui.state.feed_losses import FeedLosses
from tui.state.feed_scope import Scope

__all__ = ["ground"]  # fixture


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
