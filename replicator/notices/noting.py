"""Noting of events by a command, which is over before a writer's thread would begin."""

from __future__ import annotations

from collections.abc import Iterable

from replicator.config.topology import Region
from replicator.notices.event import Event
from replicator.notices.notice_store import NoticeStore
from replicator.runtime.store_errors import StoreUnreachable

TIMEOUT_SECONDS = 2.0


def note_events(region: Region, events: Iterable[Event]) -> bool:
    """Notes events in the region's Redis; returns False, and raises nothing, where it is away.

    What the events tell of counts all the same.
    """
    try:
        url = region.redis_url()
        with NoticeStore(url, region.name, timeout_seconds=TIMEOUT_SECONDS) as store:
            store.write(events=events)
    except (StoreUnreachable, OSError, ValueError):
        return False
    return True
