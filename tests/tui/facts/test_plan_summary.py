"""Saved plans as they are shown, out of their stored form."""

from dataclasses import replace

from replicator.groups.planning.failover_plan import (
    BrokenPlan,
    Case,
    Check,
    Completeness,
    Count,
    GroupPlan,
    Level,
    Move,
)
from tests.replicator.groups.planning.empty_plan import EMPTY
from tui.facts.plan_summary import PlanCheck, PlanPosition, broken_plan, plan_summary

MOVES = (
    Move(
        topic="trades",
        partition=0,
        case=Case.MOVES,
        committed=43,
        resume=40,
        basis="floor",
        read_again=Count(3, "at most"),
        not_replicated=Count(0, "at least"),
    ),
    Move(topic="trades", partition=1, case=Case.UNKNOWN, committed=7, notes=("too little",)),
)
PLAN = replace(
    EMPTY,
    age_ms=200,
    checks=(Check("age", Level.PASS, "0.2 s old"), Check("basis", Level.BLOCK, "nothing is known")),
    groups=(GroupPlan("billing", "west", MOVES),),
    completeness=Completeness(2, 1, 0),
)


def test_a_plan_is_shown_with_its_checks_and_positions_as_failover_show_has_them():
    found = plan_summary(PLAN, 10)
    assert (found.way, found.verb, found.is_blocked) == (
        f"{PLAN.source}:{PLAN.target}",
        "failover",
        True,
    )
    assert found.checks[1] == PlanCheck(name="basis", result="block", text="nothing is known")
    assert found.positions[0] == PlanPosition(
        group="billing",
        topic="trades",
        partition=0,
        committed=43,
        resume=40,
        basis="floor",
        read_again=3,
        read_again_bound="at most",
        not_replicated=0,
        not_replicated_bound="at least",
    )
    assert (found.positions[1].basis, found.positions[1].resume) == ("unknown", None)
    assert (found.asked, found.mapped, found.exact, found.age_ms) == (2, 1, 0, 200)


def test_a_plan_with_too_many_positions_tells_their_number():
    found = plan_summary(PLAN, 1)
    assert (found.positions, found.positions_count) == ((), 2)
    assert len(plan_summary(PLAN).positions) == 2


def test_only_of_a_mapped_position_something_is_read_again():
    floor, unknown = plan_summary(PLAN).positions
    assert floor.is_mapped and not unknown.is_mapped


def test_of_a_broken_plan_the_reason_is_known():
    found = broken_plan("p", BrokenPlan("b"))
    assert (found.plan_id, found.broken, found.way) == ("p", "b", ":")
