"""Memory of alerts: beginnings and ends that only this process has seen."""

from dataclasses import replace

from tests.tui.console.snapshots import lagging
from tests.tui.facts.test_alert_rules import NOW, PARKED, WAITS, healthy, without_daemon
from tests.tui.facts.test_anomaly import anomaly
from tests.tui.facts.test_finding_causes import AUDIT
from tests.tui.facts.watch.told import appliance
from tui.facts.alert import Alert, AlertState
from tui.facts.alert_rules import causes_of
from tui.facts.snapshot import Snapshot
from tui.facts.watch.inventory import AlertMemory, whole_inventory


def only(memory: AlertMemory, snapshot: Snapshot) -> Alert:
    """Returns the one alert of a snapshot."""
    (found,) = memory(snapshot)["alerts"]
    return found


def test_beginnings_and_ends_are_remembered_from_one_snapshot_to_the_next():
    memory = AlertMemory()
    first = only(memory, without_daemon())
    later = only(memory, replace(without_daemon(), taken_at=NOW + 9.0))
    assert later.since_ms == first.since_ms
    ended = only(memory, replace(healthy(), taken_at=NOW + 10.0))
    assert (ended.state, ended.ended_ms) == (AlertState.RESOLVED, int((NOW + 10.0) * 1000))
    assert memory(replace(healthy(), taken_at=NOW + 9999.0))["alerts"] == ()


def test_alerts_follow_from_questions_that_are_asked():
    asked = {tuple(each.key) for each in whole_inventory(appliance("east", "west"), 1.0).questions}
    bad = replace(
        lagging(),
        regions=(
            replace(without_daemon().regions[0], copies_age_seconds=99.0),
            replace(healthy().regions[1], regional="silent"),
        ),
        conditions=(PARKED, WAITS),
        audits=(AUDIT,),
        anomalies=(anomaly(at_ms=int(NOW * 1000)),),
    )
    found = list(causes_of(bad, NOW))
    assert {each.kind for each in found} >= {
        *("audit", "balance", "condition", "copies", "daemon", "group"),
        *("parked", "server", "verify"),
    }
    for cause in found:
        sources = {*cause.sources, *cause.own_sources}
        assert sources and sources <= asked, cause.key
