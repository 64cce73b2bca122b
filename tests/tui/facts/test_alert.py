"""Alerts: keys begin with the kind of their cause."""

from dataclasses import replace

from replicator.notices.condition import Condition
from tests.tui.console.snapshots import NOW, NOW_MS, feed, lagging
from tests.tui.facts.test_anomaly import anomaly
from tests.tui.facts.test_carrier_causes import stalled, unknown, with_partitions
from tests.tui.facts.test_finding_causes import AUDIT
from tui.facts.alert import KEY_BEGINNINGS
from tui.facts.alert_rules import causes_of
from tui.facts.part import Part
from tui.facts.region_view import DaemonView

CONDITION = Condition(
    kind="waiting", who="carrier 1 of west>east", text="x", since_ms=1, route="west>east"
)


def test_every_cause_has_a_key_that_an_operator_may_acknowledge():
    found = lagging()
    east, west = found.regions
    missing = DaemonView(role="offsets", state="missing")
    bad = replace(
        found,
        regions=(
            replace(east, redis="silent", copies_age_seconds=99.0, daemons=(missing,)),
            replace(west, regional="silent", aggregate="silent", redis="silent"),
        ),
        conditions=(CONDITION,),
        audits=(AUDIT,),
        anomalies=(anomaly(at_ms=NOW_MS),),
        feeds=(feed(),),
    )
    denied = Part(
        server="east Redis", about="reports", problem="east Redis: lacks the right: reports"
    )
    bad = replace(bad, parts=(*bad.parts, denied))
    keys = [cause.key for cause in causes_of(bad, NOW)]
    # Clusters that are silent are why partitions are still, so these are of another snapshot.
    still = with_partitions(unknown("orders", 3), stalled(4))
    keys += [cause.key for cause in causes_of(still, NOW)]
    assert {key.partition("/")[0] for key in keys} == set(KEY_BEGINNINGS)
    assert len(keys) == len(set(keys))
    assert all(key.isprintable() and key == key.strip() for key in keys)
