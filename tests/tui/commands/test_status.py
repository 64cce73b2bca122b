"""`sluice status` without servers: tests that end before one is contacted."""

from pathlib import Path

import pytest

from tui.commands.exit_codes import ExitCode
from tui.program import run

REFERENCE = str(Path(__file__).parents[3] / "deploy" / "appliance.toml")


def test_a_route_into_another_region_than_the_one_asked_for_is_wrong_usage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["status", "--config", REFERENCE, "--region", "west", "--route", "west>east"]
    assert run(arguments) == ExitCode.USAGE
    said = capsys.readouterr()
    assert "route west>east does not lead into region west" in said.err
    assert said.out == ""


@pytest.mark.parametrize("command", [["status"], ["config", "check"]])
@pytest.mark.parametrize("seconds", ["0", "-1"])
def test_no_time_at_all_is_wrong_usage(
    command: list[str], seconds: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, "--config", REFERENCE, "--timeout", seconds]) == ExitCode.USAGE
    assert "--timeout" in capsys.readouterr().err
