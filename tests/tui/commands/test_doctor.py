"""`sluice doctor` without servers."""

from pathlib import Path

import pytest

from tui.commands.exit_codes import ExitCode
from tui.program import run

REFERENCE = str(Path(__file__).parents[3] / "deploy" / "appliance.toml")


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--config", REFERENCE, "--region", "nowhere"], "no region 'nowhere'; known: "),
        (["--config", REFERENCE], "--region"),
    ],
)
def test_a_mistake_is_named_before_a_server_is_contacted(
    arguments: list[str], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["doctor", "exactness", *arguments]) == ExitCode.USAGE
    said = capsys.readouterr()
    assert what in said.err
    assert said.out == ""
