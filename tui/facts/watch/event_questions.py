"""Questions about the events of all regions, and the snapshot's field that their answers make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from heapq import merge

from replicator.config.topology import Appliance
from replicator.notices.notice_store import NEWEST, NoticeStore
from tui.facts.region_view import RegionEvent
from tui.facts.watch.kept_client import kept_question
from tui.facts.watch.notice_questions import redis_name
from tui.facts.watch.question import Answers, Key, Question

EVENTS_SECONDS = 2.0
EVENTS_MAX = 1000
"""Events of a region that are kept, and asked for at once."""


def events_key(region: str) -> Key:
    return Key(redis_name(region), "events")


class FollowedEvents:
    """Newest events of one region; each look asks only for those after the last known one."""

    def __init__(self, region: str) -> None:
        self._region = region
        self._known: tuple[RegionEvent, ...] = ()

    def read(self, store: NoticeStore) -> tuple[RegionEvent, ...]:
        """Returns the newest EVENTS_MAX events, the oldest first. Raises as the store does."""
        last = self._known[-1].event_id if self._known else NEWEST
        found = store.events(EVENTS_MAX, last)
        if last != NEWEST and len(found) == EVENTS_MAX:
            # There may be more of them than are kept; only the newest count.
            found = store.events(EVENTS_MAX)
            self._known = ()
        if found:
            new = tuple(
                RegionEvent(region=self._region, event_id=event_id, **asdict(event))
                for event_id, event in found
            )
            self._known = (self._known + new)[-EVENTS_MAX:]
        return self._known


def event_questions(appliance: Appliance, timeout_seconds: float) -> list[Question]:
    """Returns a question about the events of each region; nothing is asked yet."""
    return [_question(appliance, region, timeout_seconds) for region in sorted(appliance.regions)]


def _question(appliance: Appliance, name: str, timeout_seconds: float) -> Question:
    redis = appliance.region(name).redis_url
    return kept_question(
        events_key(name),
        EVENTS_SECONDS,
        lambda: NoticeStore(redis(), name, timeout_seconds=timeout_seconds),
        FollowedEvents(name).read,
    )


def event_fields(appliance: Appliance) -> Callable[[Answers, float], dict[str, object]]:
    """Returns the builder of the snapshot's field `events`."""
    regions = sorted(appliance.regions)
    return lambda answers, _: {"events": events_of(regions, answers)}


def events_of(regions: list[str], answers: Answers) -> tuple[RegionEvent, ...] | None:
    """Returns the events of all regions, the oldest first; None until a region has answered."""
    values = (answers.value(events_key(region)) for region in regions)
    found: list[tuple[RegionEvent, ...]] = [each for each in values if each is not None]
    if not found:
        return None
    # Within a region the order of the stream stays, also where a process's clock is wrong.
    return tuple(merge(*found, key=lambda event: event.at_ms))
