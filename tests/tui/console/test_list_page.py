"""Page of a list."""

from tests.tui.console import snapshots
from tui.console.list_page import ListPage
from tui.pages.page import NO_FOCUS, Row, Section


def test_a_list_has_its_sections_and_nothing_else():
    section = Section("s", (), [])
    page, empty = ListPage("heading", (section,)), snapshots.empty()
    assert (page.name, page.title(empty)) == ("list", "heading")
    assert page.sections(empty, 0.0) == (section,)
    assert page.opened(empty, Row("a", ())) is None
    assert (page.actions(empty, None, 0.0), page.notes(empty, None, 0.0)) == ((), ())
    assert page.focus() is NO_FOCUS
