"""Outcomes of applied plans as text for people."""

from dataclasses import replace

import pytest

from replicator.groups.failover.outcome import GroupOutcome, MoveState, Outcome, PositionOutcome
from tui.commands.views.outcome_view import advice, outcome_text


def outcome(*states: MoveState) -> Outcome:
    at = PositionOutcome("trades", 0, None, 1200, 1200)
    groups = (
        GroupOutcome(f"group-{number}", each, "" if each.is_done else "it has members", (at,))
        for number, each in enumerate(states)
    )
    return Outcome("p1", "west", "east", tuple(groups))


def test_an_outcome_lists_unfinished_groups_first_and_shows_before_and_after(assert_snapshot):
    text = outcome_text(outcome(MoveState.WRITTEN, MoveState.OPEN), by_partition=False)
    assert_snapshot(text, "outcome")


@pytest.mark.parametrize(
    ("states", "verdict"),
    [
        ((MoveState.WRITTEN, MoveState.MOVED_ON), "DONE"),
        ((MoveState.OPEN,), "NOT DONE"),
        ((MoveState.WRITTEN, MoveState.UNKNOWN), "NOT KNOWN"),
    ],
)
def test_an_outcome_says_in_its_first_word_how_it_ended(states, verdict):
    assert outcome_text(outcome(*states), by_partition=False).split(":")[0] == verdict


def test_applying_again_is_advised_only_where_it_finishes_something():
    assert advice(outcome(MoveState.WRITTEN)) == []
    (again,) = advice(outcome(MoveState.WRITTEN, MoveState.OPEN))
    assert "apply the plan again" in again
    (anew,) = advice(outcome(MoveState.WRITTEN, MoveState.OVERTAKEN))
    assert "overtaken: 1 of 2 groups" in anew and "make a new plan" in anew
    assert len(advice(outcome(MoveState.OPEN, MoveState.OVERTAKEN))) == 2


def test_a_group_that_the_plan_never_moves_needs_a_new_plan():
    held_back = replace(
        outcome(MoveState.WRITTEN, MoveState.OPEN), held_back=frozenset({"group-1"})
    )
    (anew,) = advice(held_back)
    assert "left where they are: 1 of 2 groups" in anew and "make a new plan" in anew
