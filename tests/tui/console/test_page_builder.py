"""Builder of pages: the last request counts, and a page that fails becomes one with its error."""

import threading

from tests.tui.console import snapshots
from tui.console.built_page import BuiltPage
from tui.console.list_page import ListPage
from tui.console.page_builder import PageBuilder, PageRequest
from tui.console.view_state import ViewState
from tui.pages.routes import RoutesPage


def test_a_request_that_was_not_begun_is_dropped_for_a_newer_one():
    made: list[int] = []
    done = threading.Event()

    def on_built(request: PageRequest, page: object) -> None:
        assert isinstance(page, BuiltPage)
        made.append(request.number)
        done.set()

    builder = PageBuilder(on_built)
    for number in (1, 2, 3):
        builder.request(
            PageRequest(number, ViewState(page=RoutesPage()), snapshots.healthy(), snapshots.NOW)
        )
    builder.start()
    assert done.wait(10)
    builder.close()
    assert made == [3]


def test_a_page_that_fails_is_replaced_by_its_error():
    found: list[BuiltPage] = []
    done = threading.Event()

    def on_built(_: PageRequest, page: BuiltPage) -> None:
        found.append(page)
        done.set()

    builder = PageBuilder(on_built)
    builder.start()
    broken = ViewState(page=ListPage("broken", None))
    builder.request(PageRequest(1, broken, snapshots.empty(), 0.0))
    assert done.wait(10)
    builder.close()
    assert found[0].title == "list   cannot be shown"
