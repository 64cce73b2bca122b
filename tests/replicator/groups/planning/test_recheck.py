"""A plan is written as it was confirmed, or not at all: a fresh plan decides."""

from dataclasses import replace

import pytest

from balancer.topic_partition import TopicPartition
from replicator.groups.planning.failover_plan import Case, Check, GroupPlan, Level, Move, Plan
from replicator.groups.planning.knowledge import Choice, LogRange
from replicator.groups.planning.recheck import PlanStale, Recheck, Refused, recheck, request_of
from tests.replicator.groups.planning.empty_plan import EMPTY

PARTITION = TopicPartition("trades", 3)
LOGS = {PARTITION: LogRange(1000, 2000)}
MOVE = Move(
    topic="trades",
    partition=3,
    case=Case.MOVES,
    committed=1700,
    resume=1200,
    basis="exact",
    target_committed=1100,
)
PLAN = replace(
    EMPTY,
    checks=(Check("age", Level.PASS, "young"),),
    groups=(GroupPlan("orders", "west", (MOVE,), 4),),
    topics=("trades",),
    choices={"orders": 5, "idle": None},
    may_go_back=("idle",),
    target_cluster_id="east-1",
)


def fresh(*moves: Move, generation: int = 4, **fields: object) -> Plan:
    group = GroupPlan("orders", "west", moves, generation)
    return replace(PLAN, groups=(group,), **fields)


def stale(plan: Plan, now: Plan, logs=LOGS) -> list[str]:
    found = recheck(plan, now, logs)
    assert not found.blocks
    return [what for what, who in found.stale.items() if who == {"orders"}]


def test_an_unchanged_plan_may_be_applied():
    assert recheck(PLAN, fresh(MOVE), LOGS) == Recheck()
    recheck(PLAN, fresh(MOVE), LOGS).raise_if_any("p1")


def test_a_group_that_read_on_in_a_lost_region_goes_on_where_it_was_confirmed_to():
    assert recheck(PLAN, fresh(replace(MOVE, committed=1750, resume=1250)), LOGS) == Recheck()


def test_a_group_that_read_on_makes_the_plan_of_a_switchover_stale():
    planned = replace(PLAN, is_planned=True)
    now = replace(fresh(replace(MOVE, committed=1750, resume=1250)), is_planned=True)
    assert stale(planned, now) == ["read on in west"]


def test_a_group_that_went_back_would_skip_what_it_has_to_read_again():
    (reason,) = stale(PLAN, fresh(replace(MOVE, committed=100, resume=1199)))
    assert reason.startswith("went back in west")


def test_a_vector_ahead_of_a_fresh_plans_would_skip_records():
    planned = replace(
        PLAN,
        groups=(GroupPlan("orders", "west", (replace(MOVE, vector={"west": 9, "north": 5}),), 4),),
    )
    for now in ({"west": 8, "north": 5}, {"north": 5}):
        (reason,) = stale(planned, fresh(replace(MOVE, vector=now)))
        assert reason == "the planned vector is ahead of what was read in trades-3"
    assert not stale(planned, fresh(replace(MOVE, vector={"west": 10, "north": 5})))


@pytest.mark.parametrize("log", [LogRange(1201, 2000), LogRange(1000, 1199), None])
def test_a_position_outside_the_targets_log_is_not_written(log):
    # A consumer would begin at the offset that its auto.offset.reset gives.
    (reason,) = stale(PLAN, fresh(MOVE), {PARTITION: log})
    assert "no longer holds" in reason


@pytest.mark.parametrize(
    ("then", "now"),
    [
        (Case.UNCOMMITTED, Case.MOVES),
        (Case.MOVES, Case.UNCOMMITTED),
        (Case.MOVES, Case.GONE),
        (Case.CHOSEN, Case.MOVES),
    ],
)
def test_a_position_of_another_case_is_planned_anew(then, now):
    plan = replace(PLAN, groups=(GroupPlan("orders", "west", (replace(MOVE, case=then),), 4),))
    assert stale(plan, fresh(replace(MOVE, case=now))) == [f"another case in trades-3 ({now})"]


def test_a_commit_that_is_new_or_gone_is_planned_anew():
    other = replace(MOVE, partition=4)
    assert stale(PLAN, fresh(MOVE, other)) == ["another case in trades-4 (moves)"]
    assert stale(PLAN, fresh()) == ["its commits in west are gone"]


def test_a_group_that_another_plan_moved_since_makes_the_plan_stale():
    assert stale(PLAN, fresh(MOVE, generation=5)) == ["its primary region was decided anew since"]


def test_a_plan_of_another_appliance_is_found_out_by_its_cluster():
    (reason,) = stale(PLAN, fresh(MOVE, target_cluster_id="east-2"))
    assert "another cluster" in reason
    assert recheck(PLAN, fresh(MOVE, target_cluster_id=None), LOGS) == Recheck()


def test_progress_made_in_the_target_since_is_not_taken_back_unless_the_group_was_named():
    now = fresh(replace(MOVE, target_committed=1201))
    (block,) = recheck(PLAN, now, LOGS).blocks
    assert (block.name, block.level, block.groups) == ("progress", Level.BLOCK, ("orders",))
    assert recheck(replace(PLAN, may_go_back=("orders",)), now, LOGS) == Recheck()


def test_a_block_of_now_is_raised_before_staleness():
    active = Check("target activity", Level.BLOCK, "members", ("orders",))
    now = fresh(MOVE, generation=5, checks=(active,))
    with pytest.raises(Refused, match="target activity: members") as refused:
        recheck(PLAN, now, LOGS).raise_if_any("p1")
    assert refused.value.checks == (active,)


def test_where_nothing_is_known_any_more_the_check_blocks():
    unknown = replace(MOVE, case=Case.UNKNOWN, resume=None, basis="none")
    basis = Check("basis", Level.BLOCK, "nothing is known", ("orders",))
    found = recheck(PLAN, fresh(unknown, checks=(basis,)), LOGS)
    assert found == Recheck(blocks=(basis,))


def test_a_stale_plan_names_the_changes_and_their_groups():
    with pytest.raises(
        PlanStale, match="p1 is stale: its primary region was .*: orders; make a new plan"
    ):
        recheck(PLAN, fresh(MOVE, generation=5), LOGS).raise_if_any("p1")


def test_the_same_is_asked_again_for_the_groups_that_are_left():
    request = request_of(PLAN, {"orders"})
    assert (request.groups, request.topics) == (frozenset({"orders"}), frozenset({"trades"}))
    assert request.choices == {"orders": Choice(5)} and request.may_go_back == {"idle"}
    assert (request.source, request.target, request.reason) == ("west", "east", "west is lost")
