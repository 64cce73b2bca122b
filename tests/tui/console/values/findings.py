"""Alerts, events and audits."""

from __future__ import annotations

from replicator.audit.kept_audit import KeptAudit
from tests.tui.console.values.times import MINUTE_MS, NOW_MS, REFUSED
from tui.facts.alert import Alert, AlertState, Level
from tui.facts.region_view import RegionEvent


def alerts() -> tuple[Alert, ...]:
    """Returns an open alert of each level and an acknowledged one."""
    return (
        Alert(
            key="condition/source-silent/west>east//",
            region="east",
            level=Level.PAGE,
            state=AlertState.OPEN,
            kind="condition",
            text="west regional does not answer since 14:01:10",
            since_ms=NOW_MS - 81_000,
            about=("west>east", "west>west"),
        ),
        Alert(
            key="balance/hot/east>west/orders/17",
            region="west",
            level=Level.WARN,
            state=AlertState.OPEN,
            kind="balance",
            text="orders-17 takes 0.84 of a carrier",
            since_ms=NOW_MS - 10 * MINUTE_MS,
            about=("east>west",),
            topic="orders",
            partition=17,
        ),
        Alert(
            key="audit/east>west",
            region="west",
            level=Level.WARN,
            state=AlertState.ACKNOWLEDGED,
            kind="audit",
            text="audit of east>west: 1 partition differs",
            since_ms=NOW_MS - 50 * MINUTE_MS,
            about=("east>west",),
            who="alice@ops",
            why="looking",
            rows=("orders-3 DIFFERS source 100, target 99",),
            command=("audit", "--route", "east>west", "--partitions", "--by", "bytes"),
        ),
    )


def events() -> tuple[RegionEvent, ...]:
    """Returns a log event and an operator's event."""
    return (
        RegionEvent(
            region="east",
            event_id="1795269690000-0",
            at_ms=NOW_MS - 81_000,
            kind="source-silent",
            level="warning",
            who="replicate east",
            text=f"west regional does not answer: {REFUSED}",
        ),
        RegionEvent(
            region="west",
            event_id="1795268431000-0",
            at_ms=NOW_MS - 22 * MINUTE_MS,
            kind="order",
            level="info",
            who="alice@ops",
            text="pause-topic clicks: load test",
            result="done",
        ),
    )


def audits() -> tuple[KeptAudit, ...]:
    """Returns an audit that found nothing."""
    return (
        KeptAudit(
            route="west>east",
            at_ms=NOW_MS - 50 * MINUTE_MS,
            since_ms=NOW_MS - 110 * MINUTE_MS,
            until_ms=NOW_MS - 50 * MINUTE_MS,
            by="count",
            who="alice@ops",
            counts={"equal": 12},
        ),
    )
