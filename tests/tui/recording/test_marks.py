"""Marks: what got worse from one snapshot to the next."""

from dataclasses import replace

from tests.tui.recording.samples import alert, route
from tui.facts.alert import AlertState
from tui.facts.health import Health
from tui.facts.snapshot import Snapshot
from tui.recording.recorder import Marker

EMPTY = Snapshot(taken_at=1.0, alerts=())


def marks(*snapshots: Snapshot) -> list[str | None]:
    marker = Marker()
    return [marker.mark(each) for each in snapshots]


def test_an_alert_that_opens_is_marked_once() -> None:
    opened = replace(EMPTY, alerts=(alert("a"),))
    assert marks(EMPTY, opened, opened) == [None, "PAGE text of a", None]


def test_an_alert_that_opens_again_is_marked_again() -> None:
    opened = replace(EMPTY, alerts=(alert("a"),))
    resolved = replace(EMPTY, alerts=(alert("a", AlertState.RESOLVED),))
    assert marks(EMPTY, opened, resolved, opened)[2:] == [None, "PAGE text of a"]


def test_alerts_that_are_unknown_for_a_while_are_not_new_afterwards() -> None:
    opened = replace(EMPTY, alerts=(alert("a"),))
    assert marks(opened, replace(EMPTY, alerts=None), opened) == [None, None, None]


def test_a_route_is_marked_when_its_state_gets_worse_and_not_when_it_gets_better() -> None:
    good = replace(EMPTY, routes=(route(),))
    behind = replace(EMPTY, routes=(route(state=Health.BEHIND),))
    parked = replace(EMPTY, routes=(route(state=Health.PARKED),))
    found = marks(good, behind, parked, behind, good)
    assert found == [None, "west>east is BEHIND", "west>east is PARKED", None, None]


def test_a_route_that_is_missing_for_a_while_is_compared_with_its_last_state() -> None:
    good = replace(EMPTY, routes=(route(),))
    behind = replace(EMPTY, routes=(route(state=Health.BEHIND),))
    assert marks(good, EMPTY, behind) == [None, None, "west>east is BEHIND"]
