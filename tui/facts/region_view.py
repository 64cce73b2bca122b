"""Regions of a snapshot: daemons, clusters, Redis and events of each."""

from __future__ import annotations

from dataclasses import dataclass

DAEMON_ROLES = ("replicate", "balance", "offsets", "aggregate", "verify")
SILENT, NO_RIGHT = "silent", "no right"
COPIES_STALE_SECONDS = 60.0
"""Age from which a failover's check warns of the copies of other regions' logs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonView:
    """Daemon of a region, or one that is missing.

    Args:
        state: "runs"; "missing" when the region's Redis answers and has no card of it; "unknown"
            when Redis does not answer, or not to this user; "not configured" for a role without
            anything to do.
        since_ms: Unix time in milliseconds at which it started.
    """

    role: str
    state: str
    version: str | None = None
    host: str | None = None
    pid: int | None = None
    since_ms: int | None = None
    doing: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionView:
    """Region with its servers and daemons.

    Args:
        regional, aggregate, redis: "ok", "silent", "no right" (it answers, but not to this user) or
            "unknown" (not asked yet).
        copies_age_seconds: age of the oldest copy of another region's log; None: not known, or
            there is one region only.
        problems: problems of its servers, as texts for people.
    """

    region: str
    daemons: tuple[DaemonView, ...] = ()
    regional: str = "unknown"
    aggregate: str = "unknown"
    redis: str = "unknown"
    copies_age_seconds: float | None = None
    problems: tuple[str, ...] = ()


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
