"""Events of all regions: only new ones are asked for, and the newest are kept."""

from __future__ import annotations

from replicator.notices.event import Event
from replicator.notices.notice_store import NEWEST
from tests.tui.facts.watch.told import NOW_MS, answered, appliance
from tui.facts.watch.event_questions import (
    EVENTS_MAX,
    FollowedEvents,
    event_fields,
    event_questions,
    events_key,
)
from tui.facts.watch.question import Answers


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
