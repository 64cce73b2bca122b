"""docs/upsert.md shows settings of upsert tables that work, and commands that exist."""

import re
from pathlib import Path

import pytest

from replicator.config.feed_settings import ClickHouseFeed
from replicator.config.upsert_table import RETENTION_HOURS_MAX, UpsertTable
from tests.replicator.config.test_topology import SOUND, loaded
from tests.typed_command import check_typed

PAGE = (Path(__file__).parents[1] / "docs" / "upsert.md").read_text()
SECTION = PAGE.partition("\n## Settings\n")[2].partition("\n## ")[0]
(EXAMPLE,) = re.findall(r"^```toml\n(.*?)^```", SECTION, re.M | re.S)
COMMANDS = re.findall(r"^sluice (.*?)(?: +# .*)?$", SECTION, re.M)


def test_the_example_is_a_configuration_that_works(tmp_path: Path) -> None:
    feed = loaded(tmp_path, SOUND + EXAMPLE).feed("flights")
    assert isinstance(feed, ClickHouseFeed)
    status = feed.tables["flight_status"]
    assert status.is_upsert
    assert feed.upsert_table("status-late") == status
    assert status.newest_is_time


def test_each_setting_that_the_section_names_exists() -> None:
    known = {*UpsertTable.model_fields, *ClickHouseFeed.model_fields}
    named = set(re.findall(r"\*\*`(\w+)`", SECTION)) | set(re.findall(r"`(\w+) = ", SECTION))
    assert named and named <= known | {"quorum"}


def test_the_longest_retention_is_that_of_the_code() -> None:
    assert f"({RETENTION_HOURS_MAX:g} at most)" in SECTION


@pytest.mark.parametrize("line", COMMANDS)
def test_each_command_of_the_section_can_be_typed_like_that(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_CONFIG", "appliance.toml")
    check_typed(line)
