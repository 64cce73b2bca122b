"""Inventory: everything that is asked, each server and subject once."""

from tests.tui.facts.watch.told import NOW, appliance
from tui.facts.watch.inventory import routes_inventory, whole_inventory
from tui.facts.watch.question import Answers, Key
from tui.facts.watch.spotlight import Spotlight

BOTH = appliance("east", "west")


def test_all_questions_differ_and_come_after_those_that_they_need() -> None:
    for spotlight in (None, Spotlight()):
        seen: set[Key] = set()
        for question in whole_inventory(BOTH, 3.0, spotlight).questions:
            assert question.key not in seen
            assert {*question.needs, *question.waits_for} <= seen
            seen.add(question.key)


def test_a_single_look_asks_nothing_that_only_a_screen_needs() -> None:
    once = {each.key for each in whole_inventory(BOTH, 3.0).questions}
    watched = {each.key for each in whole_inventory(BOTH, 3.0, Spotlight()).questions}
    assert once < watched
    assert not any("on screen" in key.about or "past traffic" in key.about for key in once)


def test_before_any_answer_the_snapshot_knows_nothing() -> None:
    snapshot = whole_inventory(BOTH, 3.0).assembly.snapshot(Answers({}), NOW)
    assert [each.region for each in snapshot.regions] == ["east", "west"]
    assert [each.route for each in snapshot.routes] == [each.name for each in BOTH.routes]
    assert (snapshot.groups, snapshot.events, snapshot.audits) == (None, None, None)


def test_one_route_asks_its_target_and_all_sources_of_that_target() -> None:
    found = routes_inventory(BOTH, [BOTH.route("west>east")], 3.0)
    assert {each.key.server for each in found.questions} == {
        "east regional",
        "west regional",
        "east aggregate",
        "east Redis",
    }
    snapshot = found.assembly.snapshot(Answers({}), NOW)
    assert [each.region for each in snapshot.regions] == ["east"]
    assert [each.route for each in snapshot.routes] == ["west>east"]


def test_one_look_at_servers_that_refuse_makes_a_snapshot_that_says_so() -> None:
    snapshot = routes_inventory(BOTH, [BOTH.route("west>east")], 3.0).snapshot(3.0)
    (east,) = snapshot.regions
    assert (east.aggregate, east.redis) == ("silent", "silent")
    assert any(text.startswith("east aggregate: ") for text in snapshot.problems)
