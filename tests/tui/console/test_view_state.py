"""State of a view: sort and order of its own."""

from tui.console.view_state import ViewState
from tui.pages.routes import RoutesPage


def test_sections_are_sorted_and_turned_round_apart():
    view = ViewState(page=RoutesPage()).sorted_by("routes", ("-LAG",)).turned_round("routes")
    assert view.sorts == {"routes": ("-LAG",)}
    assert view.reversed == {"routes"}
    assert view.turned_round("routes").reversed == frozenset()
