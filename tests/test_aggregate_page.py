"""docs/aggregate.md names only commands that exist, and the settings that feeds have."""

import re
import shlex
from pathlib import Path

import click
import pytest

from aggregator.loader.dead_letters import HEADER_PREFIX, dead_letters
from aggregator.tables.table_schema import COORDINATES
from replicator.config.feed_settings import AggregatorSettings, Feed, Shard
from tui.program import program

CHECKOUT = Path(__file__).parents[1]
PAGE = (CHECKOUT / "docs" / "aggregate.md").read_text()
COMMANDS = re.findall(r"^\$? *(?:sluice) (.*?)(?: +# .*)?$", PAGE, re.M)


def test_the_page_names_commands() -> None:
    assert len(COMMANDS) >= 10


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_is_one_that_can_be_typed_like_that(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_CONFIG", "appliance.toml")
    arguments = shlex.split(line)
    command: click.Command = program
    context = click.Context(command)
    while isinstance(command, click.Group) and not arguments[0].startswith("-"):
        found = command.get_command(context, arguments.pop(0))
        assert found
        command = found
    command.make_context(command.name, arguments)


def test_every_setting_on_the_page_exists() -> None:
    known = {*Feed.model_fields, *Shard.model_fields}
    written = set(re.findall(r"^([a-z_]+) = ", PAGE, re.M))
    written |= set(re.findall(r"`(\w+) = ", PAGE)) - {"replicated_deduplication_window"}
    assert written and written <= known
    general = set(re.findall(r"`aggregator\.(\w+)`", PAGE))
    assert general and general <= set(AggregatorSettings.model_fields)


def test_the_table_shown_has_the_coordinate_columns() -> None:
    shown = PAGE.split("CREATE TABLE")[1].split("ENGINE")[0]
    assert all(f"{name} {kind}" in shown for name, kind in COORDINATES.items())


def test_the_headers_of_dead_letters_are_those_that_are_written() -> None:
    source = Path(dead_letters.__code__.co_filename).read_text()
    written = re.findall(r'^ +"(\w+)": ', source, re.M)
    section = PAGE.split("### Dead letters")[1].split("\n## ")[0]
    assert set(re.findall(rf"`{re.escape(HEADER_PREFIX)}(\w+)`", section)) == set(written)
