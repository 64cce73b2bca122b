"""Confirmation of a plan by the operator, and the advice after it is applied."""

import io
import re
from dataclasses import replace

import click
import pytest

from replicator.groups.failover.outcome import GroupOutcome, MoveState, Outcome
from replicator.groups.planning.plan import Completeness, GroupPlan
from tests.replicator.groups.planning.empty_plan import EMPTY
from tui.actions.plan_applying import advice, confirmed, followed

PLAN = replace(
    EMPTY,
    completeness=Completeness(0, 0, 0),
    groups=(GroupPlan("orders", "west", ()), GroupPlan("billing", "west", ())),
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_a_terminal_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("west:east\n"))
    with pytest.raises(click.UsageError, match="it needs --confirm west:east"):
        confirmed(PLAN, None)


def test_on_a_terminal_the_way_has_to_be_typed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("west:east\n"))
    confirmed(PLAN, None)
    said = capsys.readouterr()
    assert "Move 2 groups from west to east (west is lost)?" in said.err
    assert said.out == ""
    monkeypatch.setattr("sys.stdin", Terminal("yes\n"))
    with pytest.raises(click.UsageError, match=re.escape("not confirmed: this plan goes west")):
        confirmed(PLAN, None)


@pytest.mark.parametrize("word", ["east:west", "west", "", "west:east:north"])
def test_a_wrong_confirmation_is_none(word: str) -> None:
    with pytest.raises(click.UsageError, match="not confirmed"):
        confirmed(PLAN, word)


def test_the_way_confirms() -> None:
    confirmed(PLAN, "west:east")


def test_steps_are_told_to_a_terminal_and_what_they_return_is_returned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def steps():
        yield "looked again"
        return 7

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    assert followed(steps()) == 7
    assert terminal.getvalue() == "sluice: looked again\n"


def outcome_of(*states: MoveState) -> Outcome:
    groups = (GroupOutcome(f"group-{at}", state) for at, state in enumerate(states))
    return Outcome("p1", "west", "east", tuple(groups))


def test_applying_again_is_advised_only_where_it_finishes_something() -> None:
    assert advice(outcome_of(MoveState.WRITTEN)) == []
    (again,) = advice(outcome_of(MoveState.WRITTEN, MoveState.OPEN))
    assert "apply the plan again" in again
    (anew,) = advice(outcome_of(MoveState.WRITTEN, MoveState.OVERTAKEN))
    assert "overtaken: 1 of 2 groups" in anew and "make a new plan" in anew
    assert len(advice(outcome_of(MoveState.OPEN, MoveState.OVERTAKEN))) == 2
