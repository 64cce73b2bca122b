"""`sluice groups` without servers: refusals before a server is contacted."""

from __future__ import annotations

import pytest

from replicator.kafka.tail.compacted_topic import WriteUnknown
from tests.tui.commands.test_replicate import CONFIG
from tui.commands.exit_codes import ExitCode, exit_code_of
from tui.program import run

REASON = ["--reason", "why"]


@pytest.fixture
def config(tmp_path) -> str:
    file = tmp_path / "appliance.toml"
    file.write_text(CONFIG)
    return str(file)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["orders", "--to", "west"], "--reason"),
        (["orders", "--to", "west", "--reason", " "], "--reason is empty"),
        (["--to", "west", *REASON], "GROUP"),
        (["orders", *REASON], "either --to REGION or --any-region"),
        (["orders", "--to", "west", "--any-region", *REASON], "either --to REGION or --any-region"),
        (["orders", "--any-region", *REASON], "needs --region"),
        (["orders", "--to", "nowhere", *REASON], "no region 'nowhere'"),
        (["orders", "--to", "west", "--region", "nowhere", *REASON], "no region 'nowhere'"),
        (["orders", "sluice.commits", "--to", "west", *REASON], "own, which live where they are"),
    ],
)
def test_a_mistake_is_named_before_a_server_is_contacted(config, capsys, options, message):
    assert run(["groups", "set-primary", "--config", config, *options]) == ExitCode.USAGE
    assert message in capsys.readouterr().err


def test_a_region_that_is_not_there_cannot_be_asked(config, capsys):
    assert run(["groups", "show", "--config", config, "--region", "nowhere"]) == ExitCode.USAGE
    assert "no region 'nowhere'" in capsys.readouterr().err


def test_a_write_whose_answer_was_lost_is_an_unknown_result():
    assert exit_code_of(WriteUnknown("west aggregate", "lost")) is ExitCode.RESULT_UNKNOWN
