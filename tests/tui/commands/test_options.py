"""Options that several commands share: routes that they select, and a typed configuration."""

import click
import pytest

from replicator.config.topology import Appliance, UnknownRegion, load
from tests.tui.commands.test_replicate import CONFIG
from tui.commands.exit_codes import ExitCode
from tui.commands.options import region_and_routes, selected_routes, typed_config_option
from tui.program import run


@pytest.fixture
def appliance(tmp_path) -> Appliance:
    file = tmp_path / "appliance.toml"
    file.write_text(CONFIG.replace('["west>east"]', '["west>east", "east>east", "east>west"]'))
    return load(file)


def names(found) -> tuple[str, list[str]]:
    return found[0], [route.name for route in found[1]]


def test_a_region_means_all_routes_into_it_and_a_route_its_region(appliance):
    assert names(region_and_routes(appliance, "east", None)) == ("east", ["west>east", "east>east"])
    assert names(region_and_routes(appliance, None, "east>west")) == ("west", ["east>west"])
    assert names(region_and_routes(appliance, "east", "west>east")) == ("east", ["west>east"])


def test_without_a_region_all_routes_can_be_named_and_none_means_all(appliance):
    two = selected_routes(appliance, None, ["east>west", "west>east", "east>west"])
    assert [route.name for route in two] == ["east>west", "west>east"]
    assert selected_routes(appliance, None, []) == appliance.routes
    assert selected_routes(appliance, "east", []) == appliance.routes_into("east")


def test_what_does_not_fit_together_is_wrong_usage(appliance):
    with pytest.raises(click.UsageError, match="does not lead into region west"):
        region_and_routes(appliance, "west", "west>east")
    with pytest.raises(click.UsageError, match="either --region or --route"):
        region_and_routes(appliance, None, None)


def test_a_region_that_nothing_leads_into_is_named(tmp_path):
    file = tmp_path / "one.toml"
    file.write_text(CONFIG)
    with pytest.raises(UnknownRegion, match="no route leads into 'west'"):
        region_and_routes(load(file), "west", None)


@pytest.mark.parametrize(
    "command", [["balance", "show"], ["offsets", "show"], ["offsets", "rebuild"]]
)
@pytest.mark.parametrize(
    ("before", "behind", "used", "words"),
    [
        (["--config", "typed.toml"], [], "typed.toml", " --config typed.toml"),
        ([], ["--config", "typed.toml"], "typed.toml", " --config typed.toml"),
        (["--config", "a.toml"], ["--config", "typed.toml"], "typed.toml", " --config typed.toml"),
        ([], [], "environment.toml", ""),
    ],
)
def test_a_typed_configuration_is_used_and_repeated_wherever_it_was_typed(
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
    before: list[str],
    behind: list[str],
    used: str,
    words: str,
) -> None:
    found = []

    def load(path: str) -> None:
        found.append((path, typed_config_option()))
        raise UnknownRegion("enough")

    monkeypatch.setattr("replicator.config.topology.load", load)
    monkeypatch.setenv("SLUICE_CONFIG", "environment.toml")
    group, name = command
    assert run([group, *before, name, *behind, "--region", "east"]) == ExitCode.USAGE
    assert found == [(used, words)]


@pytest.mark.parametrize(
    "command", ["balance pause", "balance pin", "stream pause-topic", "aggregate freeze"]
)
def test_orders_that_end_by_themselves_say_by_which_clock(command, capsys):
    run([*command.split(), "--help"])
    words = " ".join(capsys.readouterr().out.split())
    assert "from now by this machine's clock" in words
    assert "ends by that of the process that follows the order" in words
