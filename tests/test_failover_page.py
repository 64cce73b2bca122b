"""docs/failover.md lists every check and every exit code that a plan can end with."""

import re
import shlex
from pathlib import Path

import click
import pytest

from tui.commands.exit_codes import ExitCode
from tui.program import program

CHECKOUT = Path(__file__).parents[1]
PAGE = (CHECKOUT / "docs" / "failover.md").read_text()


def names_in(*path: str) -> set[str]:
    """Returns the names of all checks in a module: first arguments of Check(...) and _about(...),
    and assigned `name`s."""
    text = CHECKOUT.joinpath(*path).read_text()
    named = re.findall(r'(?:Check|_about)\(\s*"([a-z ]+)"', text)
    return {*named, *re.findall(r'^ +name = "([a-z ]+)"', text, re.M)}


def test_every_check_has_a_row_and_every_row_a_check() -> None:
    checks = names_in("replicator", "groups", "planning", "checks.py") | names_in(
        "replicator", "groups", "failover", "arrival.py"
    )
    section = PAGE[PAGE.index("## What the checks say") : PAGE.index("BASIS:")]
    rows = set(re.findall(r"^\| ([a-z ]+) \|", section, re.M)) - {"check"}
    assert rows == checks


def test_every_exit_code_of_apply_says_what_to_do() -> None:
    section = PAGE[PAGE.index("## 3.") : PAGE.index("# Details")]
    rows = {int(code) for code in re.findall(r"^\| (\d) \|", section, re.M)}
    assert rows == {code.value for code in ExitCode} - {
        ExitCode.DONE,
        ExitCode.FENCED,
        ExitCode.DIFFERENT,
    }


COMMANDS = re.findall(r"^ *sluice (.*)$", PAGE, re.M)


def test_the_page_names_commands() -> None:
    assert len(COMMANDS) >= 8


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_is_one_that_can_be_typed_like_that(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_CONFIG", "appliance.toml")
    arguments = shlex.split(line)
    command: click.Command = program
    context = click.Context(command)
    while isinstance(command, click.Group):
        found = command.get_command(context, arguments.pop(0))
        assert found
        command = found
    command.make_context(command.name, arguments)
