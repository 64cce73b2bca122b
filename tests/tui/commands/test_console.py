"""`sluice console`: options, no terminal, no Textual in other commands."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tui.commands.exit_codes import ExitCode
from tui.program import COMMANDS, run

REFERENCE = str(Path(__file__).parents[3] / "deploy" / "appliance.toml")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "either --config or --replay"),
        (["--replay", "a.rec", "--steer"], "a replay changes nothing"),
        (["--replay", "a.rec", "--record", "b.rec"], "a replay is a recording already"),
    ],
)
def test_options_that_do_not_go_together_are_wrong_usage(options, message, capsys, monkeypatch):
    monkeypatch.delenv("SLUICE_CONFIG", raising=False)
    assert run(["console", *options]) == ExitCode.USAGE
    assert message in capsys.readouterr().err


def test_without_a_terminal_it_ends_with_2_and_writes_no_escape():
    done = subprocess.run(
        [sys.executable, "-m", "tui.program", "console", "--config", REFERENCE],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert done.returncode == ExitCode.USAGE
    assert done.stdout == b""
    assert b"stdin is no terminal" in done.stderr
    assert b"\x1b" not in done.stderr


def test_a_bad_file_of_keys_is_wrong_usage(tmp_path: Path, capsys):
    keys = tmp_path / "keys.toml"
    keys.write_text('freez = "F"')
    arguments = ["console", "--config", REFERENCE, "--keys", str(keys)]
    assert run(arguments) == ExitCode.USAGE
    assert "unknown action 'freez'" in capsys.readouterr().err


def test_other_commands_import_no_textual():
    code = (
        "import sys, json, importlib\n"
        "for module in json.loads(sys.argv[1]): importlib.import_module(module)\n"
        "print('textual' in sys.modules)"
    )
    modules = sorted({module.split(":")[0] for module in COMMANDS.values()})
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(modules)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False\n"
