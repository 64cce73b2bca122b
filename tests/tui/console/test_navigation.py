"""Navigation: esc goes back, and each screen keeps its cursor."""

from dataclasses import replace

from tui.console.navigation import Navigation, first_view
from tui.pages.overview import OverviewPage
from tui.pages.partitions import PartitionsPage
from tui.pages.routes import RoutesPage
from tui.pages.topics import TopicsPage

PAGES: dict[str, type] = {"overview": OverviewPage, "routes": RoutesPage}


def navigation() -> Navigation:
    return Navigation(lambda name: PAGES[name](), "overview")


def test_back_leaves_pages_one_after_another_and_ends_on_the_first():
    found = navigation()
    found.open(TopicsPage("a>b"))
    found.open(PartitionsPage("a>b", "orders"))
    assert found.depth == 3
    assert found.back()
    assert found.current.page == TopicsPage("a>b")
    assert found.back()
    assert not found.back()


def test_a_screen_keeps_its_cursor_while_another_is_shown():
    found = navigation()
    found.current = replace(found.current, cursor=("routes", "a>b"), cursor_at=3)
    found.go_to("routes")
    assert found.current.cursor is None
    found.go_to("overview")
    assert found.current.cursor == ("routes", "a>b")


def test_a_jump_stacks_pages_so_that_back_leads_through_them():
    found = navigation()
    found.jump("routes", [TopicsPage("a>b"), PartitionsPage("a>b", "orders")])
    assert (found.screen, found.depth) == ("routes", 3)


def test_a_page_may_say_where_its_cursor_begins():
    assert first_view(PartitionsPage("a>b", "orders", 17)).cursor == ("partitions", "17")
    assert first_view(RoutesPage()).cursor is None
    assert first_view(OverviewPage()).is_at_start
    assert not first_view(RoutesPage()).is_at_start


def test_the_cursor_of_a_page_that_was_left_by_enter_stays_on_its_row():
    found = navigation()
    found.open(TopicsPage("a>b"))
    found.back()
    assert not found.current.is_at_start
