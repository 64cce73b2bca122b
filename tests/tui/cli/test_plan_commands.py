"""Commands of failover and switchover without servers: confirmation, saved plans."""

import io
import re
from dataclasses import replace

import click
import pytest

from replicator.groups.planning.plan import Completeness, GroupPlan
from tests.replicator.groups.planning.empty_plan import EMPTY
from tui.cli.plan_commands import confirm_plan

PLAN = replace(
    EMPTY,
    completeness=Completeness(0, 0, 0),
    groups=(GroupPlan("orders", "west", ()), GroupPlan("billing", "west", ())),
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_a_terminal_there_is_no_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("west:east\n"))
    with pytest.raises(click.UsageError, match="it needs --confirm west:east"):
        confirm_plan(PLAN, None)


def test_on_a_terminal_source_and_target_have_to_be_typed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("west:east\n"))
    confirm_plan(PLAN, None)
    said = capsys.readouterr()
    assert "Move 2 groups from west to east (west is lost)?" in said.err
    assert said.out == ""
    monkeypatch.setattr("sys.stdin", Terminal("yes\n"))
    with pytest.raises(click.UsageError, match=re.escape("not confirmed: this plan goes west")):
        confirm_plan(PLAN, None)


@pytest.mark.parametrize("word", ["east:west", "west", "", "west:east:north"])
def test_another_text_does_not_confirm(word: str) -> None:
    with pytest.raises(click.UsageError, match="not confirmed"):
        confirm_plan(PLAN, word)


def test_source_and_target_confirm() -> None:
    confirm_plan(PLAN, "west:east")
