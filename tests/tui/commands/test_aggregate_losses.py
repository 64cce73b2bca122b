"""`sluice aggregate accept-loss`, without servers."""

from __future__ import annotations

import json
from dataclasses import replace
from uuid import UUID

import pytest

from aggregator.loader.reports import FeedPartition
from replicator.config.topology import Appliance
from replicator.kafka.client.loss import Loss, LossKind
from tests.replicator.config.test_feed_contradictions import feed, loaded
from tests.replicator.config.test_topology import SOUND
from tests.tui.commands.test_aggregate import config, no_configuration
from tests.tui.facts.test_feed_status import INTENT
from tui.commands import aggregate_losses
from tui.commands.aggregate_losses import (
    BadRestart,
    FeedLossRequest,
    accept_feed_losses,
    check_restart,
    losses_text,
    losses_values,
)
from tui.commands.exit_codes import ExitCode
from tui.facts.feed_losses import ContinuedPartition, FeedLosses, ParkedPartition
from tui.facts.feed_scope import Scope
from tui.orders.order_checks import OrderRefused
from tui.program import run

__all__ = ["config", "no_configuration"]  # fixtures

FEED = ["--feed", "flights"]
PLACE = FeedPartition("west regional", "flights", 3)
OTHER = FeedPartition("west regional", "flights", 4)


def parked(kind: LossKind | None) -> ParkedPartition:
    intent = INTENT.park(Loss(kind, 10, 20, "why")) if kind else None
    return ParkedPartition(PLACE, intent)


PARKED = FeedLosses(parked=(parked(LossKind.SOURCE_CORRUPT), parked(None)))
DONE = FeedLosses(
    continued=(ContinuedPartition(PLACE, "source batch cannot be read", 95),),
    left={OTHER: "a loader was faster: look again"},
)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--feed"),
        ([*FEED, "--partition", "1"], "--partition needs --topic"),
        ([*FEED, "--restart-at", "-1"], "--restart-at"),
        ([*FEED, "--restart-at", "1", "--yes"], "--restart-at is for one partition"),
    ],
)
def test_a_mistake_is_named_before_a_server_is_contacted(config, capsys, arguments, message):
    assert run(["aggregate", "accept-loss", "--config", config, *arguments]) == ExitCode.USAGE
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("losses", "code"),
    [
        (FeedLosses(), ExitCode.DONE),
        (FeedLosses(parked=(parked(LossKind.SOURCE_CORRUPT),)), ExitCode.REFUSED),
        (DONE, ExitCode.PARTLY_DONE),
        (FeedLosses(continued=DONE.continued), ExitCode.DONE),
    ],
)
def test_the_exit_code_says_what_is_left(config, capsys, monkeypatch, losses, code):
    asked = []

    def accepted(_, request):
        asked.append(request)
        return losses

    monkeypatch.setattr(aggregate_losses, "accept_feed_losses", accepted)
    arguments = [*FEED, "--topic", "flights", "--yes", "-o", "json", "--config", config]
    assert run(["aggregate", "accept-loss", *arguments]) == code
    assert set(json.loads(capsys.readouterr().out)) == {"parked", "continued", "left"}
    (request,) = asked
    assert (request.is_accepting, request.scope) == (True, Scope(topic="flights"))


def test_parked_partitions_are_shown_with_the_reason(assert_snapshot):
    assert_snapshot(losses_text(PARKED), "feed_losses_parked")
    assert losses_text(FeedLosses()) == "nothing is parked"


def test_continued_and_left_partitions_are_shown(assert_snapshot):
    assert_snapshot(losses_text(DONE), "feed_losses")


def test_values_have_the_same():
    first, second = losses_values(PARKED)["parked"]
    assert (first["partition"], first["loaded_to"]) == (3, 90)
    assert second["loaded_to"] is None
    assert losses_values(DONE) == {
        "parked": [],
        "continued": [
            {
                **PLACE._asdict(),
                "accepted": "source batch cannot be read",
                "goes_on_at": 95,
            }
        ],
        "left": [{**OTHER._asdict(), "reason": "a loader was faster: look again"}],
    }


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
