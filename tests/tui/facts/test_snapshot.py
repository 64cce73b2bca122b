"""Snapshot: problems are those of all servers, each once."""

from tests.tui.facts.route_records import FACTS, NOW, PLAN
from tui.facts.part import Part
from tui.facts.route_summary import route_view
from tui.facts.snapshot import SCHEMA_VERSION, Snapshot


def test_a_problem_of_two_routes_and_of_a_part_is_listed_once() -> None:
    text = "east aggregate: no answer"
    routes = tuple(route_view(FACTS, PLAN, NOW) for _ in range(2))
    part = Part(server="east aggregate", about="topics", problem=text)
    other = Part(server="east Redis", about="reports", problem="east Redis: refused")
    found = Snapshot(taken_at=NOW, routes=routes, parts=(part, other))
    assert found.problems == (text, "east Redis: refused")


def test_what_was_not_asked_is_none_and_not_empty() -> None:
    found = Snapshot(taken_at=NOW)
    assert {found.groups, found.audits, found.alerts, found.events, found.plans} == {None}
    assert found.schema_version == SCHEMA_VERSION == 2
