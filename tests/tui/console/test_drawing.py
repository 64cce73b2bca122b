"""Lines of the screen: texts, widths, columns, tables, bars."""

import unicodedata
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.geometry import Region

from tests.tui.console import snapshots
from tests.tui.console.running import running
from tui.console.bars import Hint, TopFacts, hints, hints_line, page_line, screens_line, top_line
from tui.console.built_page import built
from tui.console.keys import DEFAULT
from tui.console.keys_file import keymap_from
from tui.console.line_widget import LineWidget
from tui.console.list_page import ListPage
from tui.console.navigation import first_view
from tui.console.plain import fitted, plain, wrapped
from tui.console.styled_text import StyledText, changed_spans, ends, styled, styled_column
from tui.console.table_drawing import drawn
from tui.console.table_layout import GAP, MARGIN, Line, fitting, lines_of, scrolled
from tui.console.view_state import ViewState
from tui.pages.events import EventsPage
from tui.pages.page import Action, Cell, Column, Row, Section
from tui.pages.routes import RoutesPage

# --- Plain text: no control character gets through, and widths are exact.


@given(st.text(), st.integers(0, 40), st.booleans())
def test_a_fitted_text_has_exactly_its_width_and_no_control_character(text, width, is_right):
    found = fitted(text, width, is_right)
    assert cell_len(found) == width
    assert not any(unicodedata.category(each) in ("Cc", "Cf", "Zl", "Zp") for each in found)


@given(st.text(), st.integers(2, 30))
def test_wrapped_lines_fit_and_keep_every_word(text, width):
    lines = wrapped(text, width)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == plain(text).replace(" ", "")


def test_escapes_are_shown_as_text():
    assert plain("a\x1b[31mb") == "a\\x1b[31mb"
    assert fitted("orders\n", 10) == "orders\\n  "
    assert fitted("orders-long-name", 8) == "orders-…"
    assert fitted("7", 3, is_right=True) == "  7"


# --- Styled text of a line: only what changed is drawn again.


def test_an_unchanged_line_is_not_drawn_again():
    line = (StyledText("ab"), StyledText("cd"))
    assert changed_spans(line, line, 4) == []


def test_only_the_changed_pieces_are_drawn_again_and_neighbours_together():
    gap = StyledText("a long gap")
    old = (StyledText("aa"), StyledText("bb"), gap, StyledText("dd"))
    assert changed_spans(old, (*old[:1], StyledText("xx"), *old[2:]), 16) == [(2, 2)]
    new = (StyledText("xx"), StyledText("yy"), gap, StyledText("zz"))
    assert changed_spans(old, new, 16) == [(0, 4), (14, 2)]
    assert changed_spans(old, new, 10) == [(0, 4)]


def test_changes_with_few_cells_between_them_are_drawn_at_once():
    old = (StyledText("aa"), StyledText("  "), StyledText("bb"))
    assert changed_spans(old, (StyledText("xx"), StyledText("  "), StyledText("yy")), 6) == [(0, 6)]


def test_a_tone_that_changed_is_a_change():
    assert changed_spans((StyledText("aa"),), (StyledText("aa", "bad"),), 2) == [(0, 2)]


def test_a_line_of_another_shape_is_drawn_whole():
    assert changed_spans((StyledText("a"),), (StyledText("ab"),), 9) == [(0, 9)]
    assert changed_spans(None, (StyledText("ab"),), 9) == [(0, 9)]


def test_the_right_end_stays_and_the_left_is_cut():
    line = ends([styled("a long text")], [styled("14:02")], 10)
    assert "".join(each.text for each in line) == "a lo…14:02"
    assert sum(each.width for each in ends([styled("a")], [styled("b")], 10)) == 10


def test_pieces_of_data_hold_no_control_character():
    assert styled("\x1b[2J").text == "\\x1b[2J"
    assert styled_column("\n", 4).text == "\\n  "


# --- Widget of lines: an unchanged line is not drawn again.


class Watched(LineWidget):
    """Widget that notes which parts of it are drawn anew."""

    def __init__(self) -> None:
        self.regions: list[Region] = []
        super().__init__()

    def refresh(self, *regions: Region, **more):
        self.regions += regions
        return super().refresh(*regions, **more)


async def test_only_changed_parts_of_a_line_are_refreshed():
    async with running(snapshots.healthy()) as console:
        widget = Watched()
        await console.app.main.mount(widget)
        await console.until(lambda: widget.size.width)
        regions = widget.regions
        widget.show_lines([(StyledText("aa"), StyledText("bb"))])
        regions.clear()
        widget.show_lines([(StyledText("aa"), StyledText("bb"))])
        assert regions == []
        widget.show_lines([(StyledText("aa"), StyledText("cc"))])
        assert [tuple(region) for region in regions] == [(2, 0, 2, 1)]


async def test_lines_that_are_gone_are_drawn_blank():
    async with running(snapshots.healthy()) as console:
        widget = console.app.main.query_one("#page", LineWidget)
        widget.show_lines([])
        assert widget.render_line(0).text.strip() == ""


# --- Layout of a table: columns that fit, lines of sections, scrolling.

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


# --- Lines of a table: titles that stay, the cursor's mark, texts for what is left out.

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


# --- Bars: what the lines around a table say.

FACTS = TopFacts(
    file="appliance.toml",
    mode="READING",
    age="data 1.2 s old",
    age_tone="",
    now=snapshots.NOW,
)


def text(line) -> str:
    return "".join(piece.text for piece in line)


def test_the_top_line_names_file_mode_age_and_time():
    line = top_line(FACTS, "?", 80)
    assert text(line) == (
        " sluice  appliance.toml  READING  data 1.2 s old               14:02:31Z  ?help "
    )


def test_a_frozen_view_and_stale_data_are_words_not_only_colours():
    facts = replace(FACTS, is_frozen=True, age="STALE, data 5:00 old", age_tone="bad")
    assert "READING FROZEN  STALE, data 5:00 old" in text(top_line(facts, "?", 80))


def test_the_reason_why_nothing_newer_is_shown_is_in_the_top_line():
    facts = replace(FACTS, problem="KeyError: 'west'")
    assert "data 1.2 s old  FAILS: KeyError: 'west'" in text(top_line(facts, "?", 100))


def test_the_page_line_says_whether_the_cursor_follows_the_newest_row():
    view = first_view(EventsPage())
    page = built(view, snapshots.lagging(), snapshots.NOW)
    assert "follows  1 of 2" in text(page_line(page, view, (1, 2), 80))
    stays = replace(view, is_following=False)
    assert "does not follow  1 of 2" in text(page_line(page, stays, (1, 2), 80))
    routes = built(ViewState(page=RoutesPage()), snapshots.lagging(), snapshots.NOW)
    assert "follow" not in text(page_line(routes, view, (1, 2), 80))


def test_the_page_line_says_sort_filter_and_place():
    view = ViewState(page=RoutesPage(), filter="west", is_faults_only=True, is_wide=True)
    page = built(view.turned_round("routes"), snapshots.lagging(), snapshots.NOW)
    line = text(page_line(page, view, (1, 1), 100))
    assert "sort STATE, LAG, ROUTE, reversed" in line
    assert line.rstrip().endswith("faults only  wide  /west  1 of 1")


def test_the_current_screen_is_marked():
    line = screens_line(DEFAULT, "routes", 80)
    assert [piece.text for piece in line if piece.tone == "on"] == ["2 routes"]
    assert len(text(line)) == 80


def test_a_greyed_key_is_in_brackets_as_well():
    line = hints_line([Hint("enter", "in", True), Hint("esc", "out")], 40)
    assert text(line).strip() == "(enter in)  esc out"


def test_the_arrow_keys_come_first_where_they_push_nothing_out():
    found = hints(DEFAULT, (), is_replay=False, can_open=True)
    whole = text(hints_line(found, 80))
    assert whole.startswith(" ↑↓  enter in  esc out") and whole.rstrip().endswith("g groups")
    narrow = text(hints_line(found, 78))
    assert narrow.startswith(" enter in") and narrow.rstrip().endswith("g groups")


def test_arrow_keys_that_do_something_else_are_not_named():
    keymap = keymap_from('sort = "up"')
    assert hints(keymap, (), is_replay=False, can_open=True)[0] == Hint("enter", "in")


def test_actions_of_the_page_come_before_the_keys_of_the_console():
    pause = Action("H", "pause", ("balance", "pause"), confirmation="x")
    found = hints(DEFAULT, [(pause, "off")], is_replay=True, can_open=True)
    assert found[4] == Hint("H", "pause", True)
    assert found[5].label == "back"
