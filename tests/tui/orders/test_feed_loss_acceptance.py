"""Acceptance of losses of a feed: an offset that would load records twice is refused."""

from dataclasses import replace
from uuid import UUID

import pytest

from aggregator.loader.reports import FeedPartition
from replicator.config.topology import Appliance
from replicator.kafka.client.loss import Loss, LossKind
from tests.replicator.config.test_feed_contradictions import feed, loaded
from tests.replicator.config.test_topology import SOUND
from tests.tui.facts.test_feed_status import INTENT
from tui.facts.feed_losses import ParkedPartition
from tui.facts.feed_scope import Scope
from tui.orders.feed_loss_acceptance import (
    BadRestart,
    FeedLossRequest,
    accept_feed_losses,
    check_restart,
)
from tui.orders.order_checks import OrderRefused

PLACE = FeedPartition("west regional", "flights", 3)


def parked(kind: LossKind | None) -> ParkedPartition:
    intent = INTENT.park(Loss(kind, 10, 20, "why")) if kind else None
    return ParkedPartition(PLACE, intent)


@pytest.mark.parametrize("restart_at", [90, 95, 100])
def test_a_partition_may_go_on_anywhere_behind_what_is_loaded(restart_at):
    check_restart(parked(LossKind.SOURCE_CORRUPT), restart_at, start=5, end=100)


@pytest.mark.parametrize("restart_at", [4, 101])
@pytest.mark.parametrize("kind", [LossKind.SOURCE_CORRUPT, LossKind.SOURCE_RECREATED, None])
def test_an_offset_outside_the_log_is_refused(kind, restart_at):
    with pytest.raises(BadRestart, match="the log has offsets 5 to 100"):
        check_restart(parked(kind), restart_at, start=5, end=100)


def test_an_offset_below_what_is_loaded_is_refused():
    with pytest.raises(BadRestart, match="all records below 90 are loaded"):
        check_restart(parked(LossKind.SOURCE_CORRUPT), 89, start=5, end=100)


@pytest.mark.parametrize(
    "kind", [LossKind.SOURCE_TRUNCATED, LossKind.SOURCE_RECREATED, LossKind.ENTRY_UNREADABLE, None]
)
def test_where_the_log_has_other_records_any_offset_of_it_will_do(kind):
    check_restart(parked(kind), 5, start=5, end=100)


@pytest.mark.parametrize("kind", [LossKind.LETTER_REFUSED, LossKind.RETENTION_PASSED])
def test_of_a_topic_that_came_back_any_offset_will_do_whatever_it_was_parked_for(kind):
    place = parked(kind)
    was = UUID(int=1)
    assert place.intent is not None
    place = replace(place, intent=replace(place.intent, topic_id=was))
    check_restart(place, 5, start=5, end=100, topic_id=UUID(int=2))
    for same in (was, None):
        with pytest.raises(BadRestart, match="all records below 90 are loaded"):
            check_restart(place, 5, start=5, end=100, topic_id=same)


@pytest.fixture
def appliance(tmp_path) -> Appliance:
    """Configuration of servers that do not exist."""
    clusters = '"west regional", "east regional"'
    return loaded(tmp_path, SOUND + feed(clusters=clusters))


@pytest.mark.parametrize(
    "scope",
    [Scope(), Scope(topic="flights"), Scope(topic="flights", partition=0)],
)
def test_an_offset_is_for_one_partition_of_one_cluster(appliance, scope):
    request = FeedLossRequest(
        feed=appliance.feed("flights"),
        scope=scope,
        restart_at=5,
        is_accepting=True,
        timeout_seconds=1.0,
    )
    with pytest.raises(BadRestart, match="--topic and --partition, and --cluster"):
        accept_feed_losses(appliance, request)


def test_a_scope_that_the_feed_does_not_have_is_refused(appliance):
    request = FeedLossRequest(
        feed=appliance.feed("flights"),
        scope=Scope(topic="sales"),
        restart_at=None,
        is_accepting=False,
        timeout_seconds=1.0,
    )
    with pytest.raises(OrderRefused, match="has the topic sales"):
        accept_feed_losses(appliance, request)
