"""Values of commands about consumer groups: where they live, plans, and outcomes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from replicator.groups.failover.outcome import GroupOutcome, MoveState, Outcome, PositionOutcome
from replicator.groups.membership.primary_region import PrimaryRegion, decided
from replicator.groups.planning.failover_plan import (
    BrokenPlan,
    Case,
    Check,
    Completeness,
    Count,
    GroupPlan,
    Level,
    Move,
    UnknownPlan,
)
from tests.replicator.groups.planning.empty_plan import EMPTY
from tests.tui.output.odd import ODD
from tui.commands.groups import PrimaryChange, PrimaryChanges
from tui.facts.group_view import GroupList, GroupView
from tui.facts.plan_summary import PlanList, broken_plan, plan_summary

WEST = decided(None, "orders", "west", at_ms=0, who="ann@ops", why="near the bank")
FREE = decided(WEST, "free", None, at_ms=60_000, who="bob@ops", why="both", plan_id="p1")
EAST = decided(WEST, "orders", "east", at_ms=1, who="ann@ops", why="moved")


def view(group: str, *members: str, record: PrimaryRegion | None = WEST, **more: Any) -> GroupView:
    """Returns a group of two regions that both tell which groups have members."""
    outside = [it for it in members if record is not None and it != record.region is not None]
    return GroupView(
        group=group,
        primary=record.region if record else None,
        has_record=record is not None,
        members=members,
        is_out_of_place=bool(outside),
        is_active_twice=bool(outside) and len(members) > 1,
        decided_at_ms=record.at_ms if record else None,
        who=record.who if record else None,
        why=record.why if record else None,
        plan_id=record.plan_id if record else None,
        generation=record.generation if record else None,
        previous=record.previous if record else None,
        **more,
    )


ABSURD = replace(WEST, at_ms=10**18, who=ODD, why=ODD)
LISTED = GroupList(
    region="west",
    groups=(
        view("absurd", "west", record=ABSURD),
        view("free", "east", "west", record=FREE),
        view("idle"),
        view("orders", "west", type="consumer"),
        view("other", record=None, type="new"),
        view("out", "east"),
        view("shared", "west", record=None, type="share"),
        view("twice", "east", "west"),
        view(ODD, record=None),
    ),
)
UNKNOWN = GroupList(
    region="west",
    groups=tuple(GroupView(group=it, unknown=("east", "west")) for it in ("idle", "orders")),
    silent_regions=("east", "west"),
    problems=("Redis: away", ODD),
)
SILENT = replace(
    LISTED,
    groups=tuple(
        replace(it, unknown=("east",)) for it in LISTED.groups if "east" not in it.members
    ),
    silent_regions=("east",),
)
CHANGES = PrimaryChanges(
    (
        PrimaryChange("bills", None, is_new=False),
        PrimaryChange("free", FREE, is_new=True),
        PrimaryChange("here", WEST, is_new=False),
        PrimaryChange("new", WEST, is_new=True),
        PrimaryChange(ODD, EAST, is_new=True),
    ),
    ("recorded, but Redis: away", ODD),
)

MOVE = Move(
    topic="trades",
    partition=0,
    case=Case.MOVES,
    committed=1700,
    resume=1200,
    basis="exact",
    read_again=Count(17),
    not_replicated=Count(3, "at least"),
    vector={"west": 1700},
    target_committed=1000,
    target_vector={"west": 900},
    metadata="m",
    target_metadata=ODD,
    notes=("at the end", ODD),
)
FLOOR = replace(
    MOVE, partition=2, basis="floor", read_again=Count(5, "at most"), retention_took=9, notes=()
)
MOVES = (
    MOVE,
    Move(topic="trades", partition=1, case=Case.UNCOMMITTED, committed=None),
    FLOOR,
    replace(FLOOR, partition=3, read_again=None, not_replicated=None),
    Move(topic=ODD, partition=0, case=Case.UNKNOWN, committed=4),
    Move(topic="gone", partition=0, case=Case.GONE, committed=4),
    Move(topic="chosen", partition=0, case=Case.CHOSEN, committed=4, resume=0),
)
PLAN = replace(
    EMPTY,
    created_at_ms=1_356_998_400_000,
    expires_at_ms=1_356_998_700_000,
    completeness=Completeness(12, 10, 7),
    checks=(
        Check("age", Level.PASS, "the copies are 0.8 s old"),
        Check("map", Level.WARN, ODD, ("orders",)),
    ),
    groups=(GroupPlan("orders", "west", MOVES), GroupPlan("billing", None, (MOVE,))),
)
NOW_MS = PLAN.created_at_ms + 2_000
BASIS = Check("basis", Level.BLOCK, "nothing is known")
LONG = tuple(replace(MOVE, partition=number) for number in range(34))
PLANS = {
    "": PLAN,
    "_blocked": replace(
        PLAN,
        checks=(
            *PLAN.checks,
            replace(BASIS, groups=("orders", "billing")),
            replace(BASIS, name="rights", groups=("billing",)),
        ),
    ),
    "_held_back": replace(PLAN, checks=(replace(BASIS, groups=("orders",)),)),
    "_expired": replace(PLAN, expires_at_ms=NOW_MS - 60_000, age_ms=None),
    "_switchover": replace(
        PLAN,
        is_planned=True,
        groups=(
            GroupPlan("orders", None, (*LONG, *MOVES)),
            GroupPlan("exact", "west", LONG[:3]),
            GroupPlan("floor", "west", (MOVE, FLOOR)),
        ),
    ),
    "_empty": replace(PLAN, groups=(), checks=(), reason=ODD, created_at_ms=10**18),
}
SAVED = PlanList(
    plans=(
        plan_summary(PLAN, 0),
        broken_plan("p2", BrokenPlan("p2.json: not the text of a plan")),
        plan_summary(replace(PLANS["_blocked"], id="p3", reason=ODD), 0),
        plan_summary(replace(PLANS["_expired"], id="p4", is_planned=True), 0),
        broken_plan("p5", UnknownPlan(ODD)),
    )
)


def outcome(*states: MoveState, positions: int = 1) -> Outcome:
    """Returns an outcome with a group in each state, and the second one held back."""
    places = tuple(
        PositionOutcome(
            "trades", number, 900 if number % 2 else None, 1200, (None, 1200)[number % 2]
        )
        for number in range(positions)
    )
    groups = (
        GroupOutcome(f"group-{number}", each, "" if each.is_done else ODD, places)
        for number, each in enumerate(states)
    )
    return Outcome("p1", "west", "east", tuple(groups), frozenset(["group-1"]))


OUTCOMES = {
    "": outcome(MoveState.WRITTEN, MoveState.MOVED_ON, MoveState.AS_PLANNED, positions=2),
    "_partly": outcome(
        MoveState.WRITTEN, MoveState.OPEN, MoveState.OPEN, MoveState.OVERTAKEN, positions=2
    ),
    "_not": outcome(MoveState.OPEN),
    "_bare": outcome(MoveState.WRITTEN, positions=0),
    "_unknown": outcome(MoveState.WRITTEN, MoveState.UNKNOWN, positions=2),
    "_long": outcome(MoveState.WRITTEN, positions=41),
}
