"""`sluice aggregate accept-loss`, without servers."""

import json

import pytest

from replicator.kafka.client.loss import LossKind
from tests.tui.commands.test_aggregate import config, no_configuration
from tests.tui.commands.views.test_feed_losses_view import DONE
from tests.tui.orders.test_feed_loss_acceptance import parked
from tui.commands.exit_codes import ExitCode
from tui.facts.feed_losses import FeedLosses
from tui.facts.feed_scope import Scope
from tui.orders import feed_loss_acceptance
from tui.program import run

__all__ = ["config", "no_configuration"]  # fixtures

FEED = ["--feed", "flights"]


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
