"""`sluice balance` without servers: tests that end before one is contacted."""

import pytest

from replicator.placement.rounds import daemon
from replicator.placement.rounds.preview import NoDriver
from replicator.runtime.exit_codes import Exit
from tests.tui.commands.test_replicate import CONFIG
from tui.commands.exit_codes import ExitCode, exit_code_of
from tui.commands.options import typed_config_option
from tui.program import run

REASON = ["--reason", "why"]
ROUTE = ["--route", "west>east"]


@pytest.fixture(autouse=True)
def no_configuration(monkeypatch):
    monkeypatch.delenv("SLUICE_CONFIG", raising=False)


@pytest.fixture
def config(tmp_path) -> str:
    """Configuration of servers that do not exist: contacting one gives another exit code."""
    file = tmp_path / "appliance.toml"
    file.write_text(CONFIG)
    return str(file)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--region"),
        (["--region", "north"], "no region 'north'"),
        (["--region", "west"], "no route leads into 'west'"),
        (["show"], "either --region or --route"),
        (["show", "--region", "north"], "no region 'north'"),
        (["show", "--region", "west"], "no route leads into 'west'"),
        (["show", "--region", "east", "--route", "east>east"], "no route 'east>east'"),
        (["plan"], "either --region or --route"),
        (["plan", "--region", "west", *ROUTE], "does not lead into region west"),
        (["apply", "--generation", "1"], "--route"),
        (["apply", *ROUTE], "--generation"),
        (["apply", *ROUTE, "--generation", "-1"], "--generation"),
        (["apply", *ROUTE, "--generation", "1", "--timeout", "0"], "--timeout"),
    ],
)
def test_a_mistake_is_named_before_a_server_is_contacted(config, capsys, arguments, message):
    """Options before a subcommand's name count for the subcommand as well."""
    assert run(["balance", "--config", config, *arguments]) == ExitCode.USAGE
    assert message in capsys.readouterr().err


def test_without_a_configuration_nothing_starts(capsys):
    assert run(["balance", "--region", "east"]) == ExitCode.USAGE
    assert "--config" in capsys.readouterr().err


def test_without_a_command_it_is_the_daemon(monkeypatch, config):
    monkeypatch.setattr(daemon, "run", lambda *given: 40 + (given == (config, "east")))
    assert run(["balance", "--config", config, "--region", "east"]) == 41


def test_the_daemon_ends_with_the_codes_of_the_program():
    own = {"STOPPED": ExitCode.DONE, "MISCONFIGURED": ExitCode.USAGE}
    for code in Exit:
        assert own.get(code.name, getattr(ExitCode, code.name, None)) == code, code


def test_that_no_driver_shows_anything_is_a_refusal():
    assert exit_code_of(NoDriver("start it")) is ExitCode.REFUSED


@pytest.mark.parametrize("is_before", [True, False])
def test_the_next_command_repeats_the_configuration_wherever_it_was_typed(
    config, monkeypatch, is_before
):
    said = []

    def seen(*_):
        said.append(typed_config_option())
        raise NoDriver("enough")

    monkeypatch.setattr("replicator.config.topology.load", seen)
    typed = ["--config", config]
    words = [*typed, "plan"] if is_before else ["plan", *typed]
    assert run(["balance", *words, "--region", "east"]) == ExitCode.REFUSED
    assert said == [f" --config {config}"]
