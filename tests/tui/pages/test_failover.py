"""Page of the saved plans, as a value."""

from dataclasses import replace

import pytest

from tests.tui.console.snapshots import NOW, NOW_MS, empty, groups, lagging, plan_summary
from tests.tui.console.typed_actions import parsed
from tui.facts.plan_summary import PlanCheck, PlanSummary
from tui.pages.failover import FailoverPage
from tui.pages.page import Row
from tui.pages.plan import PlanPage, state_of

PAGE = FailoverPage()
PLAN = plan_summary()
BLOCKED = replace(
    PLAN,
    is_blocked=True,
    checks=(PlanCheck(name="age", result="block", text="the age of the copies is not known"),),
)
BROKEN = PlanSummary(plan_id="p9", broken="p9.json: this is not the text of a plan")


def shown(*plans, **more):
    snapshot = replace(lagging(), plans=plans, **more)
    (section,) = PAGE.sections(snapshot, NOW)
    return snapshot, section


@pytest.mark.parametrize(
    ("plan", "moved", "state"),
    [
        (PLAN, 0, "VALID"),
        (PLAN, None, "VALID"),
        (replace(PLAN, valid_until_ms=NOW_MS), 0, "EXPIRED"),
        (BLOCKED, 0, "BLOCKED"),
        (BROKEN, 0, "BROKEN"),
        (PLAN, 1, "PARTLY"),
        (PLAN, 2, "APPLIED"),
    ],
)
def test_the_state_of_a_plan_is_one_word(plan, moved, state):
    assert state_of(plan, moved, NOW) == state


def test_plans_are_shown_with_the_time_that_is_left_and_the_newest_first():
    _, section = shown(PLAN)
    texts = {
        c.title: cell.text for c, cell in zip(section.columns, section.rows[0].cells, strict=True)
    }
    assert (texts["STATE"], texts["LEFT"], texts["AGE"]) == ("VALID", "4:32", "28 s")
    assert (texts["WAY"], texts["MAPPED"], texts["REASON"]) == (
        "west:east",
        "1 of 1",
        "west lost power",
    )
    assert section.sort == ("AGE",)


def test_a_plan_whose_groups_live_by_it_was_applied():
    moved = tuple(replace(each, plan_id=PLAN.plan_id) for each in groups())
    _, section = shown(PLAN, groups=moved)
    assert section.rows[0].cells[0].text == "APPLIED"
    _, section = shown(PLAN, groups=None)
    assert section.rows[0].cells[0].text == "VALID"


def test_a_file_that_is_no_plan_says_so_and_opens_nothing():
    snapshot, section = shown(BROKEN, PLAN)
    broken, good = section.rows
    assert broken.why == BROKEN.broken and broken.is_fault
    assert BROKEN.broken in [cell.text for cell in broken.cells]
    assert len(broken.cells) == len(section.columns)
    assert PAGE.opened(snapshot, broken) is None
    assert PAGE.opened(snapshot, good) == PlanPage(PLAN.plan_id)


def test_without_plans_the_screen_says_how_to_make_one():
    assert "plan one with a key below" in shown()[1].empty
    assert PAGE.sections(empty(), NOW)[0].empty == "saved plans are not known yet"
    assert PAGE.title(empty()) == "failover   not known on this machine"


def test_applying_is_confirmed_by_the_two_regions():
    snapshot, section = shown(PLAN)
    actions = {each.key: each for each in PAGE.actions(snapshot, section.rows[0], NOW)}
    apply = actions["A"]
    assert (apply.confirmation, apply.why_off) == ("west:east", None)
    assert apply.words == ("failover", "apply", PLAN.plan_id, "--confirm", "west:east")
    assert parsed(apply)["plan"] == PLAN.plan_id and parsed(apply)["confirm"] == "west:east"
    assert parsed(actions["V"])["plan"] == PLAN.plan_id and not actions["V"].changes


def test_a_plan_of_a_switchover_is_applied_as_one():
    snapshot, section = shown(replace(PLAN, verb="switchover"))
    words = [each.words[:2] for each in PAGE.actions(snapshot, section.rows[0], NOW)[2:]]
    assert words == [("switchover", "apply"), ("switchover", "verify")]


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        (BLOCKED, "blocked by age"),
        (replace(PLAN, valid_until_ms=NOW_MS - 1), "expired"),
        (BROKEN, "no readable plan"),
    ],
)
def test_a_plan_that_cannot_be_applied_says_why(plan, why):
    snapshot, section = shown(plan)
    apply = next(it for it in PAGE.actions(snapshot, section.rows[0], NOW) if it.key == "A")
    assert why in apply.why_off


def test_without_a_plan_under_the_cursor_plans_can_still_be_made():
    whys = {each.key: each.why_off for each in PAGE.actions(shown()[0], None, NOW)}
    assert whys["P"] is None and whys["W"] is None
    assert whys["A"] == whys["V"] == "no plan under the cursor"
    assert PAGE.notes(shown()[0], Row("gone", ()), NOW) == ()


def test_the_notes_name_the_groups():
    snapshot, section = shown(PLAN)
    assert PAGE.notes(snapshot, section.rows[0], NOW) == (
        "failover west:east: west lost power",
        "groups: billing, fraud",
    )
