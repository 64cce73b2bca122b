"""Lines of a table: titles that stay, the cursor's mark, texts for what is left out."""

from dataclasses import replace

from tests.tui.console import snapshots
from tui.console.built_page import built
from tui.console.list_page import ListPage
from tui.console.table_drawing import drawn
from tui.console.table_layout import lines_of
from tui.console.view_state import ViewState
from tui.pages.page import Cell, Column, Row, Section

ROWS = [Row(str(at), (Cell(f"row {at}", "bad", at), Cell(str(at), sort=at))) for at in range(20)]
SECTION = Section("s", (Column("NAME", 8), Column("N", 4, is_right=True)), ROWS, sort=("-N",))
VIEW = ViewState(page=ListPage("", (SECTION,)))


def texts(view: ViewState, top: int = 0, height: int = 5, cursor: int = 0) -> list[str]:
    lines = lines_of(built(view, snapshots.empty(), 0.0))
    found = drawn(lines, top, height, 30, cursor)
    return ["".join(piece.text for piece in line).rstrip() for line in found]


def test_the_titles_stay_while_rows_are_scrolled_below_them():
    assert texts(VIEW)[0].split() == ["NAME", "▼N"]
    assert texts(VIEW, top=9)[0].split() == ["NAME", "▼N"]
    assert texts(VIEW, top=9)[1].split() == ["row", "10", "10"]


def test_the_cursor_has_a_mark_besides_its_colour():
    assert texts(VIEW, cursor=1)[2].startswith("›row 18")
    assert texts(VIEW, cursor=1)[1].startswith(" row 19")


def test_the_arrow_turns_with_the_order():
    assert "▲N" in texts(VIEW.turned_round("s"))[0]


def test_rows_left_out_are_told():
    section = replace(SECTION, rows_max=2)
    view = ViewState(page=ListPage("", (section, section)))
    assert "18 more rows" in texts(view, height=9)[3]
    assert "none of 20 rows is shown" in texts(replace(VIEW, filter="nothing"))[1]
    empty = ViewState(page=ListPage("", (replace(SECTION, rows=[], empty="no routes"),)))
    assert texts(empty)[1].strip() == "no routes"


def test_every_line_has_the_width_of_the_terminal():
    lines = lines_of(built(VIEW, snapshots.empty(), 0.0))
    assert {sum(p.width for p in line) for line in drawn(lines, 0, 9, 37, 2)} == {37}
