"""An attempt's notes explain what the target shows, and never overrule it for the better."""

import pytest

from replicator.groups.failover.attempt import Attempt
from replicator.groups.failover.outcome import GroupOutcome, MoveState


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
