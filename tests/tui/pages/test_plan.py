"""Page of a plan, and the forms of its actions."""

from dataclasses import replace

import pytest

from tests.tui.console.snapshots import NOW, NOW_MS, groups, lagging, plan_summary
from tests.tui.console.typed_actions import parsed
from tui.facts.plan_summary import PlanCheck
from tui.pages.page import NO_FOCUS
from tui.pages.plan import PlanPage, bounded, position_row, validity
from tui.pages.plan_forms import ONE_REGION, plan_actions

# --- Page of one plan, as a value.

PLAN = plan_summary()
PAGE = PlanPage(PLAN.plan_id)


def shown(plan=PLAN, **more):
    return replace(lagging(), plans=(plan,), **more)


def test_the_verdict_comes_first_with_the_time_that_is_left():
    assert validity(PLAN, NOW) == "CAN BE APPLIED, valid for another 4:32"
    late = replace(PLAN, valid_until_ms=NOW_MS - 5000)
    assert validity(late, NOW) == "CANNOT BE APPLIED: expired 5.0 s ago; make a new plan"
    checks = (PlanCheck(name="age", result="block", text="not known"),)
    some = replace(PLAN, held_back=PLAN.groups[:1], checks=checks)
    assert validity(some, NOW) == (
        "CAN BE APPLIED to 1 of 2 groups: billing blocked by age, valid for another 4:32"
    )
    blocked = replace(PLAN, is_blocked=True, checks=checks)
    assert validity(blocked, NOW) == "CANNOT BE APPLIED: blocked by age"


def test_the_heading_has_the_age_of_the_copies_and_the_groups_that_were_moved():
    heading = PAGE.sections(shown(), NOW)[0].heading
    assert heading == "CAN BE APPLIED, valid for another 4:32   copies 0.2 s old"
    unknown = PAGE.sections(shown(replace(PLAN, age_ms=None), groups=None), NOW)[0].heading
    assert unknown.endswith("copies of unknown age   moved ? of 2 groups")
    moved = (replace(groups()[0], plan_id=PLAN.plan_id),)
    assert PAGE.sections(shown(groups=moved), NOW)[0].heading.endswith("moved 1 of 2 groups")


def test_checks_that_do_not_pass_are_never_cut():
    checks = tuple(
        PlanCheck(name=f"c{at}", result="pass" if at > 5 else "warn", text="t") for at in range(14)
    )
    section = PAGE.sections(shown(replace(PLAN, checks=checks)), NOW)[0]
    assert (section.rows_max, section.sort) == (6, ("RESULT",))
    assert [row.is_fault for row in section.rows].count(True) == 6


def test_a_position_shows_its_bounds():
    section = PAGE.sections(shown(), NOW)[1]
    texts = {
        c.title: cell.text for c, cell in zip(section.columns, section.rows[0].cells, strict=True)
    }
    assert (texts["COMMITTED"], texts["RESUME"], texts["BASIS"]) == ("43", "40", "floor")
    assert (texts["READ AGAIN"], texts["NOT REPLICATED"]) == ("<=3", ">=0")
    assert section.heading == "mapped 1 of 1, exactly 0"


def test_of_a_position_that_does_not_move_nothing_is_written_or_read_again():
    stays = replace(PLAN.positions[0], basis="gone", resume=None, read_again=None)
    cells = position_row(stays).cells
    assert [cell.text for cell in cells[4:7]] == ["-", "gone", "-"]
    unknown = replace(PLAN.positions[0], read_again=None, not_replicated=None)
    assert [cell.text for cell in position_row(unknown).cells[6:8]] == ["?", "?"]


def test_commands_print_the_bound_in_words_and_all_digits():
    many = replace(PLAN.positions[0], committed=1_204_998, read_again=1200)
    cells = position_row(many).cells
    assert (cells[3].text, cells[3].full) == ("1,204,998", "1204998")
    assert (cells[6].text, cells[6].full) == ("<=1,200", "at most 1200")


@pytest.mark.parametrize(
    ("count", "bound", "text"),
    [(3, "exact", "3"), (1200, "at most", "<=1,200"), (0, "at least", ">=0"), (None, "exact", "?")],
)
def test_an_unknown_count_is_no_number(count, bound, text):
    assert bounded(count, bound) == text


def test_positions_that_are_too_many_are_left_to_the_command():
    section = PAGE.sections(shown(replace(PLAN, positions=(), positions_count=32_000)), NOW)[1]
    assert section.empty == f"32000 positions: `sluice failover show {PLAN.plan_id}`"


def test_the_plan_is_applied_and_verified_from_its_page():
    apply, verify = PAGE.actions(shown(), None, NOW)
    assert (apply.key, apply.confirmation, apply.why_off) == ("A", "west:east", None)
    assert parsed(apply)["confirm"] == "west:east"
    assert parsed(verify)["plan"] == PLAN.plan_id


def test_a_plan_that_was_removed_says_so():
    snapshot = replace(lagging(), plans=())
    (section,) = PAGE.sections(snapshot, NOW)
    assert section.empty == "the plan is no longer saved on this machine"
    assert {each.why_off for each in PAGE.actions(snapshot, None, NOW)} == {
        "no plan under the cursor"
    }
    assert PAGE.title(snapshot) == f"failover > {PLAN.plan_id}"
    assert PAGE.notes(snapshot, None, NOW) == ()


def test_the_notes_have_the_remarks_of_a_position_and_the_reason():
    noted = replace(PLAN, positions=(replace(PLAN.positions[0], notes=("retention took 3",)),))
    snapshot = shown(noted)
    row = PAGE.sections(snapshot, NOW)[1].rows[0]
    assert PAGE.notes(snapshot, row, NOW) == ("retention took 3", "reason: west lost power")
    assert PAGE.opened(snapshot, row) is None and PAGE.focus() == NO_FOCUS


# --- Forms that plan a move of groups: the real commands take every field.

REGIONS = ("east", "west")


def both(**options):
    return {each.key: each for each in plan_actions(REGIONS, **options)}


@pytest.mark.parametrize("key", ["P", "W"])
def test_the_form_of_one_group_is_the_real_command(key):
    action = both(source="west", target="east", group="of two words")[key]
    found = parsed(action)
    assert (found["source"], found["target"]) == ("west", "east")
    assert (found["groups"], found["reason"]) == (("of two words",), "load test")
    assert not found["all_groups"]
    assert not action.changes and action.why_off is None


@pytest.mark.parametrize("key", ["P", "W"])
def test_several_groups_are_named_with_blanks_between_them(key):
    found = parsed(both()[key])
    assert found["groups"] == ("billing", "of two words")
    assert (found["source"], found["target"], found["valid_minutes"]) == ("west", "east", 5.0)


def test_all_groups_are_a_choice_of_the_form():
    found = parsed(both()["P"], **{"all groups": "yes", "groups": " "})
    assert found["all_groups"] and found["left_out"] == ("fraud",)


def test_a_switchover_waits():
    assert parsed(both()["W"], **{"wait seconds": "5"})["wait_seconds"] == 5.0


def test_an_appliance_of_one_region_has_nowhere_to_move_to():
    assert {each.why_off for each in plan_actions(("west",))} == {ONE_REGION}
