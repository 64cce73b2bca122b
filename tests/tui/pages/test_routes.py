"""Page of the routes."""

from dataclasses import replace

from tests.tui.console import snapshots
from tui.pages.page import NO_FOCUS
from tui.pages.routes import COLUMNS, RoutesPage, route_cells
from tui.pages.topics import TopicsPage

PAGE, NOW = RoutesPage(), snapshots.NOW


def cells(snapshot, route: str) -> dict[str, str]:
    (section,) = PAGE.sections(snapshot, NOW)
    row = next(row for row in section.rows if row.key == route)
    return {column.title: cell.text for column, cell in zip(COLUMNS, row.cells, strict=True)}


def test_unknown_values_are_question_marks_and_sort_worst():
    found = cells(snapshots.region_gone(), "west>east")
    assert (found["LAG"], found["LAG S"], found["REC/S"]) == ("?", "?", "?")
    assert found["STATE"] == "WAITS"
    gone = cells(snapshots.region_gone(), "east>west")
    assert (gone["PARKED"], gone["TOPICS"]) == ("?", "?")


def test_a_route_has_its_trend_and_the_time_of_its_slowest_partition():
    route = snapshots.healthy().routes[0]

    def shown(**figures: object) -> tuple[str, str]:
        found = replace(route, **figures)
        texts = dict(zip((each.title for each in COLUMNS), route_cells(found), strict=True))
        return texts["DRAIN"].text, texts["TREND"].text

    assert shown(lag_records=9, lag_per_second=-3.0, drain_seconds=40.0) == ("40 s", "-3/s")
    assert shown(lag_records=9, lag_per_second=-3.0, drain_seconds=None) == ("grows", "-3/s")
    assert shown(lag_records=None, lag_per_second=None, drain_seconds=None) == ("?", "?")


def test_parked_partitions_that_are_not_known_are_a_question_mark():
    routes = (replace(snapshots.healthy().routes[0], parked_partitions=None),)
    snapshot = replace(snapshots.healthy(), routes=routes)
    assert cells(snapshot, routes[0].route)["PARKED"] == "?"


def test_a_row_opens_the_topics_of_its_route():
    snapshot = snapshots.lagging()
    (section,) = PAGE.sections(snapshot, NOW)
    assert PAGE.opened(snapshot, section.rows[1]) == TopicsPage("east>west")


def test_a_route_says_what_is_in_its_way():
    snapshot = snapshots.region_gone()
    (section,) = PAGE.sections(snapshot, NOW)
    assert "connection refused" in PAGE.notes(snapshot, section.rows[0], NOW)[0]
    assert PAGE.notes(snapshot, None, NOW) == []


def test_no_order_is_about_a_route():
    snapshot = snapshots.lagging()
    assert PAGE.actions(snapshot, None, NOW) == ()
    assert PAGE.focus() is NO_FOCUS
    assert PAGE.title(snapshot) == "routes   4 routes"
