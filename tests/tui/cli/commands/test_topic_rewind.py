"""`sluice stream rewind-topic`: --to is parsed in each of its forms, without a cluster."""

import pytest

from replicator.audit.window import BadWindow
from tui.actions.topic_rewind import start_of
from tui.program import run


def test_an_offset_the_beginning_an_instant_and_how_long_ago():
    assert start_of("17") == 17
    assert start_of("earliest") == "earliest"
    assert start_of("2026-11-22T03:00:00Z") == "@1795316400000"
    assert start_of("10m").startswith("@")


def test_anything_else_is_refused_with_what_may_be_written(tmp_path, capsys):
    with pytest.raises(BadWindow, match="instant"):
        start_of("yesterday")
    command = ["stream", "rewind-topic", "t", "--route", "west>east", "--to", "yesterday"]
    assert run([*command, "--config", str(tmp_path / "none.toml")]) == 2
    assert "yesterday" in capsys.readouterr().err
