"""Commands of failover and switchover without servers: confirmation, saved plans."""

from dataclasses import replace

import click
import pytest
from click.testing import CliRunner, Result

from replicator.groups.planning.failover_plan import Completeness, GroupPlan
from tests.replicator.groups.planning.empty_plan import EMPTY
from tui.commands.exit_codes import ExitCode
from tui.commands.plan_commands import confirm_plan

PLAN = replace(
    EMPTY,
    completeness=Completeness(0, 0, 0),
    groups=(GroupPlan("orders", "west", ()), GroupPlan("billing", "west", ())),
)


def typed(text: str, *, is_terminal: bool) -> Result:
    """Returns the result of a command that has the plan confirmed, with `text` on stdin."""

    @click.command
    def apply() -> None:
        confirm_plan(PLAN, None, is_terminal=is_terminal)

    return CliRunner().invoke(apply, input=text)


def test_without_a_terminal_there_is_no_prompt() -> None:
    result = typed("west:east\n", is_terminal=False)
    assert result.exit_code == ExitCode.USAGE
    assert "it needs --confirm west:east" in result.stderr
    assert "Move 2 groups" not in result.output


def test_on_a_terminal_source_and_target_have_to_be_typed() -> None:
    result = typed("west:east\n", is_terminal=True)
    assert result.exit_code == ExitCode.DONE
    assert "Move 2 groups from west to east (west is lost)?" in result.stderr
    assert result.stdout == ""
    result = typed("yes\n", is_terminal=True)
    assert result.exit_code == ExitCode.USAGE
    assert "not confirmed: this plan goes west" in result.stderr


@pytest.mark.parametrize("word", ["east:west", "west", "", "west:east:north"])
def test_another_text_does_not_confirm(word: str) -> None:
    with pytest.raises(click.UsageError, match="not confirmed"):
        confirm_plan(PLAN, word, is_terminal=False)


def test_source_and_target_confirm() -> None:
    confirm_plan(PLAN, "west:east", is_terminal=False)
