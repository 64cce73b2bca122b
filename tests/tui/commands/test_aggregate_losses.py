"""`sluice aggregate accept-loss`, without servers."""

from __future__ import annotations

import json

import pytest

from aggregator.loader.reports import FeedPartition
from replicator.kafka.client.loss import LossKind
from tests.tui.commands.test_aggregate import config, no_configuration
from tests.tui.orders.test_feed_loss_acceptance import parked
from tui.commands.aggregate_losses import losses_text, losses_values
from tui.commands.exit_codes import ExitCode
from tui.facts.feed_losses import ContinuedPartition, FeedLosses
from tui.facts.feed_scope import Scope
from tui.orders import feed_loss_acceptance
from tui.program import run

__all__ = ["config", "no_configuration"]  # fixtures

FEED = ["--feed", "flights"]
PLACE = FeedPartition("west regional", "flights", 3)
OTHER = FeedPartition("west regional", "flights", 4)
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

    monkeypatch.setattr(feed_loss_acceptance, "accept_feed_losses", accepted)
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
