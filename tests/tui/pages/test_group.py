"""Page of one group, as a value."""

from dataclasses import replace

import pytest

from tests.tui.console.snapshots import NOW, empty, group_detail, healthy, region
from tests.tui.console.typed_actions import parsed
from tui.facts.group_view import GroupPosition, GroupView
from tui.pages.group import GroupPage, way_of
from tui.pages.page import NO_FOCUS, Focus, Row
from tui.pages.rows import faults_of, sorts_of

PAGE = GroupPage("billing", "west", "east")


def table(snapshot, page=PAGE):
    return page.sections(snapshot, NOW)[-1]


def texts(snapshot, at=0):
    found = table(snapshot)
    cells = found.rows[at].cells
    return {column.title: cell.text for column, cell in zip(found.columns, cells, strict=True)}


def test_a_partition_shows_every_region_and_where_the_group_would_resume():
    assert texts(healthy()) == {
        "TOPIC": "trades",
        "PART": "0",
        "EAST": "40",
        "WEST": "43",
        "RESUME": "40",
        "BASIS": "floor",
        "READ AGAIN": "3",
        "LAG EAST": "3",
        "LAG WEST": "2",
    }
    assert table(healthy()).heading == "resume in east, worked out 1.0 s ago"


def test_an_unknown_position_is_a_question_mark_and_a_fault():
    snapshot = replace(
        healthy(),
        group_detail=replace(
            group_detail(), positions=(GroupPosition(topic="t", partition=1, basis="unknown"),)
        ),
    )
    found = texts(snapshot)
    assert (found["WEST"], found["RESUME"], found["READ AGAIN"], found["BASIS"]) == (
        "?",
        "?",
        "?",
        "unknown",
    )
    assert faults_of(table(snapshot).rows) == [True]
    assert sorts_of(table(snapshot).rows, "RESUME", 4) == [None]


def test_no_offset_is_ever_cut():
    positions = (replace(group_detail().positions[0], resume=12_345_678_901),)
    snapshot = replace(healthy(), group_detail=replace(group_detail(), positions=positions))
    width = {column.title: column.width for column in table(snapshot).columns}["RESUME"]
    assert width == len("12,345,678,901")


def test_positions_of_the_group_that_was_on_screen_before_are_not_shown():
    other = replace(healthy(), group_detail=replace(group_detail(), group="fraud"))
    for snapshot in (other, empty()):
        found = table(snapshot)
        assert (len(found.rows), found.empty) == (0, "resume offsets are being worked out")


def test_offsets_that_are_not_worked_out_any_more_are_stale():
    old = replace(healthy(), group_detail=replace(group_detail(), worked_out_at=NOW - 40))
    assert table(old).heading == "resume in east, worked out 40 s ago, STALE"


def test_a_problem_stands_above_what_is_known_all_the_same():
    found = table(
        replace(healthy(), group_detail=replace(group_detail(), problem="Redis at x: refused"))
    )
    assert found.heading.endswith("NOT KNOWN: Redis at x: refused") and len(found.rows) == 3


def test_what_is_on_screen_is_worked_out():
    assert PAGE.focus() == Focus(group=("billing", "west", "east"))
    assert GroupPage("billing", "west").focus() == NO_FOCUS
    alone = replace(healthy(), regions=(region("west"),))
    assert "no other region" in table(alone, GroupPage("billing", "west")).empty


def test_another_target_is_opened_from_the_table_of_regions():
    three = replace(healthy(), regions=(*healthy().regions, region("north")))
    others = PAGE.sections(three, NOW)[0]
    assert [row.key for row in others.rows] == ["north"]
    assert PAGE.opened(three, others.rows[0]) == GroupPage("billing", "west", "north")
    assert PAGE.opened(three, Row("trades-0", ())) is None


def test_the_remarks_of_a_position_are_below_the_table():
    positions = (replace(group_detail().positions[0], notes=("has read all",)),)
    snapshot = replace(healthy(), group_detail=replace(group_detail(), positions=positions))
    assert PAGE.notes(snapshot, table(snapshot).rows[0], NOW) == ("has read all",)
    assert PAGE.notes(snapshot, None, NOW) == ()


def test_plans_are_about_this_group_alone():
    for action in PAGE.actions(healthy(), None, NOW):
        found = parsed(action)
        assert (found["source"], found["target"], found["groups"]) == ("west", "east", ("billing",))
    assert PAGE.title(healthy()) == "groups > billing   lives in west   west:east"


@pytest.mark.parametrize(
    ("group", "way"),
    [
        (GroupView(group="g", primary="east"), ("east", "west")),
        (GroupView(group="g", members=("west",)), ("west", "east")),
        (GroupView(group="g", lag={"west": 3}), ("west", "east")),
        (GroupView(group="g"), ("east", "west")),
    ],
)
def test_a_group_leaves_the_region_where_it_lives_or_is_active(group, way):
    assert way_of(group, healthy()) == way
