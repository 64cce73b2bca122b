"""Outcomes of a plan, the positions that it writes, and notes on an attempt."""

from dataclasses import replace

import pytest

from balancer.topic_partition import TopicPartition
from replicator.groups.failover.attempt import Attempt
from replicator.groups.failover.outcome import (
    GroupOutcome,
    MoveState,
    Outcome,
    PositionOutcome,
    beside,
    is_of,
    outcome_of,
    planned,
    state_of,
)
from replicator.groups.failover.positions import Writable, missing, writable
from replicator.groups.membership.primary_region import PrimaryRegion
from replicator.groups.planning.failover_plan import Case, Check, GroupPlan, Level, Move
from replicator.groups.planning.knowledge import LogRange
from replicator.groups.progress.vector_metadata import committed_text, encode
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from tests.replicator.groups.planning.empty_plan import EMPTY

# -- Outcomes of a plan are judged by the target alone.

PARTITION = TopicPartition("trades", 3)
MOVE = Move(
    topic="trades",
    partition=3,
    case=Case.MOVES,
    committed=1700,
    resume=1200,
    vector={"west": 9},
    target_committed=1100,
)
STAYS = Move(topic="trades", partition=4, case=Case.UNCOMMITTED, committed=None)
GROUP = GroupPlan("orders", "west", (MOVE, STAYS), 4)
PLAN = replace(
    EMPTY,
    groups=(GROUP,),
)
OURS = PrimaryRegion("orders", "east", 5, 7, "ann", "west is lost", "p1", "west")
METADATA = committed_text({"west": 9})


def test_offsets_are_written_with_the_vector_beside_them():
    assert planned(GROUP) == {PARTITION: OffsetAndMetadata(1200, METADATA)}


def test_a_group_that_a_check_of_the_plan_blocks_is_not_written_and_says_why():
    basis = Check("basis", Level.BLOCK, "nothing is known: orders", ("orders",))
    plan = replace(PLAN, checks=(basis,))
    found = outcome_of(plan, GROUP, None, {}, {})
    assert found.state is MoveState.OPEN
    assert "blocked by basis" in found.why and "make a new plan" in found.why
    elsewhere = replace(OURS, plan_id="p2")
    assert outcome_of(plan, GROUP, elsewhere, {}, {}).state is MoveState.OVERTAKEN


def test_a_vector_that_no_broker_takes_is_left_out():
    regions = {f"region-{number}": number for number in range(1000)}
    group = replace(GROUP, moves=(replace(MOVE, vector=regions),))
    assert planned(group) == {PARTITION: OffsetAndMetadata(1200, "")}


@pytest.mark.parametrize(
    ("found", "state"),
    [
        (1200, MoveState.MOVED_ON),
        (1100, MoveState.OPEN),
        (None, MoveState.OPEN),
        (1201, MoveState.MOVED_ON),
        (1150, MoveState.OVERTAKEN),
    ],
)
def test_the_state_of_a_position_follows_from_its_commits_before_and_now(found, state):
    held = None if found is None else OffsetAndMetadata(found, "")
    assert state_of(MOVE, held) is state
    after = {} if held is None else {PARTITION: held}
    assert outcome_of(PLAN, GROUP, OURS, {}, after).state is state


@pytest.mark.parametrize(
    ("vector", "state"),
    [
        ({"west": 9}, MoveState.AS_PLANNED),
        ({"west": 10, "east": 1}, MoveState.AS_PLANNED),
        ({"west": 4}, MoveState.OPEN),
        ({"west": 3}, MoveState.OPEN),
        ({}, MoveState.MOVED_ON),
    ],
)
def test_where_the_offset_is_as_planned_the_vector_decides(vector, state):
    # The offset sync left an older vector here just before it stopped.
    move = replace(MOVE, target_committed=1200, target_vector={"west": 4})
    assert state_of(move, OffsetAndMetadata(1200, encode(vector) if vector else "")) is state


def test_a_vector_that_claims_more_than_was_planned_is_open_as_long_as_it_stood_there_before():
    # The vector is from before the group was rewound: a helper that trusted it would skip records.
    move = replace(MOVE, target_committed=1200, target_vector={"west": 99})
    assert state_of(move, OffsetAndMetadata(1200, encode({"west": 99}))) is MoveState.OPEN
    plain = replace(MOVE, target_committed=1200)
    assert state_of(plain, OffsetAndMetadata(1200, "")) is MoveState.OPEN


def test_a_named_group_that_goes_back_is_open_as_long_as_it_has_not_moved():
    back = replace(MOVE, target_committed=1300)
    assert state_of(back, OffsetAndMetadata(1300, "")) is MoveState.OPEN
    assert state_of(back, OffsetAndMetadata(1301, "")) is MoveState.MOVED_ON


def test_a_group_that_never_committed_is_done_with_its_record():
    assert outcome_of(PLAN, replace(GROUP, moves=()), OURS, {}, {}).state is MoveState.AS_PLANNED


def test_without_a_record_of_this_plan_a_group_was_not_moved_by_it():
    held = {PARTITION: OffsetAndMetadata(1200, METADATA)}
    assert outcome_of(PLAN, GROUP, None, None, held).state is MoveState.OPEN
    before = replace(OURS, generation=4, plan_id="p0")
    assert outcome_of(PLAN, GROUP, before, None, held).state is MoveState.OPEN
    after = replace(OURS, generation=6, region="north", plan_id="p2", why="drill")
    found = outcome_of(PLAN, GROUP, after, None, held)
    assert found.state is MoveState.OVERTAKEN
    assert found.why == "lives in north since, by plan p2: drill"
    assert not is_of(after, PLAN) and is_of(OURS, PLAN)


def test_commits_that_could_not_be_read_are_unknown():
    found = outcome_of(PLAN, GROUP, OURS, {PARTITION: OffsetAndMetadata(1100, "")}, None)
    assert found.state is MoveState.UNKNOWN
    assert found.positions == (PositionOutcome("trades", 3, 1100, 1200, None),)


def test_an_outcome_lists_the_groups_that_are_done_and_the_others():
    done = outcome_of(PLAN, GROUP, OURS, {}, {PARTITION: OffsetAndMetadata(1200, METADATA)})
    open_one = replace(outcome_of(PLAN, GROUP, None, {}, {}), group="billing")
    outcome = Outcome("p1", "west", "east", (done, open_one))
    assert (outcome.done, outcome.not_done, outcome.is_known) == (("orders",), ("billing",), True)
    values = outcome.as_values()
    assert (values["done"], values["not_done"]) == (["orders"], ["billing"])
    assert values["groups"][0]["standing"] == "as planned"
    assert values["groups"][0]["positions"] == [
        {"topic": "trades", "partition": 3, "before": None, "resume": 1200, "after": 1200}
    ]


TIMES = "AgAAAZNy3kAAAAAA"
TIMED = replace(MOVE, metadata=TIMES)


def test_an_applications_metadata_is_written_as_it_is_with_the_vector_beside_it():
    group = replace(GROUP, moves=(TIMED, STAYS))
    assert planned(group) == {PARTITION: OffsetAndMetadata(1200, TIMES)}
    assert beside(group, {}, planned(group)) == {PARTITION: OffsetAndMetadata(1200, METADATA)}
    assert beside(GROUP, {}, planned(GROUP)) == {}
    # Retention took some records since the plan was made.
    raised = {PARTITION: OffsetAndMetadata(1230, TIMES)}
    assert beside(group, {}, raised) == {PARTITION: OffsetAndMetadata(1230, METADATA)}


def test_a_vector_is_written_beside_a_commit_that_is_as_planned_and_beside_no_other():
    group = replace(GROUP, moves=(TIMED, STAYS))
    vector = {PARTITION: OffsetAndMetadata(1200, METADATA)}
    assert beside(group, planned(group), {}) == vector
    for moved_on in (OffsetAndMetadata(1300, TIMES), OffsetAndMetadata(1200, "newer times")):
        assert beside(group, {PARTITION: moved_on}, {}) == {}


@pytest.mark.parametrize(
    ("held", "found", "state"),
    [
        ((1100, ""), TIMES, MoveState.AS_PLANNED),
        ((1100, ""), "AgAAAZNy3kEAAAAA", MoveState.MOVED_ON),
        ((1100, ""), "", MoveState.MOVED_ON),
        # As it was when the plan was made, by an older version or with older times.
        ((1200, ""), "", MoveState.OPEN),
        ((1200, ""), METADATA, MoveState.OPEN),
        ((1200, "older"), "older", MoveState.OPEN),
        ((1200, "older"), "newer", MoveState.MOVED_ON),
    ],
)
def test_a_position_at_the_planned_offset_is_judged_by_the_applications_metadata(
    held, found, state
):
    move = replace(TIMED, target_committed=held[0], target_metadata=held[1])
    assert state_of(move, OffsetAndMetadata(1200, found)) is state


# -- Only positions that are open are written, and only into logs that hold them.

OTHER = TopicPartition("trades", 7)
BOTH = replace(GROUP, moves=(MOVE, replace(MOVE, partition=7)))
WANTED = planned(BOTH)


def test_everything_that_differs_is_written_for_a_group_that_was_not_begun():
    assert missing(BOTH, {}, is_begun=False) == WANTED
    before = {PARTITION: OffsetAndMetadata(5000), OTHER: WANTED[OTHER]}
    assert missing(BOTH, before, is_begun=False) == {PARTITION: WANTED[PARTITION]}


def test_what_the_consumers_of_a_begun_group_have_committed_is_not_taken_back():
    before = {PARTITION: OffsetAndMetadata(5000)}
    assert missing(BOTH, before, is_begun=True) == {OTHER: WANTED[OTHER]}


def test_a_begun_group_with_a_commit_before_the_planned_one_is_left_alone():
    before = {PARTITION: OffsetAndMetadata(1150)}
    assert missing(BOTH, before, is_begun=True) == {}


def test_a_position_that_the_log_holds_is_written_as_planned():
    logs = dict.fromkeys(WANTED, LogRange(0, 1200))
    assert writable(WANTED, logs, "east") == Writable(WANTED)


@pytest.mark.parametrize("log", [None, LogRange(0, 1199)])
def test_nothing_is_written_where_one_log_does_not_hold_its_position(log):
    found = writable(WANTED, {PARTITION: LogRange(0, 2000), OTHER: log}, "east")
    assert found.positions == {}
    assert "east does not hold offset 1200 of trades-7" in found.obstacle


def test_a_position_that_retention_took_is_raised_to_the_logs_start():
    logs = {PARTITION: LogRange(1250, 2000), OTHER: LogRange(0, 2000)}
    found = writable(WANTED, logs, "east")
    assert found.positions[PARTITION] == OffsetAndMetadata(1250, WANTED[PARTITION].metadata)
    assert found.positions[OTHER] == WANTED[OTHER]
    assert "took up to 50 unread offsets" in found.remark


# -- An attempt's notes explain what the target shows, and never overrule it for the better.


def found(state: MoveState, why: str = "") -> GroupOutcome:
    return GroupOutcome("orders", state, why)


def test_the_first_reason_for_a_group_counts():
    attempt = Attempt()
    attempt.note(["orders"], MoveState.OPEN, "it has members")
    attempt.note(["orders", "bills"], MoveState.UNKNOWN, "no answer")
    assert attempt.judged(found(MoveState.OPEN), "").why == "it has members"
    assert attempt.obstacles["bills"] == (MoveState.UNKNOWN, "no answer")


def test_only_a_group_whose_offsets_were_sent_was_written_by_this_attempt():
    attempt = Attempt(sent={"orders"})
    assert attempt.judged(found(MoveState.AS_PLANNED), "").state is MoveState.WRITTEN
    assert Attempt().judged(found(MoveState.AS_PLANNED), "").state is MoveState.AS_PLANNED


def test_a_position_raised_by_retention_is_remarked_on():
    attempt = Attempt(remarks={"orders": "retention took 50"}, sent={"orders"})
    judged = attempt.judged(found(MoveState.MOVED_ON), "")
    assert (judged.state, judged.why) == (MoveState.WRITTEN, "retention took 50")
    assert attempt.judged(found(MoveState.OPEN, "not written"), "").why == "not written"


def test_what_was_sent_and_not_read_back_is_unknown():
    judged = Attempt(sent={"orders"}).judged(found(MoveState.UNKNOWN), "east: no answer")
    assert judged.state is MoveState.UNKNOWN
    assert "could not be read back: east: no answer" in judged.why


@pytest.mark.parametrize("state", [MoveState.UNKNOWN, MoveState.OVERTAKEN])
def test_no_note_overrules_another_plan_or_a_missing_answer(state):
    attempt = Attempt({"orders": (MoveState.OPEN, "it has members")}, sent={"orders"})
    assert attempt.judged(found(state), "away").state is state


def test_commits_of_members_that_prevented_the_write_are_not_the_plans_positions():
    attempt = Attempt({"orders": (MoveState.OPEN, "it has members")})
    assert attempt.judged(found(MoveState.MOVED_ON), "").state is MoveState.MOVED_ON
    attempt.sent.add("orders")
    assert attempt.judged(found(MoveState.MOVED_ON), "").state is MoveState.OPEN
    assert attempt.judged(found(MoveState.AS_PLANNED), "").state is MoveState.AS_PLANNED
