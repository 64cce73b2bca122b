"""Event of a snapshot: an event with the region whose Redis has it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionEvent:
    """Event of one region.

    Args:
        event_id: of the region's stream; grows with time.
        level: info, warning or error.
        result: of what an operator did; "" for events of logs.
    """

    region: str
    event_id: str
    at_ms: int
    kind: str
    level: str
    who: str
    text: str
    result: str = ""
