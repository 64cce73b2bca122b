"""Regions, and when their servers were asked."""

from __future__ import annotations

from tests.tui.console.values.times import MINUTE_MS, NOW, NOW_MS
from tui.facts.part import Part
from tui.facts.region_view import DAEMON_ROLES, DaemonView, RegionView


def parts(age_seconds: float = 1.2) -> tuple[Part, ...]:
    """Returns parts of both regions that were answered `age_seconds` ago."""
    return tuple(
        Part(
            server=f"{region} {server}",
            about=about,
            asked_at=NOW - age_seconds,
            cadence_seconds=cadence,
        )
        for region in ("east", "west")
        for server, about, cadence in (
            ("regional", "topics", 30.0),
            ("aggregate", "ledger", 10.0),
            ("aggregate", "group lag", 10.0),
            ("redis", "reports", 2.0),
        )
    )


def daemons(version: str = "0.2.0", missing: str = "") -> tuple[DaemonView, ...]:
    """Returns the daemons of a region; the role `missing` is missing."""
    return tuple(
        DaemonView(role=role, state="missing")
        if role == missing
        else DaemonView(
            role=role,
            state="runs" if role in ("replicate", "balance", "offsets") else "not configured",
            version=version,
            host="repl-a",
            pid=417,
            since_ms=NOW_MS - 90 * MINUTE_MS,
        )
        for role in DAEMON_ROLES
    )


def region(name: str) -> RegionView:
    """Returns a healthy region."""
    return RegionView(
        region=name,
        daemons=daemons(),
        regional="ok",
        aggregate="ok",
        redis="ok",
        copies_age_seconds=0.3,
    )
