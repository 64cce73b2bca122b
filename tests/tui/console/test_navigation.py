"""Navigation: screens, pages behind each other, and names to jump to."""

import subprocess
import sys
from dataclasses import replace

import pytest

from tests.tui.console import snapshots
from tui.console.keys import SCREENS
from tui.console.navigation import Navigation, first_view
from tui.console.registry import PAGES, first_page
from tui.console.search import Name, names_of, search_page, target_of
from tui.pages.overview import OverviewPage
from tui.pages.partitions import PartitionsPage
from tui.pages.routes import RoutesPage
from tui.pages.topics import TopicsPage

# --- Registry: every screen of a key has a first page that imports no Textual.


def test_every_screen_has_a_first_page():
    assert tuple(PAGES) == SCREENS


@pytest.mark.parametrize("screen", SCREENS)
def test_a_first_page_belongs_to_its_screen(screen):
    assert first_page(screen).name == screen


def test_pages_import_neither_textual_nor_clients():
    code = (
        "import sys; from tui.console.registry import PAGES, first_page\n"
        "for name in PAGES: first_page(name)\n"
        "heavy = ('textual', 'pydantic', 'aiokafka', 'redis', 'numpy', 'confluent_kafka')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# --- Navigation: esc goes back, and each screen keeps its cursor.

FIRST_PAGES: dict[str, type] = {"overview": OverviewPage, "routes": RoutesPage}


def navigation() -> Navigation:
    return Navigation(lambda name: FIRST_PAGES[name](), "overview")


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


# --- Search over all names.


def test_regions_routes_topics_groups_and_feeds_are_found():
    kinds = {each.kind for each in names_of(snapshots.lagging())}
    assert kinds == {"region", "route", "topic", "group", "feed"}


def test_a_name_leads_to_its_page_with_the_pages_above_it():
    topic = target_of(Name("topic", "orders", "east>west"))
    assert topic.pages == (TopicsPage("east>west"), PartitionsPage("east>west", "orders"))
    assert target_of(Name("route", "east>west")).pages == (TopicsPage("east>west"),)
    group = target_of(Name("group", "billing", "west"))
    assert (group.screen, group.cursor) == ("groups", ("groups", "billing"))
    assert target_of(Name("region", "east")).screen == "overview"


def test_names_of_an_empty_snapshot_are_none():
    (section,) = search_page(list(names_of(snapshots.empty()))).tables
    assert len(section.rows) == 0


def test_names_with_any_character_in_them_differ_by_their_keys():
    odd = Name("group", "a\nb", "")
    assert odd.key != Name("group", "a", "b\n").key
    assert target_of(odd).cursor == ("groups", "a\nb")
