"""Visit of a page: sort and order of its own."""

from tui.console.pages.routes import RoutesPage
from tui.console.visit import Visit


def test_sections_are_sorted_and_turned_round_apart():
    visit = Visit(page=RoutesPage()).sorted_by("routes", ("-LAG",)).turned_round("routes")
    assert visit.sorts == {"routes": ("-LAG",)}
    assert visit.reversed == {"routes"}
    assert visit.turned_round("routes").reversed == frozenset()
