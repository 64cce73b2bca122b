"""`sluice aggregate sweep` and `overwrite`, without servers."""

import pytest

from tests.tui.cli.commands.test_aggregate import config, no_configuration
from tui.cli.exit_codes import ExitCode
from tui.program import run

__all__ = ["config", "no_configuration"]  # fixtures


@pytest.mark.parametrize("command", ["sweep", "overwrite"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--feed"),
        (["--feed", "x"], "no feed 'x'; known: flights"),
        (["--feed", "flights"], "feed flights has no objects: its kind is clickhouse"),
        (["--feed", "flights", "--partition", "1"], "--partition needs --topic"),
    ],
)
def test_a_mistake_is_named_before_a_server_is_contacted(
    config, capsys, command, arguments, message
):
    assert run(["aggregate", command, "--config", config, *arguments]) == ExitCode.USAGE
    assert message in capsys.readouterr().err
