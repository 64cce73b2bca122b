"""Plan without groups; tests replace the fields that they are about."""

from replicator.groups.planning.failover_plan import Completeness, Plan

EMPTY = Plan(
    id="p1",
    created_at_ms=1_000,
    expires_at_ms=301_000,
    source="west",
    target="east",
    reason="west is lost",
    is_planned=False,
    age_ms=800,
    completeness=Completeness(1, 1, 1),
    checks=(),
    groups=(),
)
