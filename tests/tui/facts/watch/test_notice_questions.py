"""Questions about notices: alerts, events, and what is remembered of them."""

from __future__ import annotations

from dataclasses import replace

from replicator.notices.condition import Condition
from replicator.notices.event import Event
from replicator.notices.notice_store import NEWEST
from tests.tui.console.snapshots import lagging
from tests.tui.facts.test_alerts import NOW as ALERTS_NOW
from tests.tui.facts.test_alerts import PARKED, WAITS, healthy, without_daemon
from tests.tui.facts.test_anomaly import anomaly
from tests.tui.facts.test_finding_causes import AUDIT
from tests.tui.facts.watch.told import NOW, NOW_MS, answered, appliance
from tui.facts.alert import Alert, AlertState
from tui.facts.alert_rules import causes_of
from tui.facts.snapshot import Snapshot
from tui.facts.watch.event_questions import (
    EVENTS_MAX,
    FollowedEvents,
    event_fields,
    event_questions,
    events_key,
)
from tui.facts.watch.inventory import AlertMemory, whole_inventory
from tui.facts.watch.notice_questions import (
    Notices,
    conditions_of,
    known_conditions,
    notice_questions,
    notices_key,
    notices_of,
)
from tui.facts.watch.question import Answer, Answers

# --- Notices of regions: conditions and cards, asked of each Redis.

OLD = Condition(kind="paused", who="replicate east", text="by alice", since_ms=1)
NEW = Condition(kind="waiting", who="carrier 1 of west>east", text="no leader", since_ms=2)


def test_each_redis_has_one_question_every_two_seconds() -> None:
    asked = notice_questions(appliance("east", "west"), ["east", "west"], 3.0)
    assert [each.key for each in asked] == [notices_key("east"), notices_key("west")]
    assert {each.cadence_seconds for each in asked} == {2.0}


def test_conditions_of_all_regions_are_listed_once_the_oldest_first() -> None:
    told = {
        notices_key("east"): Notices(conditions=(NEW,)),
        notices_key("west"): Notices(conditions=(OLD, NEW)),
    }
    assert conditions_of(answered(told), ["east", "west"], NOW) == (OLD, NEW)


def test_a_region_whose_redis_never_answered_has_no_known_notices() -> None:
    assert notices_of(Answers({}), "east") is None
    assert conditions_of(Answers({}), ["east"], NOW) == ()
    assert known_conditions(Answers({}), "east", NOW) is None


def test_conditions_of_a_silent_redis_count_for_three_cadences_and_are_then_unknown() -> None:
    def told(seconds_ago: float, problem: str | None) -> Answers:
        found = Answer(Notices(conditions=(OLD,)), NOW - seconds_ago, problem, NOW - 1.0)
        return Answers({notices_key("east"): found})

    refused = "Redis at x: refused"
    assert known_conditions(told(5.9, refused), "east", NOW) == (OLD,)
    assert known_conditions(told(6.1, refused), "east", NOW) is None
    assert conditions_of(told(6.1, refused), ["east"], NOW) == ()
    # One look waits for the slowest server.
    assert known_conditions(told(20.0, None), "east", NOW) == (OLD,)


# --- Memory of alerts: beginnings and ends that only this process has seen.


def only(memory: AlertMemory, snapshot: Snapshot) -> Alert:
    """Returns the one alert of a snapshot."""
    (found,) = memory(snapshot)["alerts"]
    return found


def test_beginnings_and_ends_are_remembered_from_one_snapshot_to_the_next():
    memory = AlertMemory()
    first = only(memory, without_daemon())
    later = only(memory, replace(without_daemon(), taken_at=ALERTS_NOW + 9.0))
    assert later.since_ms == first.since_ms
    ended = only(memory, replace(healthy(), taken_at=ALERTS_NOW + 10.0))
    assert (ended.state, ended.ended_ms) == (AlertState.RESOLVED, int((ALERTS_NOW + 10.0) * 1000))
    assert memory(replace(healthy(), taken_at=ALERTS_NOW + 9999.0))["alerts"] == ()


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
        anomalies=(anomaly(at_ms=int(ALERTS_NOW * 1000)),),
    )
    found = list(causes_of(bad, ALERTS_NOW))
    assert {each.kind for each in found} >= {
        *("audit", "balance", "condition", "copies", "daemon", "group"),
        *("parked", "server", "verify"),
    }
    for cause in found:
        sources = {*cause.sources, *cause.own_sources}
        assert sources and sources <= asked, cause.key


# --- Events of all regions: only new ones are asked for, and the newest are kept.


def event(at_ms: int, text: str = "x") -> Event:
    return Event(at_ms=at_ms, kind="parked", level="warning", who="carrier 1 of a>b", text=text)


class Stream:
    """Stream of events in memory, as Redis would answer; ids are numbers."""

    def __init__(self) -> None:
        self.events_kept: list[tuple[str, Event]] = []
        self.asked: list[tuple[int, str]] = []

    def add(self, count: int) -> None:
        first = len(self.events_kept)
        self.events_kept += [(str(n), event(NOW_MS + n)) for n in range(first, first + count)]

    def events(self, count: int, after: str = NEWEST) -> list[tuple[str, Event]]:
        self.asked.append((count, after))
        if after == NEWEST:
            return self.events_kept[-count:]
        later = [each for each in self.events_kept if int(each[0]) > int(after)]
        return later[:count]


def test_only_events_after_the_last_known_one_are_asked_for():
    stream, followed = Stream(), FollowedEvents("east")
    stream.add(3)
    assert [each.event_id for each in followed.read(stream)] == ["0", "1", "2"]
    before = followed.read(stream)
    stream.add(1)
    found = followed.read(stream)
    assert [each.event_id for each in found] == ["0", "1", "2", "3"]
    assert found[:3] == before
    assert [after for _, after in stream.asked] == [NEWEST, "2", "2"]
    assert (found[0].region, found[0].kind, found[0].at_ms) == ("east", "parked", NOW_MS)


def test_the_newest_are_kept_however_many_came_meanwhile():
    stream, followed = Stream(), FollowedEvents("east")
    stream.add(10)
    followed.read(stream)
    stream.add(5)
    assert len(followed.read(stream)) == 15
    stream.add(3 * EVENTS_MAX)
    found = followed.read(stream)
    assert len(found) == EVENTS_MAX
    assert found[-1].event_id == str(3 * EVENTS_MAX + 14)
    assert [int(each.event_id) for each in found] == sorted(int(each.event_id) for each in found)


def test_an_empty_stream_is_no_mistake():
    assert FollowedEvents("east").read(Stream()) == ()


def test_events_of_all_regions_stand_in_one_order():
    east, west = Stream(), Stream()
    east.add(2)
    west.add(1)
    build = event_fields(appliance("east", "west"))
    values = {
        events_key(name): FollowedEvents(name).read(each)
        for name, each in (("east", east), ("west", west))
    }
    found = build(answered(values), 0.0)["events"]
    assert [(each.region, each.event_id) for each in found] == [
        ("east", "0"),
        ("west", "0"),
        ("east", "1"),
    ]


def test_events_are_not_known_before_a_region_has_answered():
    both = appliance("east", "west")
    build = event_fields(both)
    assert build(Answers({}), 0.0) == {"events": None}
    assert build(answered({events_key("east"): ()}), 0.0) == {"events": ()}
    assert [each.key for each in event_questions(both, 1.0)] == [
        events_key("east"),
        events_key("west"),
    ]
