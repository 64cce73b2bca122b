"""Page in place of one that failed."""

from tests.tui.console import snapshots
from tui.console.built_page import failed_page, failed_row
from tui.pages.page import NO_FOCUS, Row

EMPTY = snapshots.empty()
PAGE = failed_page("alerts", ValueError("year 29402 is out of range"))


def test_it_says_the_error_and_nothing_else():
    (section,) = PAGE.sections(EMPTY, 0.0)
    assert section.rows == ()
    assert section.empty == (
        "cannot be shown, please report it: ValueError: year 29402 is out of range"
    )
    assert PAGE.name == "alerts"
    assert PAGE.title(EMPTY) == "alerts   cannot be shown"
    assert PAGE.opened(EMPTY, Row("x", ())) is None
    assert (PAGE.actions(EMPTY, None, 0.0), PAGE.notes(EMPTY, None, 0.0)) == ((), ())
    assert PAGE.focus() == NO_FOCUS


def test_a_row_that_cannot_be_made_has_its_error_below_the_table():
    row = failed_row("key", 3, KeyError("level"))
    assert [cell.text for cell in row.cells] == ["!", "!", "!"]
    assert row.is_fault and "KeyError: 'level'" in row.why
