"""`sluice offsets` without servers: tests that end before one is contacted."""

from pathlib import Path

import pytest

from replicator.groups.offset_sync import daemon
from tui.commands.exit_codes import ExitCode
from tui.program import run

REFERENCE = str(Path(__file__).parents[3] / "deploy" / "appliance.toml")


@pytest.fixture(autouse=True)
def no_configuration(monkeypatch):
    monkeypatch.delenv("SLUICE_CONFIG", raising=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--config"),
        (["--config", REFERENCE], "--region"),
        (["--config", REFERENCE, "--region", "north"], "no region 'north'"),
        (["rebuild", "--config", REFERENCE], "--region"),
        (["rebuild", "--config", REFERENCE, "--region", "north"], "no region 'north'"),
        (
            ["rebuild", "--config", REFERENCE, "--region", "west", "--route", "west>east"],
            "route west>east does not lead into region west",
        ),
        (["show", "--region", "west"], "--config"),
        (["--config", REFERENCE, "--region", "north", "show"], "no region 'north'"),
    ],
)
def test_a_mistake_ends_it_with_2_and_is_named(arguments, message, capsys):
    assert run(["offsets", *arguments]) == ExitCode.USAGE
    assert message in capsys.readouterr().err


def test_without_a_command_it_is_the_daemon(monkeypatch):
    monkeypatch.setattr(daemon, "run", lambda *given: 40 + (given == (REFERENCE, "east")))
    assert run(["offsets", "--config", REFERENCE, "--region", "east"]) == 41
