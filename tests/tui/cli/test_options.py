"""Routes that the options of a balancing command select."""

import click
import pytest

from replicator.config.topology import Appliance, UnknownRegion, load
from tests.tui.cli.commands.test_replicate import CONFIG
from tui.cli.options import chosen, warn


@pytest.fixture
def appliance(tmp_path) -> Appliance:
    file = tmp_path / "appliance.toml"
    file.write_text(CONFIG.replace('["west>east"]', '["west>east", "east>east", "east>west"]'))
    return load(file)


def names(found) -> tuple[str, list[str]]:
    return found[0], [route.name for route in found[1]]


def test_a_region_means_all_routes_into_it_and_a_route_its_region(appliance):
    assert names(chosen(appliance, "east", None)) == ("east", ["west>east", "east>east"])
    assert names(chosen(appliance, None, "east>west")) == ("west", ["east>west"])
    assert names(chosen(appliance, "east", "west>east")) == ("east", ["west>east"])


def test_what_does_not_fit_together_is_wrong_usage(appliance):
    with pytest.raises(click.UsageError, match="does not lead into region west"):
        chosen(appliance, "west", "west>east")
    with pytest.raises(click.UsageError, match="either --region or --route"):
        chosen(appliance, None, None)


def test_a_region_that_nothing_leads_into_is_named(tmp_path):
    file = tmp_path / "one.toml"
    file.write_text(CONFIG)
    with pytest.raises(UnknownRegion, match="no route leads into 'west'"):
        chosen(load(file), "west", None)


def test_each_warning_is_a_line_of_its_own_on_stderr(capsys):
    warn("one", "two")
    warn()
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "sluice: one\nsluice: two\n")
