"""`sluice aggregate objects`, without servers."""

import pytest

from tests.tui.commands.test_aggregate import config, no_configuration
from tui.commands.exit_codes import ExitCode
from tui.program import run

__all__ = ["config", "no_configuration"]  # fixtures


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--feed"),
        (["--feed", "x"], "no feed 'x'; known: flights"),
        (["--feed", "flights"], "feed flights has no objects: its kind is clickhouse"),
        (["--feed", "flights", "--partition", "1"], "--partition needs --topic"),
    ],
)
def test_a_mistake_is_named_before_a_server_is_contacted(config, capsys, arguments, message):
    assert run(["aggregate", "objects", "--config", config, *arguments]) == ExitCode.USAGE
    assert message in capsys.readouterr().err
