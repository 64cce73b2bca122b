"""`sluice audit` without servers: it ends before one is contacted, or all refuse connections."""

import json
from pathlib import Path

import pytest

from replicator.audit.audit import AuditResult
from replicator.audit.partition_audit import Depth
from replicator.audit.tally import Tally
from replicator.audit.verdict import Row
from tests.addresses import refusing
from tests.tui.commands.views.test_audit_view import BEHIND, EQUAL, INCOMPLETE, MISSING, PROBLEMS
from tui.commands.audit import DEPTHS, exit_code
from tui.commands.exit_codes import ExitCode
from tui.program import run

REFERENCE = str(Path(__file__).parents[3] / "deploy" / "appliance.toml")


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--route", "west>nowhere"], "no route 'west>nowhere'; known: "),
        (["--region", "nowhere"], "no region 'nowhere'; known: "),
        (["--region", "west", "--route", "west>east"], "route west>east does not lead into"),
        (["--since", "soon"], "'soon' is neither a length of time"),
        (["--since", "2026-11-22T03:00:00"], "needs a zone"),
        (["--until", "1m"], "--until needs --since"),
        (["--since", "1m", "--until", "2m"], "the window is empty"),
        (["--by", "colour"], "'colour' is not one of"),
        (["--timeout", "0"], "--timeout"),
        (["--progress", "loud"], "'loud' is not one of"),
    ],
)
def test_a_mistake_is_named_before_a_server_is_contacted(
    arguments: list[str], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["audit", "--config", REFERENCE, *arguments]) == ExitCode.USAGE
    said = capsys.readouterr()
    assert what in said.err
    assert said.out == ""


def test_progress_is_told_as_json_lines_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "appliance.toml"
    config.write_text(
        f'[regions.west]\nredis = "redis://{refusing()}"\n'
        f'regional.bootstrap = ["{refusing()}"]\naggregate.bootstrap = ["{refusing()}"]\n'
    )
    asked = ["audit", "--config", str(config), "--timeout", "1", "--no-keep"]
    assert run([*asked, "--progress", "json"]) == ExitCode.UNREACHABLE
    step, *problems = capsys.readouterr().err.splitlines()
    assert (json.loads(step)["stage"], json.loads(step)["left"]) == ("audit", 0)
    assert all(line.startswith("sluice: ") for line in problems)


def test_the_depths_on_the_command_line_are_those_there_are() -> None:
    assert tuple(DEPTHS) == tuple(depth.value for depth in Depth)


@pytest.mark.parametrize(
    ("rows", "problems", "code"),
    [
        ((EQUAL, BEHIND), (), ExitCode.DONE),
        ((), (), ExitCode.DONE),
        ((EQUAL, INCOMPLETE), (), ExitCode.PARTLY_DONE),
        ((EQUAL, INCOMPLETE), PROBLEMS, ExitCode.UNREACHABLE),
        ((EQUAL, INCOMPLETE, MISSING), PROBLEMS, ExitCode.DIFFERENT),
        ((Row("a>b", "t", 0, Tally(surplus=1)),), (), ExitCode.DIFFERENT),
        ((Row("a>b", "t", 0, Tally(changed=1)),), (), ExitCode.DIFFERENT),
    ],
)
def test_it_ends_with_the_worst_that_was_found(rows, problems, code) -> None:
    assert exit_code(AuditResult(rows, problems)) is code
