"""Keeping of an audit's verdicts where the console and other operators find them."""

from __future__ import annotations

from replicator.audit.audit import AuditRequest, AuditResult
from replicator.audit.kept_audit import KeptAudit, counts_of, kept_rows
from replicator.audit.kept_audits import KeptAudits
from replicator.config.topology import Appliance
from replicator.runtime.store_errors import StoreUnreachable
from tui.orders.operator_events import note_event


def keep_audit(
    appliance: Appliance,
    request: AuditRequest,
    found: AuditResult,
    *,
    who: str,
    timeout_seconds: float,
) -> list[str]:
    """Keeps the verdict on each route in the Redis of its target region, and notes an event.

    Returns the reasons why a verdict could not be kept.
    """
    troubles: dict[str, str] = {}
    for route in request.routes:
        region = appliance.region(route.target)
        if region.name in troubles:
            continue
        rows = [row for row in found.rows if row.route == route.name]
        audit = KeptAudit(
            route=route.name,
            at_ms=request.now_ms,
            since_ms=request.window.since_ms,
            until_ms=request.window.until_ms,
            by=request.depth.value,
            who=who,
            counts=counts_of(rows),
            problems=found.problems,
            rows=kept_rows(rows),
        )
        try:
            with KeptAudits(region.redis_url(), timeout_seconds=timeout_seconds) as kept:
                kept.keep(route, audit)
        except (StoreUnreachable, OSError, ValueError) as error:
            troubles[region.name] = f"verdicts on routes into {region.name} are not kept: {error}"
            continue
        counts = ", ".join(f"{count} {verdict}" for verdict, count in audit.counts.items())
        text = f"{route}: partitions: {counts or 'none compared'}"
        note_event(region, "audit", who, text, audit.worst.value if audit.worst else "unknown")
    return list(troubles.values())
