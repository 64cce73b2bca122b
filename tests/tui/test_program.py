"""The `sluice` program: starts quickly, lists all commands, prints no unasked tracebacks."""

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tui import program
from tui.commands.exit_codes import ExitCode
from tui.program import COMMANDS, run

HEAVY = (
    "pyspark",
    "confluent_kafka",
    "aiokafka",
    "clickhouse_driver",
    "pyarrow",
    "pydantic",
    "redis",
    "textual",
    "boto3",
    "yaml",
)
HELP_OF_EACH_VERB = """
import sys
import click
from tui.program import program, run

def ask(group, path):
    for name in group.list_commands(click.Context(group)):
        before = set(sys.modules)
        code = run([*path, name, "--help"])
        for heavy in {heavy!r}:
            if heavy in set(sys.modules) - before:
                print(*path, name, "imports", heavy, file=sys.stderr)
        if code:
            print(*path, name, "ends with", code, file=sys.stderr)
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            ask(command, [*path, name])

ask(program, [])
"""


def test_starting_the_program_imports_nothing_heavy() -> None:
    code = (
        "import sys, tui.program; from tui.program import run; run(['--help']);"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_help_of_no_verb_imports_anything_heavy() -> None:
    code = HELP_OF_EACH_VERB.format(heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    for verb in (*COMMANDS, "failover plan", "aggregate status"):
        assert f"Usage: sluice {verb} " in done.stdout


def test_the_help_lists_every_command_and_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == ExitCode.DONE
    text = capsys.readouterr().out
    for name in COMMANDS:
        assert f"  {name} " in text
    for code in ExitCode:
        assert f"  {code:d}  " in text


@pytest.mark.parametrize(
    "arguments", [["confg"], ["status"], ["status", "--colour"], ["config", "x"]]
)
def test_wrong_usage_ends_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == ExitCode.USAGE
    assert "Usage: sluice" in capsys.readouterr().err


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    @click.command()
    def status() -> None:
        raise error

    monkeypatch.setattr(program.Commands, "get_command", lambda self, ctx, name: status)


def test_an_unexpected_error_is_one_line_and_a_traceback_only_with_debug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing(monkeypatch, KeyError("lost key"))
    assert run(["status"]) == ExitCode.FAILED
    quiet = capsys.readouterr().err
    assert quiet == ("sluice: unexpected KeyError: 'lost key' (sluice --debug ... shows where)\n")
    assert run(["--debug", "status"]) == ExitCode.FAILED
    loud = capsys.readouterr().err
    assert "Traceback" in loud
    assert loud.endswith("sluice: unexpected KeyError: 'lost key'\n")


def test_an_interrupt_prints_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing(monkeypatch, KeyboardInterrupt())
    assert run(["status"]) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_a_closed_stdout_prints_no_traceback() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "tui.program", "--help"],
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert (done.returncode, done.stderr) == (ExitCode.FAILED, "")


def test_a_missing_configuration_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "none.toml")
    assert run(["status", "--config", path]) == ExitCode.USAGE
    assert path in capsys.readouterr().err
