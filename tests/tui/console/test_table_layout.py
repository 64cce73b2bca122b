"""Layout of a table: columns that fit, lines of sections, scrolling."""

from hypothesis import given
from hypothesis import strategies as st

from tests.tui.console import snapshots
from tui.console.built_page import built
from tui.console.list_page import ListPage
from tui.console.table_layout import GAP, MARGIN, Line, fitting, lines_of, scrolled
from tui.console.view_state import ViewState
from tui.pages.page import Cell, Column, Row, Section

COLUMNS = (
    Column("STATE", 7),
    Column("NAME", 10, priority=2, grows=True),
    Column("LAG", 6, priority=1),
    Column("RATE", 6, priority=3),
    Column("EXTRA", 5, priority=4, is_wide=True),
)


def titles(width: int, **view) -> list[str]:
    return [COLUMNS[at].title for at, _ in fitting(COLUMNS, width, **view)]


def test_columns_of_the_highest_priority_number_go_first_and_the_state_never():
    assert titles(36) == ["STATE", "NAME", "LAG", "RATE"]
    assert titles(35) == ["STATE", "NAME", "LAG"]
    assert titles(25) == ["STATE", "LAG"]
    assert titles(12) == ["STATE"]
    assert fitting(COLUMNS, 5) == [(0, 4)]


def test_wide_columns_are_shown_where_there_is_room_or_asked_for():
    assert "EXTRA" in titles(60)
    assert titles(36, is_wide=True) == ["STATE", "NAME", "LAG", "RATE"]
    assert titles(36, is_wide=True, shift=1) == ["STATE", "LAG", "RATE", "EXTRA"]


def test_room_that_is_left_goes_to_columns_that_grow():
    assert dict(fitting(COLUMNS, 50))[1] > 10


@given(st.integers(1, 200), st.booleans(), st.integers(0, 9))
def test_a_layout_is_never_wider_than_the_terminal_and_keeps_the_state(width, is_wide, shift):
    found = fitting(COLUMNS, width, is_wide, shift)
    assert found[0][0] == 0
    if width >= MARGIN + 1:
        assert MARGIN + sum(size for _, size in found) + GAP * (len(found) - 1) <= width


def page(*counts: int):
    sections = tuple(
        Section(
            f"s{number}",
            (Column("N", 4),),
            [Row(str(at), (Cell(str(at)),)) for at in range(count)],
            heading="HEADING" if number else "",
        )
        for number, count in enumerate(counts)
    )
    return built(ViewState(page=ListPage("", sections)), snapshots.empty(), 0.0)


def test_lines_are_headings_titles_rows_and_texts_for_no_rows():
    lines = lines_of(page(2, 0, 1))
    kinds = [found[0] for line in range(lines.count) if (found := lines.at(line))]
    assert kinds == [
        Line.TITLES, Line.ROW, Line.ROW,
        Line.HEADING, Line.TITLES, Line.EMPTY,
        Line.HEADING, Line.TITLES, Line.ROW,
    ]  # fmt: skip
    assert lines.at(9) is None
    assert [lines.row_at(line) for line in (0, 1, 2, 5, 8)] == [None, 0, 1, None, 2]
    assert [lines.line_of(row) for row in (0, 1, 2)] == [1, 2, 8]


@given(st.integers(2, 60), st.integers(0, 400), st.integers(0, 299))
def test_the_cursor_is_always_visible_below_the_column_titles(height, top, row):
    lines = lines_of(page(100, 100, 100))
    found = scrolled(lines, top, height, row)
    line = lines.line_of(row)
    assert found <= line < found + height
    span = lines.span(line)
    assert found <= span.titles_line or line > found or height < 2
