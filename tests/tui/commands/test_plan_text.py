"""Plans, the list of saved ones, and outcomes as text for people."""

from dataclasses import replace

import pytest

from replicator.groups.failover.outcome import GroupOutcome, MoveState, Outcome, PositionOutcome
from replicator.groups.planning.failover_plan import (
    BrokenPlan,
    Case,
    Check,
    Count,
    GroupPlan,
    Level,
    Move,
)
from tests.replicator.groups.planning.empty_plan import EMPTY
from tui.commands.plan_text import ROWS_MAX, advice, outcome_text, plan_text, plans_text, total
from tui.facts.plan_summary import PlanList, broken_plan, plan_summary

MOVE = Move(
    topic="trades",
    partition=0,
    case=Case.MOVES,
    committed=1700,
    resume=1200,
    basis="exact",
    read_again=Count(17),
    not_replicated=Count(3, "at least"),
    notes=("at the end",),
)
IDLE = Move(topic="trades", partition=1, case=Case.UNCOMMITTED, committed=None)
PLAN = replace(
    EMPTY,
    created_at_ms=1_356_998_400_000,
    expires_at_ms=1_356_998_700_000,
    checks=(Check("age", Level.PASS, "the copies are 0.8 s old"),),
    groups=(GroupPlan("orders", "west", (MOVE, IDLE)),),
)
NOW_MS = PLAN.created_at_ms + 2_000


def test_a_plan_begins_with_its_verdict_and_ends_with_what_to_do(assert_snapshot):
    assert_snapshot(plan_text(PLAN, NOW_MS, by_partition=False), "plan")


def test_what_blocks_a_plan_stands_in_its_first_line_and_no_command_follows():
    torn = replace(PLAN, checks=(Check("basis", Level.BLOCK, "nothing is known", ("orders",)),))
    text = plan_text(torn, NOW_MS, by_partition=False)
    assert text.startswith("CANNOT BE APPLIED: blocked by basis\n")
    assert "apply" not in text.splitlines()[-1]


def test_groups_that_a_plan_leaves_where_they_are_stand_in_its_first_and_last_lines():
    groups = (*PLAN.groups, GroupPlan("billing", None, ()))
    torn = Check("basis", Level.BLOCK, "nothing is known: orders", ("orders",))
    text = plan_text(replace(PLAN, groups=groups, checks=(torn,)), NOW_MS, by_partition=False)
    assert text.startswith("CAN BE APPLIED to 1 of 2 groups: orders blocked by basis\n")
    assert "To do it, and leave orders where it is:\n  sluice failover apply p1" in text


def test_a_plan_that_could_not_be_saved_is_shown_and_names_no_command():
    text = plan_text(PLAN, NOW_MS, by_partition=False, is_saved=False)
    assert text.startswith("CAN") and "sluice failover apply" not in text


def test_an_expired_plan_says_since_when_and_that_a_new_one_is_needed():
    text = plan_text(PLAN, PLAN.expires_at_ms + 60_000, by_partition=False)
    assert text.startswith("CANNOT BE APPLIED: expired 1:00 ago; make a new plan\n")
    assert "expired 60 s ago" in text


def test_unknown_ages_are_not_shown_as_none():
    assert "copies  of unknown age" in plan_text(
        replace(PLAN, age_ms=None), NOW_MS, by_partition=False
    )


def test_a_long_plan_is_shown_by_group_unless_asked_otherwise(assert_snapshot):
    moves = tuple(replace(MOVE, partition=number) for number in range(ROWS_MAX))
    long = replace(PLAN, groups=(GroupPlan("orders", None, (*moves, IDLE)),))
    assert_snapshot(plan_text(long, NOW_MS, by_partition=False), "plan_by_group")
    assert len(plan_text(long, NOW_MS, by_partition=True).splitlines()) > 41


def test_counts_are_added_up_with_their_bounds():
    assert total([Count(1), Count(2)]) == "3"
    assert total([Count(1), Count(2, "at most")]) == "at most 3"
    assert total([Count(1), None]) is None


def test_times_that_no_calendar_has_are_unknown():
    absurd = replace(PLAN, created_at_ms=10**18, expires_at_ms=2 * 10**18)
    assert "?, valid for another" in plan_text(absurd, NOW_MS, by_partition=False)


def test_a_plan_that_moves_nothing_says_so():
    empty = plan_text(replace(EMPTY, groups=(GroupPlan("orders", None, ()),)), 0, by_partition=True)
    assert "\n\nno position would be moved\n\n" in empty and "CHECK" not in empty


def test_each_saved_plan_has_a_row_with_its_state(assert_snapshot):
    blocked = Check("basis", Level.BLOCK, "nothing is known")
    plans = (
        plan_summary(PLAN, 0),
        broken_plan("p2", BrokenPlan("p2.json: not the text of a plan")),
        plan_summary(replace(PLAN, id="p3", checks=(blocked,)), 0),
    )
    assert_snapshot(plans_text(PlanList(plans=plans), NOW_MS / 1000), "plan_list")


def test_without_a_saved_plan_there_is_no_table():
    assert plans_text(PlanList(plans=()), 0.0) == "no plan is saved on this machine"


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
