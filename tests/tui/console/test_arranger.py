"""Arranger: the last wish counts, and a page that fails becomes one with its error."""

import threading

from tests.tui.console import snapshots
from tui.console.arranged import Arranged
from tui.console.arranger import Arranger, Wish
from tui.console.list_page import ListPage
from tui.console.pages.routes import RoutesPage
from tui.console.visit import Visit


def test_a_wish_that_was_not_begun_is_dropped_for_a_newer_one():
    made: list[int] = []
    done = threading.Event()

    def on_made(wish: Wish, page: object) -> None:
        assert isinstance(page, Arranged)
        made.append(wish.number)
        done.set()

    arranger = Arranger(on_made)
    for number in (1, 2, 3):
        arranger.wish(Wish(number, Visit(page=RoutesPage()), snapshots.healthy(), snapshots.NOW))
    arranger.start()
    assert done.wait(10)
    arranger.close()
    assert made == [3]


def test_a_page_that_fails_is_replaced_by_its_error():
    found: list[Arranged] = []
    done = threading.Event()

    def on_made(_: Wish, page: Arranged) -> None:
        found.append(page)
        done.set()

    arranger = Arranger(on_made)
    arranger.start()
    broken = Visit(page=ListPage("broken", None))
    arranger.wish(Wish(1, broken, snapshots.empty(), 0.0))
    assert done.wait(10)
    arranger.close()
    assert found[0].title == "list   cannot be shown"
