"""Visits: esc goes back, and each screen keeps its cursor."""

from dataclasses import replace

from tui.console.pages.overview import OverviewPage
from tui.console.pages.partitions import PartitionsPage
from tui.console.pages.routes import RoutesPage
from tui.console.pages.topics import TopicsPage
from tui.console.visits import Visits, visit_of

PAGES: dict[str, type] = {"overview": OverviewPage, "routes": RoutesPage}


def visits() -> Visits:
    return Visits(lambda name: PAGES[name](), "overview")


def test_back_leaves_pages_one_after_another_and_ends_on_the_first():
    found = visits()
    found.open(TopicsPage("a>b"))
    found.open(PartitionsPage("a>b", "orders"))
    assert found.depth == 3
    assert found.back()
    assert found.current.page == TopicsPage("a>b")
    assert found.back()
    assert not found.back()


def test_a_screen_keeps_its_cursor_while_another_is_shown():
    found = visits()
    found.current = replace(found.current, cursor=("routes", "a>b"), cursor_at=3)
    found.go_to("routes")
    assert found.current.cursor is None
    found.go_to("overview")
    assert found.current.cursor == ("routes", "a>b")


def test_a_jump_stacks_pages_so_that_back_leads_through_them():
    found = visits()
    found.jump("routes", [TopicsPage("a>b"), PartitionsPage("a>b", "orders")], "17")
    assert (found.screen, found.depth, found.current.filter) == ("routes", 3, "17")


def test_a_page_may_say_where_its_cursor_begins():
    assert visit_of(PartitionsPage("a>b", "orders", 17)).cursor == ("partitions", "17")
    assert visit_of(RoutesPage()).cursor is None
    assert visit_of(OverviewPage()).is_at_start
    assert not visit_of(RoutesPage()).is_at_start


def test_the_cursor_of_a_page_that_was_left_by_enter_stays_on_its_row():
    found = visits()
    found.open(TopicsPage("a>b"))
    found.back()
    assert not found.current.is_at_start
