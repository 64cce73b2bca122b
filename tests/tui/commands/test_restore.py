"""`sluice restore`, without servers."""

import pytest

from tests.tui.commands.test_aggregate import config, no_configuration
from tui.commands.exit_codes import ExitCode
from tui.program import run

__all__ = ["config", "no_configuration"]  # fixtures
JOB = ["--feed", "flights", "--topic", "t"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--feed"),
        (["--feed", "flights"], "--topic"),
        (["--feed", "x", "--topic", "t"], "no feed 'x'; known: flights"),
        (JOB, "feed flights has no objects: its kind is clickhouse"),
        ([*JOB, "--create"], "--create needs --replication-factor"),
        ([*JOB, "--offsets", "3"], "'3' is no range"),
        ([*JOB, "--since", "10m"], "name an instant"),
    ],
)
def test_a_mistake_is_named_before_a_server_is_contacted(config, capsys, arguments, message):
    assert run(["restore", "--config", config, *arguments]) == ExitCode.USAGE
    assert message in capsys.readouterr().err
