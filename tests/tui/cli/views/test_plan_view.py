"""Plans and outcomes as text for people."""

from dataclasses import replace

from replicator.groups.failover.outcome import GroupOutcome, MoveState, Outcome, Position
from replicator.groups.planning.plan import (
    Case,
    Check,
    Count,
    GroupPlan,
    Level,
    Move,
)
from tests.replicator.groups.planning.empty_plan import EMPTY
from tui.cli.views.plan_view import ROWS_MAX, outcome_text, plan_text, total

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

SHOWN = """\
CAN BE APPLIED
  plan    p1: failover of 1 group, west:east
  reason  west is lost
  made    2013-01-01 00:00:00Z, valid for another 298 s, until 2013-01-01 00:05:00Z
  mapped  1 of 1 positions, exactly 1
  copies  0.8 s old

CHECK        FOUND
age    PASS  the copies are 0.8 s old

GROUP   TOPIC   PARTITION  COMMITTED  RESUME  BASIS        READ AGAIN  NOT REPLICATED  NOTES
orders  trades          0       1700    1200  exact        17          at least 3      at the end
orders  trades          1          -       -  uncommitted  -           ?

Nothing was changed. To do it:
  sluice failover apply p1 --confirm west:east"""


def test_a_plan_begins_with_its_verdict_and_ends_with_what_to_do():
    assert plan_text(PLAN, NOW_MS, by_partition=False) == SHOWN


def test_what_blocks_a_plan_stands_in_its_first_line_and_no_command_follows():
    torn = replace(PLAN, checks=(Check("basis", Level.BLOCK, "nothing is known", ("orders",)),))
    text = plan_text(torn, NOW_MS, by_partition=False)
    assert text.startswith("CANNOT BE APPLIED: blocked by basis\n")
    assert "apply" not in text.splitlines()[-1]


def test_a_plan_that_could_not_be_saved_is_shown_and_names_no_command():
    text = plan_text(PLAN, NOW_MS, by_partition=False, is_saved=False)
    assert text.startswith("CAN") and "sluice failover apply" not in text


def test_an_expired_plan_says_since_when():
    text = plan_text(PLAN, PLAN.expires_at_ms + 60_000, by_partition=False)
    assert text.startswith("CANNOT BE APPLIED: expired")
    assert "expired 60 s ago" in text


def test_unknown_ages_are_not_shown_as_none():
    assert "copies  of unknown age" in plan_text(
        replace(PLAN, age_ms=None), NOW_MS, by_partition=False
    )


def test_a_long_plan_is_shown_by_group_unless_asked_otherwise():
    moves = tuple(replace(MOVE, partition=number) for number in range(ROWS_MAX))
    long = replace(PLAN, groups=(GroupPlan("orders", None, (*moves, IDLE)),))
    short = plan_text(long, NOW_MS, by_partition=False)
    assert f"orders  -                41     40      0      1  {17 * ROWS_MAX}" in short
    assert "--partitions" in short
    assert len(plan_text(long, NOW_MS, by_partition=True).splitlines()) > 41


def test_counts_are_added_up_with_their_bounds():
    assert total([Count(1), Count(2)]) == "3"
    assert total([Count(1), Count(2, "at most")]) == "at most 3"
    assert total([Count(1), None]) is None


def outcome(*standings: MoveState) -> Outcome:
    at = Position("trades", 0, None, 1200, 1200)
    groups = (
        GroupOutcome(f"group-{number}", each, "" if each.is_done else "it has members", (at,))
        for number, each in enumerate(standings)
    )
    return Outcome("p1", "west", "east", tuple(groups))


def test_an_outcome_names_first_who_is_not_done_and_shows_before_and_after():
    text = outcome_text(outcome(MoveState.WRITTEN, MoveState.OPEN), by_partition=False)
    assert text.splitlines()[:4] == [
        "PARTLY DONE: plan p1: 1 of 2 groups go on in east",
        "",
        "GROUP    IS           POSITIONS  WHY",
        "group-1  not written          1  it has members",
    ]
    assert "group-0  trades          0  -          1200  1200" in text


def test_an_outcome_says_in_its_first_word_how_it_ended():
    def first(*standings: MoveState) -> str:
        return outcome_text(outcome(*standings), by_partition=False).split(":")[0]

    assert first(MoveState.WRITTEN, MoveState.MOVED_ON) == "DONE"
    assert first(MoveState.OPEN) == "NOT DONE"
    assert first(MoveState.WRITTEN, MoveState.UNKNOWN) == "NOT KNOWN"
