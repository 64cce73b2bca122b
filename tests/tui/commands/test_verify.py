"""`sluice verify` without servers."""

from dataclasses import replace
from pathlib import Path

import pytest

from aggregator.verifier.check import CheckResult
from tests.tui.commands.views.test_verify_view import (
    ANOMALY,
    COUNT,
    DIFFERENT,
    LOSS,
    UNASKED,
    UNKNOWN,
)
from tui.commands.exit_codes import ExitCode
from tui.commands.verify import exit_code
from tui.program import run

REFERENCE = str(Path(__file__).parents[3] / "deploy" / "appliance.toml")
LONELY = """
routes = ["west>west"]
[regions.west]
redis = "redis://127.0.0.1:1"
regional.bootstrap = ["127.0.0.1:2"]
aggregate.bootstrap = ["127.0.0.1:3"]
[regions.east]
redis = "redis://127.0.0.1:4"
regional.bootstrap = ["127.0.0.1:5"]
aggregate.bootstrap = ["127.0.0.1:6"]
"""


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["check", "--config", REFERENCE, "--region", "nowhere"], "no region 'nowhere'; known: "),
        (["check", "--config", REFERENCE, "--region", "west", "--since", "soon"], "'soon' is"),
        (["check", "--config", REFERENCE], "--region"),
        (["--config", REFERENCE], "--region"),
        (["--config", REFERENCE, "--region", "nowhere"], "no region 'nowhere'; known: "),
    ],
)
def test_a_mistake_is_named_before_a_server_is_contacted(
    arguments: list[str], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["verify", *arguments]) == ExitCode.USAGE
    said = capsys.readouterr()
    assert what in said.err
    assert said.out == ""


@pytest.mark.parametrize("command", [["check"], []])
def test_a_region_without_feeds_and_routes_is_a_mistake(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "appliance.toml"
    config.write_text(LONELY)
    arguments = [*command, "--config", str(config), "--region", "east"]
    assert run(["verify", *arguments]) == ExitCode.USAGE
    assert "no feeds and no routes into it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("judgements", "problems", "code"),
    [
        ((), (), ExitCode.DONE),
        ((LOSS,), (), ExitCode.DONE),
        ((LOSS, UNKNOWN), (), ExitCode.PARTLY_DONE),
        ((UNKNOWN,), ("away",), ExitCode.UNREACHABLE),
        ((UNKNOWN, ANOMALY), ("away",), ExitCode.DIFFERENT),
    ],
)
def test_it_ends_with_the_worst_that_was_found(judgements, problems, code) -> None:
    assert exit_code(CheckResult("east", 0, (), judgements, problems)) is code


@pytest.mark.parametrize(
    ("counts", "code"),
    [
        ((), ExitCode.DONE),
        ((COUNT,), ExitCode.DONE),
        ((COUNT, UNASKED), ExitCode.PARTLY_DONE),
        ((DIFFERENT, UNASKED), ExitCode.DIFFERENT),
        ((replace(COUNT, surplus=1),), ExitCode.DIFFERENT),
        ((replace(COUNT, changed=1),), ExitCode.DIFFERENT),
    ],
)
def test_rows_that_differ_are_an_anomaly(counts, code) -> None:
    assert exit_code(CheckResult("east", 0, (), (), (), counts)) is code


def test_what_could_not_be_read_is_unknown_and_said_once(tmp_path: Path, capsys) -> None:
    config = tmp_path / "appliance.toml"
    config.write_text(LONELY)
    arguments = ["check", "--config", str(config), "--region", "west", "--timeout", "0.5"]
    assert run(["verify", *arguments]) == ExitCode.UNREACHABLE
    said = capsys.readouterr()
    (row,) = [line for line in said.out.splitlines() if "route west>west" in line]
    assert row.split()[-5:] == ["?"] * 5
    assert said.err == ""
    assert said.out.count("127.0.0.1:3 (") == 1
