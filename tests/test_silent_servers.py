"""Reading commands end within their timeout, whatever is silent, and at once where all refuse."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.addresses import refusing, silent
from tui.commands.exit_codes import ExitCode
from tui.program import run

TIMEOUT_SECONDS = 2.0
COMMANDS = (
    "status",
    "groups show --region east",
    "balance show --region east",
    "balance plan --region east",
    "balance partitions --region east",
    "stream list --region east",
    "aggregate status",
    "aggregate check",
    "verify check --region east",
    "doctor exactness --region east",
    "config check --connect",
    "restore --feed lake --topic orders --dry-run",
)
REGION = """
[regions.{name}]
redis = "redis://{redis}"
regional.bootstrap = ["{regional}"]
aggregate.bootstrap = ["{aggregate}"]
"""
FEED = """
[feeds.orders]
region = "east"
clusters = ["east aggregate"]
[[feeds.orders.shards]]
topics = ["orders"]
replicas = ["clickhouse://{one}", "clickhouse://{other}"]
[feeds.lake]
kind = "s3"
region = "east"
clusters = ["east aggregate"]
bucket = "lake"
"""


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def configuration(directory: Path, opened: ExitStack, **kinds: str) -> str:
    """Writes the configuration of regions, each with servers that are silent or refuse."""

    def address(kind: str) -> str:
        return opened.enter_context(silent()) if kind == "silent" else refusing()

    text = '[topics]\nallow = [".*"]\n'
    for name, kind in kinds.items():
        addresses = {each: address(kind) for each in ("redis", "regional", "aggregate")}
        text += REGION.format(name=name, **addresses)
    file = directory / "appliance.toml"
    file.write_text(text + FEED.format(one=address(kinds["east"]), other=address(kinds["east"])))
    return str(file)


def seconds(command: str, config: str, timeout_seconds: float) -> float:
    """Runs a command, which has to say that servers are unreachable, and returns how long."""
    began = time.monotonic()
    arguments = [*command.split(), "--config", config, "--timeout", str(timeout_seconds)]
    assert run(arguments) == ExitCode.UNREACHABLE
    return time.monotonic() - began


@pytest.mark.parametrize("command", COMMANDS)
def test_silent_servers_cost_the_timeout_once_and_refusing_ones_nothing(
    command: str, tmp_path: Path, opened: ExitStack
) -> None:
    refuse = configuration(tmp_path, opened, west="refusing", east="refusing")
    seconds(command, refuse, 600.0)  # imports what the command needs
    assert seconds(command, refuse, 600.0) < TIMEOUT_SECONDS
    for kinds in (
        {"west": "silent", "north": "refusing", "east": "silent"},
        {"west": "refusing", "east": "silent"},
    ):
        config = configuration(tmp_path, opened, **kinds)
        # Two questions of which one waits for the other would take the timeout twice.
        assert seconds(command, config, TIMEOUT_SECONDS) < 2 * TIMEOUT_SECONDS
