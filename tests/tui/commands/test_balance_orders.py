"""Orders to the balancer, without servers: tests that end before one is contacted."""

import pytest

from tests.tui.commands.test_balance import REASON, ROUTE, config, no_configuration
from tui.commands.exit_codes import ExitCode, exit_code_of
from tui.facts.streams import UnknownStream
from tui.orders.order_checks import OrderRefused
from tui.program import run

__all__ = ["config", "no_configuration"]  # fixtures
PIN = ["pin", "orders", "3"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pause", "--region", "east"], "--reason"),
        (["pause", "--region", "east", "--reason", " "], "--reason is empty"),
        (["pause", *REASON], "either --region or --route"),
        (["pause", *REASON, "--region", "east", "--for", "2 hours"], "no length of time"),
        (["pause", *REASON, "--region", "east", "--for", "0h"], "no length of time"),
        (["resume"], "either --region or --route"),
        ([*PIN, *ROUTE, *REASON], "--carrier"),
        ([*PIN, *ROUTE, "--carrier", "2"], "--reason"),
        ([*PIN, *REASON, "--carrier", "2"], "--route"),
        ([*PIN, *ROUTE, *REASON, "--carrier", "-1"], "--carrier"),
        (["pin", "orders", "x", *ROUTE, *REASON, "--carrier", "2"], "PARTITION"),
        (["pin", "orders", *ROUTE, *REASON, "--carrier", "2"], "PARTITION"),
        ([*PIN, "--route", "west>north", *REASON, "--carrier", "2"], "no route 'west>north'"),
        (["unpin", "orders", "3"], "--route"),
        (["exclude", "1", *ROUTE], "--reason"),
        (["exclude", "x", *ROUTE, *REASON], "CARRIER"),
        (["exclude", "1", *ROUTE, *REASON, "--for", "soon"], "no length of time"),
        (["include", *ROUTE], "CARRIER"),
    ],
)
def test_a_mistake_is_named_before_a_server_is_contacted(config, capsys, arguments, message):
    command, *rest = arguments
    assert run(["balance", command, "--config", config, *rest]) == ExitCode.USAGE
    assert message in capsys.readouterr().err


def test_an_order_that_cannot_be_followed_is_refused_and_an_unknown_stream_is_wrong_usage():
    assert exit_code_of(OrderRefused("no")) is ExitCode.REFUSED
    assert exit_code_of(UnknownStream("no")) is ExitCode.USAGE
