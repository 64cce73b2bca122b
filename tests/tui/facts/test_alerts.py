"""Alerts: identity, cause, and the rules that make them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replicator.notices.acknowledgement import HOLDS_MS, Acknowledgement
from replicator.notices.condition import Condition
from tests.tui.console import snapshots
from tests.tui.console.snapshots import NOW, NOW_MS, feed, lagging, partition
from tests.tui.facts.test_anomaly import anomaly
from tests.tui.facts.test_carrier_causes import stalled, unknown, with_partitions
from tests.tui.facts.test_finding_causes import AUDIT
from tui.facts.alert import KEY_BEGINNINGS, Alert, AlertState, Level
from tui.facts.alert_cause import some_of
from tui.facts.alert_rules import (
    FOUND_LATE_MS,
    NO_LOOK,
    RESOLVED_SECONDS,
    UNDATED_MS,
    Look,
    causes_of,
    next_look,
)
from tui.facts.part import Part
from tui.facts.region_view import DaemonView
from tui.facts.route_view import TopicView
from tui.facts.snapshot import Snapshot

# --- Alerts: keys begin with the kind of their cause.

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


# --- Words of causes: names that are too many.


@pytest.mark.parametrize(
    ("names", "text"),
    [([], ""), (["a"], "a"), (["a", "b", "c"], "a, b, c"), (list("abcde"), "a, b, c and 2 more")],
)
def test_many_names_are_cut(names, text):
    assert some_of(names) == text


# --- Alerts over time: open, acknowledged, silenced, resolved, and worst first.

PARKED = Condition(
    kind="parked",
    who="carrier 3 of west>east",
    text="retention passed 5 to 9",
    since_ms=NOW_MS - 60_000,
    route="west>east",
    topic="orders",
    partition=3,
)
WAITS = replace(PARKED, kind="waiting", since_ms=NOW_MS - 90_000)
KEY = "parked/west>east/orders/"
SEEN = Acknowledgement(key=KEY, who="ann@ops", why="looking", at_ms=NOW_MS - 30_000)


def healthy() -> Snapshot:
    """Returns a snapshot without any cause; the balancer's word is left out."""
    return replace(snapshots.healthy(), balance=())


PARKED_NOW = replace(healthy(), conditions=(PARKED,))


def without_daemon() -> Snapshot:
    """Returns a snapshot with a cause whose beginning nobody wrote down."""
    found = healthy()
    east, west = found.regions
    missing = DaemonView(role="replicate", state="missing")
    return replace(found, regions=(replace(east, daemons=(missing,)), west))


def look(
    snapshot: Snapshot,
    given: Acknowledgement | None = None,
    now: float = NOW,
    before: Look = NO_LOOK,
) -> Look:
    """Returns the look at a snapshot of that time."""
    return next_look(before, replace(snapshot, taken_at=now), [given] if given else [], now)


def one(snapshot: Snapshot, given: Acknowledgement | None = None, now: float = NOW) -> Alert:
    return only(look(snapshot, given, now))


def only(found: Look) -> Alert:
    (alert,) = found.alerts
    return alert


def notices(*, asked_at: float | None = NOW, problem: str | None = None) -> tuple[Part, ...]:
    """Returns the part with the notices of east."""
    return (
        Part(
            server="east Redis",
            about="notices",
            asked_at=asked_at,
            cadence_seconds=2.0,
            problem=problem,
        ),
    )


def test_a_healthy_appliance_has_no_alerts():
    assert next_look(NO_LOOK, healthy(), [], NOW).alerts == ()


def test_an_alert_is_open_until_somebody_has_seen_it():
    alert = one(PARKED_NOW)
    assert (alert.state, alert.since_ms, alert.who) == (AlertState.OPEN, PARKED.since_ms, None)
    alert = one(PARKED_NOW, SEEN)
    assert (alert.state, alert.who, alert.why) == (AlertState.ACKNOWLEDGED, "ann@ops", "looking")


def test_an_acknowledged_alert_opens_when_it_gets_worse():
    worse = replace(PARKED, partition=4, since_ms=SEEN.at_ms + 1)
    assert one(replace(healthy(), conditions=(PARKED, worse)), SEEN).state is AlertState.OPEN


def test_an_acknowledgement_of_an_earlier_alert_does_not_count():
    later = replace(PARKED, since_ms=SEEN.at_ms + 1)
    assert one(replace(healthy(), conditions=(later,)), SEEN).state is AlertState.OPEN


def test_an_acknowledgement_ends_after_a_week():
    old = replace(PARKED, since_ms=SEEN.at_ms - 1)
    late = NOW - 30.0 + HOLDS_MS / 1000
    found = one(replace(healthy(), conditions=(old,)), SEEN, late)
    assert found.state is AlertState.OPEN


def test_a_silence_holds_whatever_happens_until_its_time():
    silence = replace(SEEN, until_ms=NOW_MS + 1000)
    worse = replace(PARKED, partition=4, since_ms=NOW_MS)
    snapshot = replace(healthy(), conditions=(PARKED, worse))
    found = one(snapshot, silence)
    assert (found.state, found.until_ms) == (AlertState.SILENCED, NOW_MS + 1000)
    assert one(snapshot, silence, NOW + 1.0).state is AlertState.OPEN


def test_the_newest_acknowledgement_counts_from_whichever_region():
    silence = replace(SEEN, at_ms=SEEN.at_ms - 1, until_ms=NOW_MS + 1000)
    (found,) = next_look(NO_LOOK, PARKED_NOW, [SEEN, silence], NOW).alerts
    assert found.state is AlertState.ACKNOWLEDGED


def test_what_nobody_wrote_down_began_when_it_was_first_seen():
    first = look(without_daemon())
    assert only(first).since_ms == NOW_MS
    assert only(look(without_daemon(), now=NOW + 60.0, before=first)).since_ms == NOW_MS


def test_an_acknowledgement_counts_for_a_new_caller_who_saw_no_beginning():
    seen = replace(SEEN, key="daemon/replicate/east")
    first = look(without_daemon(), seen)
    assert only(first).state is AlertState.ACKNOWLEDGED
    later = look(without_daemon(), seen, NOW + 1.0, first)
    assert only(later).state is AlertState.ACKNOWLEDGED


def test_an_alert_that_returns_after_its_end_is_open_again():
    seen = replace(SEEN, key="daemon/replicate/east")
    first = look(without_daemon(), seen)
    ended = look(healthy(), seen, NOW + 1.0, first)
    again = look(without_daemon(), seen, NOW + 2.0, ended)
    assert (only(again).state, only(again).since_ms) == (AlertState.OPEN, NOW_MS + 2000)
    still = only(look(without_daemon(), seen, NOW + 3.0, again))
    assert (still.state, still.since_ms) == (AlertState.OPEN, NOW_MS + 2000)


def test_an_outage_long_after_an_acknowledged_one_is_open():
    seen = replace(SEEN, key="daemon/replicate/east")
    ended = look(healthy(), seen, NOW + 1.0, look(without_daemon(), seen))
    forgotten = look(healthy(), seen, NOW + 2.0 + RESOLVED_SECONDS, ended)
    assert forgotten.alerts == ()
    again = look(without_daemon(), seen, NOW + 3.0 + RESOLVED_SECONDS, forgotten)
    assert only(again).state is AlertState.OPEN


def test_an_outage_that_was_seen_to_begin_is_open_whatever_was_acknowledged_before():
    seen = replace(SEEN, key="daemon/replicate/east", at_ms=NOW_MS - FOUND_LATE_MS - 1)
    begun = look(without_daemon(), seen, before=look(healthy(), now=NOW - 1.0))
    assert only(begun).state is AlertState.OPEN
    # Another console may have shown it some seconds earlier to who acknowledged it.
    early = replace(seen, at_ms=NOW_MS - 5000)
    begun = look(without_daemon(), early, before=look(healthy(), now=NOW - 1.0))
    assert only(begun).state is AlertState.ACKNOWLEDGED


def test_the_first_answer_of_a_server_is_not_the_beginning_of_what_it_tells():
    seen = replace(SEEN, key="daemon/replicate/east", at_ms=NOW_MS - FOUND_LATE_MS - 1)
    unasked = look(replace(healthy(), parts=notices(asked_at=None)), now=NOW - 1.0)
    found = look(replace(without_daemon(), parts=notices()), seen, before=unasked)
    assert only(found).state is AlertState.ACKNOWLEDGED


def test_an_acknowledgement_of_what_nobody_wrote_down_holds_for_hours():
    seen = replace(SEEN, key="daemon/replicate/east")
    end = SEEN.at_ms + UNDATED_MS
    assert one(without_daemon(), seen, end / 1000).state is AlertState.ACKNOWLEDGED
    assert one(without_daemon(), seen, end / 1000 + 1).state is AlertState.OPEN
    # What daemons have written down holds for longer.
    old = replace(PARKED, since_ms=SEEN.at_ms - 1)
    found = one(replace(healthy(), conditions=(old,)), SEEN, end / 1000 + 1)
    assert found.state is AlertState.ACKNOWLEDGED


def away(count: int) -> Snapshot:
    """Returns a snapshot with groups out of place."""
    found = [replace(snapshots.groups()[1], group=f"g{n}") for n in range(count)]
    return replace(healthy(), groups=tuple(found))


def test_an_acknowledged_alert_opens_when_it_has_more_groups_than_were_seen():
    seen = replace(SEEN, key="group/east", extent=2)
    assert one(away(2)).extent == 2
    assert one(away(1), seen).state is AlertState.ACKNOWLEDGED
    assert one(away(2), seen).state is AlertState.ACKNOWLEDGED
    assert one(away(3), seen).state is AlertState.OPEN
    assert one(away(40), replace(seen, extent=None)).state is AlertState.ACKNOWLEDGED


def test_an_alert_goes_on_while_the_server_that_tells_of_it_is_silent():
    seen = replace(SEEN, key="daemon/replicate/east")
    first = look(replace(without_daemon(), parts=notices()), seen)
    silent = replace(healthy(), parts=notices(problem="east Redis: refused"))
    kept = look(silent, seen, NOW + 10.0, first)
    assert only(kept) == only(first)
    # It may be acknowledged meanwhile, and ends once the server tells that it has.
    assert only(look(silent, None, NOW + 10.0, first)).state is AlertState.OPEN
    back = look(replace(without_daemon(), parts=notices(asked_at=NOW + 20)), seen, NOW + 20, kept)
    assert only(back).state is AlertState.ACKNOWLEDGED
    ended = look(replace(healthy(), parts=notices(asked_at=NOW + 20)), seen, NOW + 20, kept)
    assert only(ended).state is AlertState.RESOLVED


def test_an_alert_goes_on_while_the_answer_that_tells_of_it_is_stale():
    first = look(replace(PARKED_NOW, parts=notices()))
    stale = look(replace(healthy(), parts=notices()), now=NOW + 10.0, before=first)
    assert only(stale).state is AlertState.OPEN


def test_what_daemons_wrote_down_stays_known_while_they_are_not_heard():
    first = look(replace(PARKED_NOW, parts=notices()), SEEN)
    parked = replace(partition("orders", 3), parked="retention passed 5 to 9")
    topic = TopicView(topic="orders", states=(), notes=(), partitions=(parked,))
    route = replace(healthy().routes[0], topics=(topic,))
    # Its ledger tells of it, but not since when.
    unheard = replace(healthy(), routes=(route, *healthy().routes[1:]))
    later = look(unheard, SEEN, NOW + UNDATED_MS / 1000, first)
    assert (only(later).since_ms, only(later).state) == (PARKED.since_ms, AlertState.ACKNOWLEDGED)


def test_a_silent_server_is_one_alert_and_then_part_of_its_regions():
    def part(server: str, about: str) -> Part:
        problem = f"{server}: refused"
        return Part(server=server, about=about, problem=problem, problem_since=NOW)

    east, west = healthy().regions
    own = part("west regional", "cluster id")
    one_silent = replace(healthy(), regions=(east, replace(west, regional="silent")), parts=(own,))
    whole = replace(
        one_silent,
        regions=(east, replace(west, regional="silent", aggregate="silent", redis="silent")),
        parts=(own, part("west aggregate", "cluster id"), part("west Redis", "notices")),
    )
    first = look(one_silent)
    assert [each.key for each in first.alerts] == ["server/west regional"]
    then = look(whole, now=NOW + 1.0, before=first)
    assert [(each.key, each.state.value) for each in then.alerts] == [
        ("region/west", "open"),
        ("server/west regional", "resolved"),
    ]


def test_an_alert_that_has_ended_stays_for_an_hour_as_resolved():
    ended = look(healthy(), now=NOW + 1.0, before=look(PARKED_NOW))
    assert only(ended).state is AlertState.RESOLVED
    assert only(ended).ended_ms == NOW_MS + 1000
    later = look(healthy(), now=NOW + RESOLVED_SECONDS, before=ended)
    assert only(later) == only(ended)
    assert look(healthy(), now=NOW + 1.0 + RESOLVED_SECONDS, before=later).alerts == ()


def test_an_alert_whose_cause_is_not_known_any_more_stays_as_it_is():
    failed = look(replace(healthy(), audits=(AUDIT,)))
    unknown = look(replace(healthy(), audits=None), now=NOW + 1.0, before=failed)
    assert unknown.alerts == failed.alerts


def test_a_region_whose_redis_is_gone_keeps_its_acknowledgements_elsewhere():
    found = healthy()
    east, west = found.regions
    gone = replace(found, regions=(east, replace(west, regional="silent", redis="silent")))
    assert {each.region for each in next_look(NO_LOOK, gone, [], NOW).alerts} == {"east"}
    nowhere = tuple(replace(each, redis="silent") for each in gone.regions)
    found_alerts = next_look(NO_LOOK, replace(gone, regions=nowhere), [], NOW).alerts
    assert {each.region for each in found_alerts} == {"east", "west"}


def test_open_pages_come_first_and_the_oldest_first_among_equals():
    other = replace(PARKED, topic="trades", since_ms=NOW_MS - 70_000)
    snapshot = replace(healthy(), conditions=(WAITS, PARKED, other), audits=(AUDIT,))
    seen = replace(SEEN, key="audit/west>east", at_ms=NOW_MS)
    ended = Alert(
        key="copies/east",
        region="east",
        level=Level.PAGE,
        state=AlertState.RESOLVED,
        kind="copies",
        text="",
        since_ms=1,
        ended_ms=NOW_MS - 1,
    )
    found = look(snapshot, seen, before=Look(alerts=(ended,))).alerts
    assert [(each.level.value, each.state.value, each.key) for each in found] == [
        ("PAGE", "open", "parked/west>east/trades/"),
        ("PAGE", "open", KEY),
        ("WARN", "open", "condition/waiting/west>east/orders/"),
        ("PAGE", "acknowledged", "audit/west>east"),
        ("PAGE", "resolved", "copies/east"),
    ]


@pytest.mark.parametrize("given", [None, SEEN])
def test_the_same_facts_give_the_same_alerts(given):
    first = look(PARKED_NOW, given)
    assert look(PARKED_NOW, given, before=first).alerts == first.alerts
