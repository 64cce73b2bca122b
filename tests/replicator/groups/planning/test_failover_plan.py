"""Text form of a plan, and properties of a plan."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.groups.planning.failover_plan import (
    BrokenPlan,
    Case,
    Check,
    Count,
    GroupPlan,
    Level,
    Move,
    Plan,
    UnknownPlan,
    decode,
    encode,
)
from tests.replicator.groups.planning.empty_plan import EMPTY

MOVE = Move(
    topic="trades",
    partition=3,
    case=Case.MOVES,
    committed=1700,
    resume=1200,
    basis="exact",
    read_again=Count(17, "at most"),
    not_replicated=Count(0),
    vector={"west": 900, "east": 800},
    target_committed=1100,
    notes=("has read all that west held",),
)
PLAN = replace(
    EMPTY,
    checks=(Check("age", Level.PASS, "young"), Check("map", Level.BLOCK, "torn", ("orders",))),
    groups=(GroupPlan("orders", "west", (MOVE,)), GroupPlan("idle", None, ())),
)


MOVES = st.builds(
    Move,
    **dict.fromkeys(("resume", "basis", "read_again", "not_replicated", "notes"), ...),
    **dict.fromkeys(("retention_took", "vector", "target_committed"), ...),
)
GROUPS = st.builds(GroupPlan, moves=st.lists(MOVES, max_size=3).map(tuple))


@given(st.builds(Plan, groups=st.lists(GROUPS, max_size=3).map(tuple)))
def test_a_plan_is_read_back_as_it_was_written(plan):
    assert decode(encode(plan)) == plan


def test_the_text_form_is_json_with_named_fields_and_a_version():
    found = json.loads(encode(PLAN))
    assert found["schema_version"] == 1
    assert found["checks"][1] == {
        "name": "map",
        "level": "BLOCK",
        "text": "torn",
        "groups": ["orders"],
    }
    assert found["groups"][0]["moves"][0]["read_again"] == {"records": 17, "bound": "at most"}
    assert found["groups"][0]["moves"][0]["vector"] == {"west": 900, "east": 800}


def test_a_plan_of_another_version_is_refused_by_its_number():
    text = encode(PLAN).replace('"schema_version":1', '"schema_version":2')
    with pytest.raises(UnknownPlan, match="schema_version 2"):
        decode(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not the text of a plan"),
        (b"\xff\xfe\xfa", "not the text of a plan"),
        ("[1]", "no schema_version"),
        ('{"id": "p1"}', "no schema_version"),
        ('{"schema_version": 1}', "broken at id"),
        (encode(PLAN).replace('"committed":1700', '"committed":"1700"'), "moves.0.committed"),
        (encode(PLAN).replace('"basis":"exact"', '"basis":"guessed"'), "moves.0.basis"),
        (encode(PLAN).replace('"level":"BLOCK"', '"level":"STOP"'), "checks.1.level"),
        (encode(PLAN).replace('"id":"p1"', '"id":"p1","colour":"red"'), "broken at colour"),
        (encode(PLAN)[:-1], "not the text of a plan"),
    ],
)
def test_broken_text_is_refused_and_its_field_is_named(text, reason):
    with pytest.raises(BrokenPlan, match=reason):
        decode(text)


@given(st.integers(0, len(encode(PLAN)) - 1))
def test_a_plan_that_was_cut_short_is_refused(at):
    with pytest.raises(BrokenPlan):
        decode(encode(PLAN)[:at])


def test_a_plan_ends_at_its_time():
    assert not PLAN.is_expired(300_999)
    assert PLAN.is_expired(301_000)


def test_a_plan_is_blocked_by_its_blocking_checks():
    assert [check.name for check in PLAN.blocks] == ["map"]


def test_a_check_that_names_groups_holds_back_only_these():
    assert not PLAN.is_blocked
    assert PLAN.held_back == {"orders": ("map",)}
    both = (*PLAN.checks, Check("progress", Level.BLOCK, "back", ("orders", "idle")))
    whole = replace(PLAN, checks=both)
    assert whole.held_back == {"orders": ("map", "progress"), "idle": ("progress",)}
    assert whole.is_blocked


def test_a_check_that_names_no_group_blocks_the_whole_plan():
    blocked = replace(PLAN, checks=(Check("age", Level.BLOCK, "not known"),))
    assert blocked.is_blocked and not blocked.held_back
    assert not replace(PLAN, checks=(Check("map", Level.WARN, "torn", ("orders",)),)).is_blocked


def test_a_plan_without_groups_is_blocked_by_nothing():
    assert not replace(PLAN, groups=(), checks=()).is_blocked


def test_a_move_goes_back_only_where_the_target_has_progress_to_lose():
    moves = {
        (resume, committed): Move(
            topic="trades",
            partition=0,
            case=Case.MOVES,
            committed=1,
            resume=resume,
            target_committed=committed,
        )
        for resume, committed in ((5, 6), (5, 5), (5, None), (None, 6))
    }
    assert [key for key, move in moves.items() if move.goes_back] == [(5, 6)]


def test_a_position_that_is_not_mapped_has_its_case_for_a_basis():
    moved = Move(topic="trades", partition=0, case=Case.MOVES, committed=1, basis="floor")
    assert moved.basis_or_case == "floor"
    assert replace(moved, case=Case.GONE).basis_or_case == "gone"


def test_the_text_of_a_count_has_its_bound():
    assert str(Count(3)) == "3"
    assert str(Count(3, "at most")) == "at most 3"
