"""Styled text of a line: only what changed is drawn again."""

from tui.console.styled_text import StyledText, changed_spans, ends, styled, styled_column


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
