"""Page of all groups, as a value."""

from dataclasses import replace

import pytest

from tests.tui.console.snapshots import NOW, NOW_MS, empty, groups, healthy, lagging, region_gone
from tests.tui.console.typed_actions import parsed
from tui.facts.group_view import GroupView
from tui.pages.group import GroupPage
from tui.pages.groups import GroupsPage, is_fault, row_of, state_of
from tui.pages.page import NO_FOCUS, Row
from tui.pages.rows import faults_of, keys_of, sorts_of

BILLING, FRAUD = groups()
PAGE = GroupsPage()
REGIONS = ("east", "west")


def section(snapshot, page=PAGE):
    (found,) = page.sections(snapshot, NOW)
    return found


@pytest.mark.parametrize(
    ("group", "state"),
    [
        (BILLING, "in place"),
        (FRAUD, "ACTIVE TWICE"),
        (replace(FRAUD, members=("west",), is_active_twice=False), "OUT OF PLACE"),
        (replace(BILLING, members=()), "no members"),
        (replace(BILLING, unknown=("east",)), "?"),
        (GroupView(group="g", members=("east",)), "?"),
        (GroupView(group="g", has_record=False, members=("east", "west")), "any region"),
    ],
)
def test_the_state_of_a_group_is_said_in_words(group, state):
    assert state_of(group) == state
    assert row_of(group, REGIONS).cells[0].text == state


def test_groups_out_of_place_of_unknown_members_or_with_old_copies_are_faults():
    assert not is_fault(BILLING, 2)
    for more in (
        {"is_out_of_place": True},
        {"unknown": ("east",)},
        {"copies_age_seconds": 61.0},
        {"copies_age_seconds": None},
    ):
        assert is_fault(replace(BILLING, **more), 2)
    assert not is_fault(replace(BILLING, copies_age_seconds=None), 1)


def test_each_region_has_a_column_of_lag_and_unknown_lag_is_no_number():
    found = section(lagging())
    titles = [column.title for column in found.columns]
    assert "LAG EAST" in titles and "LAG WEST" in titles
    at = titles.index("LAG WEST")
    assert [found.rows[row].cells[at].text for row in range(2)] == ["2", "?"]
    assert sorts_of(found.rows, "LAG WEST", at) == [2, None]
    assert (keys_of(found.rows), faults_of(found.rows)) == (["billing", "fraud"], [False, True])


@pytest.mark.parametrize("title", [column.title for column in section(lagging()).columns])
def test_every_column_sorts_by_the_value_of_its_cells(title):
    found = section(lagging())
    at = [column.title for column in found.columns].index(title)
    assert len(sorts_of(found.rows, title, at)) == 2
    assert len(found.rows[0].cells) == len(found.columns)


def test_before_any_answer_groups_are_not_known():
    assert section(empty()).empty == "groups are not known yet"
    assert PAGE.title(empty()) == "groups   not known"
    assert section(replace(healthy(), groups=())).empty == "no group is known"


def test_groups_of_a_topic_are_those_that_have_committed_on_it():
    page = GroupsPage.for_row(Row("x", (), topic="trades"))
    assert keys_of(section(lagging(), page).rows) == ["billing"]
    assert page.title(lagging()) == "groups > trades   1 group"
    none = section(lagging(), GroupsPage("clicks-2"))
    assert none.empty == "no group has committed on clicks-2"


def test_lags_that_are_stale_are_named_with_their_age():
    assert section(lagging()).heading == ""
    assert section(region_gone()).heading == "group lag of west aggregate 1:22 old, STALE"


def test_enter_opens_the_group_on_its_way_out_of_the_region_that_it_lives_in():
    snapshot = lagging()
    rows = section(snapshot).rows
    assert PAGE.opened(snapshot, rows[0]) == GroupPage("billing", "west", "east")
    assert PAGE.opened(snapshot, rows[1]) == GroupPage("fraud", "east", "west")
    assert PAGE.opened(snapshot, Row("gone", ())) is None
    assert PAGE.focus() == NO_FOCUS


def test_a_plan_of_the_group_under_the_cursor_begins_with_its_way():
    snapshot = lagging()
    plan = PAGE.actions(snapshot, section(snapshot).rows[0], NOW)[0]
    found = parsed(plan)
    assert (found["source"], found["target"], found["groups"]) == ("west", "east", ("billing",))
    assert parsed(PAGE.actions(snapshot, None, NOW)[0])["groups"] != ("billing",)


def test_the_notes_say_who_decided_where_a_group_lives_and_why():
    snapshot = replace(healthy(), groups=(replace(BILLING, plan_id="p1"),))
    (note,) = PAGE.notes(snapshot, section(snapshot).rows[0], NOW)
    assert note == (
        "billing lives in west since 2026-11-21 12:32:31Z by alice@ops: the bank is in the west "
        "(plan p1)"
    )
    undecided = replace(BILLING, decided_at_ms=None)
    assert PAGE.notes(replace(snapshot, groups=(undecided,)), Row("billing", ()), NOW) == []
    assert NOW_MS == NOW * 1000
