"""Rows and cells of pages: figures, ages, states."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.console import snapshots
from tui.facts.health import Health
from tui.facts.part import Part
from tui.pages.ages import age_text, data_age
from tui.pages.figures import (
    count_cell,
    duration,
    megabytes,
    megabytes_cell,
    number_cell,
    per_second,
    seconds,
    seconds_cell,
    short,
    sparkline,
    whole,
    whole_cell,
)
from tui.pages.page import NO_FOCUS, Action, Cell, Column, Focus, Row
from tui.pages.rows import LazyRows, faults_of, keys_of, sorts_of, texts_of
from tui.pages.states import TONES, is_fault, state_cell

# --- Parts of a page.


def test_an_action_changes_something_if_it_is_confirmed():
    assert Action("H", "pause", (), confirmation="x").changes
    assert not Action("P", "plan", ()).changes


def test_nothing_is_asked_for_without_a_focus():
    assert Focus(topic=None, group=None) == NO_FOCUS


# --- Rows of a long table: made only when looked at.


def made(count: int = 10):
    calls: list[int] = []

    def make(item: int) -> Row:
        calls.append(item)
        return Row(str(item), (Cell(str(item), sort=item),))

    rows = LazyRows(
        items=range(count),
        make=make,
        key=str,
        sorts={"N": lambda item: -item},
        is_fault=lambda item: item == 3,
        text=lambda item: f"number {item}",
    )
    return rows, calls


def test_sorting_and_filtering_make_no_row():
    rows, calls = made()
    assert keys_of(rows)[:2] == ["0", "1"]
    assert sorts_of(rows, "N", 0)[9] == -9
    assert faults_of(rows).index(True) == 3
    assert texts_of(rows, ())[4] == "number 4"
    assert calls == []


def test_only_the_row_looked_at_is_made():
    rows, calls = made(10_000)
    assert rows[7].key == "7"
    assert [row.key for row in rows[2:4]] == ["2", "3"]
    assert calls == [7, 2, 3]
    assert len(rows) == len(list(rows)) == 10_000


def test_plain_rows_give_the_same():
    rows = [Row("a", (Cell("x", sort="x"),), is_fault=True, why="w"), Row("b", (Cell("y"),))]
    assert keys_of(rows) == ["a", "b"]
    assert faults_of(rows) == [True, False]
    assert texts_of(rows, (Column("X", 1),)) == ["x w", "y "]
    assert sorts_of(rows, "X", 0) == ["x", None]


def test_a_filter_looks_through_what_is_drawn():
    columns = Column("X", 1), Column("KEY", 3, is_printed_only=True)
    assert texts_of([Row("a", (Cell("x"), Cell("key")), why="w")], columns) == ["x w"]


# --- States as cells: the worst first.


def test_the_worst_state_sorts_first_and_every_state_has_a_tone():
    assert [state_cell(state).sort for state in Health] == list(range(len(Health)))
    assert set(TONES) == set(Health)


def test_all_but_ok_is_a_fault():
    assert [state for state in Health if not is_fault(state)] == [Health.OK]


# --- Ages: of the oldest answer, STALE after three cadences.

NOW = snapshots.NOW


def test_the_age_is_that_of_the_oldest_answer():
    assert data_age(snapshots.healthy(), NOW).text == "data 1.2 s old"


def test_a_part_older_than_three_cadences_makes_the_data_stale():
    assert data_age(snapshots.stale(), NOW).text == "STALE, data 5:00 old"
    assert data_age(snapshots.stale(), NOW).tone == "bad"


def test_topic_lists_count_only_when_they_are_stale():
    found = snapshots.healthy()
    listed = Part(server="east regional", about="topics", asked_at=NOW - 58, cadence_seconds=30.0)
    partly = replace(found, parts=(*found.parts, listed))
    assert data_age(partly, NOW).text == "data 1.2 s old"
    assert data_age(partly, NOW + 40).text == "STALE, data 1:38 old"
    assert data_age(replace(found, parts=(listed,)), NOW).text == "data 58 s old"


def test_no_answer_is_not_taken_for_a_fresh_one():
    assert data_age(snapshots.empty(), NOW).text == "no answer yet"
    found = snapshots.healthy()
    partly = replace(found, parts=(*found.parts, *snapshots.empty().parts[:2]))
    assert data_age(partly, NOW).text == "data 1.2 s old, 2 not yet"


def test_a_question_that_is_refused_is_not_awaited():
    found = snapshots.healthy()
    refused = Part(server="east Redis", about="cards", problem="east Redis: NOPERM")
    partly = replace(found, parts=(*found.parts, refused))
    assert data_age(partly, NOW).text == "data 1.2 s old, 1 refused"
    both = replace(found, parts=(*partly.parts, replace(refused, problem=None)))
    assert data_age(both, NOW).text == "data 1.2 s old, 1 refused, 1 not yet"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-1, "0.0 s"), (1.24, "1.2 s"), (34.9, "34 s"), (302, "5:02"), (11_520, "3 h 12 min"),
     (187_300, "2 d 4 h"), (float("inf"), "?"), (float("nan"), "?")],
)  # fmt: skip
def test_ages_for_people(seconds, text):
    assert age_text(seconds) == text


# --- Figures: unknown is "?", never 0.


@pytest.mark.parametrize(
    ("number", "text"),
    [(None, "?"), (0, "0"), (999, "999"), (8697, "8.7k"), (47_100, "47.1k"), (1_204_998, "1.2M")],
)
def test_short_counts(number, text):
    assert short(number) == text


def test_times_and_rates():
    assert [seconds(each) for each in (None, 0.05, 12.34, 340.2)] == ["?", "0.1", "12.3", "340"]
    assert [duration(each) for each in (None, 40, 300, 10_800, 900_000)] == [
        "?",
        "40 s",
        "5 min",
        "3 h",
        "10 d",
    ]
    assert [per_second(each) for each in (None, 0.0, -0.2, 120, -3400)] == [
        "?",
        "0/s",
        "0/s",
        "+120/s",
        "-3.4k/s",
    ]
    assert (megabytes(None), megabytes(8_800_000), whole(1_204_998)) == ("?", "8.8", "1,204,998")


def test_a_cell_of_an_unknown_number_sorts_worst():
    cell = number_cell("?", None)
    assert (cell.sort, cell.tone) == (None, "warn")


def test_a_sparkline_shows_the_largest_of_each_group_and_marks_what_is_unknown():
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7], 8) == "▁▂▃▄▅▆▇█"
    assert sparkline([None, None, 7, None, 7], 5) == "  █?█"
    assert sparkline([0, 7, 0, 0], 2) == "█▁"
    assert sparkline([], 4) == "    "
    assert sparkline([None], 4) == "    "


@given(st.lists(st.none() | st.floats(0, 1e12), max_size=70), st.integers(1, 20))
def test_a_sparkline_has_its_width(values, width):
    assert len(sparkline(values, width)) == width


def test_cells_of_figures_keep_all_digits_for_where_there_is_room() -> None:
    lag, offset, late, rate = count_cell(47_103), whole_cell(1_204_998), seconds_cell(340.25), 1.5
    assert (lag.text, lag.full, lag.sort) == ("47.1k", "47103", 47_103)
    assert (offset.text, offset.full) == ("1,204,998", "1204998")
    assert (late.text, late.full, count_cell(rate).full) == ("340", "340.2", "1.5")
    assert (megabytes_cell(8_812_345).text, megabytes_cell(8_812_345).full) == ("8.8", "8.812345")
    cells = (count_cell, whole_cell, seconds_cell, megabytes_cell)
    assert {(cell(None).text, cell(None).full, cell(None).tone) for cell in cells} == {
        ("?", "?", "warn")
    }
