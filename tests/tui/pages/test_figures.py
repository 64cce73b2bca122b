"""Figures: unknown is "?", never 0."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
