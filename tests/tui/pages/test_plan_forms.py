"""Forms that plan a move of groups: the real commands take every field."""

import pytest

from tests.tui.console.typed_actions import parsed
from tui.pages.plan_forms import ONE_REGION, plan_actions

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
