"""`sluice stream pause-topic` and `resume-topic`, without servers."""

import pytest

from tests.tui.commands.test_balance import REASON, ROUTE, config, no_configuration
from tui.commands.exit_codes import ExitCode
from tui.program import run

__all__ = ["config", "no_configuration"]  # fixtures


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pause-topic", *ROUTE, *REASON], "TOPIC"),
        (["pause-topic", "orders", *ROUTE], "--reason"),
        (["pause-topic", "orders", *REASON], "--route"),
        (["pause-topic", "orders", *ROUTE, *REASON, "--partition", "-1"], "--partition"),
        (["pause-topic", "orders", *ROUTE, *REASON, "--for", "1 day"], "no length of time"),
        (["resume-topic", "orders"], "--route"),
    ],
)
def test_a_mistake_is_named_before_a_server_is_contacted(config, capsys, arguments, message):
    command, *rest = arguments
    assert run(["stream", command, "--config", config, *rest]) == ExitCode.USAGE
    assert message in capsys.readouterr().err
