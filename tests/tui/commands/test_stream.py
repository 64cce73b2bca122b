"""`sluice stream` without servers: tests that end before one is contacted."""

import pytest

from tests.tui.commands.test_balance import REASON, ROUTE, config, no_configuration
from tui.commands.exit_codes import ExitCode, exit_code_of
from tui.orders.stream_terms import StreamExists
from tui.program import run

__all__ = ["config", "no_configuration"]  # fixtures
MADE = [*ROUTE, *REASON, "--topics", "pay.*"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["create", "money", *ROUTE, *REASON], "--topics"),
        (["create", "money", *ROUTE, "--topics", "pay"], "--reason"),
        (["create", "money", *REASON, "--topics", "pay"], "--route"),
        (["create", "default", *MADE], "take another name"),
        (["create", "Money", *MADE], "lower-case letters"),
        (["create", "money", *ROUTE, *REASON, "--topics", "("], "not an RE2 pattern"),
        (["create", "money", *MADE, "--threshold", "7"], "--threshold"),
        (["create", "money", *MADE, "--carriers-min", "0"], "--carriers-min"),
        (
            ["create", "money", *MADE, "--carriers-min", "3", "--carriers-max", "2"],
            "--carriers-max (2) must be --carriers-min (3) or more",
        ),
        (["change", "money", *ROUTE], "nothing to change"),
        (["change", "money", *ROUTE, "--topics", "("], "not an RE2 pattern"),
        (["change", "money", *ROUTE, "--lag-seconds-max", "0"], "--lag-seconds-max"),
        (["change", "money", *ROUTE, "--unset", "name"], "--unset"),
        (["delete", "money"], "--route"),
        (["pause", "money", *ROUTE], "--reason"),
        (["resume", "money", "--route", "west>north"], "no route 'west>north'"),
        (["list"], "either --region or --route"),
        (["list", "--region", "north"], "no region 'north'"),
    ],
)
def test_a_mistake_is_named_before_a_server_is_contacted(config, capsys, arguments, message):
    command, *rest = arguments
    assert run(["stream", command, "--config", config, *rest]) == ExitCode.USAGE
    assert message in capsys.readouterr().err


def test_a_name_that_is_taken_is_a_refusal():
    assert exit_code_of(StreamExists("taken")) is ExitCode.REFUSED
