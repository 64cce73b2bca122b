"""Operators: their name in records of decisions, and their events in a region's Redis."""

from __future__ import annotations

import getpass
import socket
import time
from collections.abc import Iterable

from replicator.config.topology import Region
from replicator.notices.event import Event
from replicator.notices.noting import note_events
from replicator.orders.order_records import AnyRecord, Order, key_of


def operator() -> str:
    """Returns user@host; the user is "nobody" when the account has no name."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "nobody"
    return f"{user}@{socket.gethostname()}"


def note_event(region: Region, kind: str, who: str, text: str, result: str) -> None:
    """Notes what an operator did. Best effort: without Redis the action counts all the same.

    Args:
        kind: such as order, decision, plan, audit.
        who: as user@host.
        result: such as done.
    """
    note_events(
        region,
        [
            Event(
                at_ms=time.time_ns() // 1_000_000,
                kind=kind,
                level="info",
                who=who,
                text=text,
                result=result,
            )
        ],
    )


def order_events(
    who: str, now_ms: int, written: Iterable[AnyRecord], taken_back: Iterable[AnyRecord]
) -> list[Event]:
    """Returns an event for each order that was written or taken back.

    Args:
        now_ms: Unix time in milliseconds.
        written, taken_back: records; those that are no orders have no event.
    """

    def event(record: AnyRecord, result: str, why: str) -> Event:
        text = key_of(record).decode() + (f": {why}" if why else "")
        return Event(at_ms=now_ms, kind="order", level="info", who=who, text=text, result=result)

    return [
        *(event(each, "recorded", each.why) for each in written if isinstance(each, Order)),
        *(event(each, "taken back", "") for each in taken_back if isinstance(each, Order)),
    ]
