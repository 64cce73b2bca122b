"""Primary regions of consumer groups, as an operator records them."""

from __future__ import annotations

import time

from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance
from replicator.groups.membership.decisions import RegionDecisions
from replicator.groups.membership.primary_log import PrimaryLog
from replicator.groups.membership.primary_region import decided
from replicator.groups.membership.primary_store import PrimaryStore
from replicator.kafka.admin.admin_error import AdminUnreachable
from replicator.runtime.store_errors import StoreUnreachable
from tui.facts.group_locations import GroupLocations, PrimaryChange, PrimaryChanges
from tui.orders.operator_events import note_event


def set_primary_region(
    appliance: Appliance,
    locations: GroupLocations,
    region: str | None,
    *,
    why: str,
    who: str,
    timeout_seconds: float,
) -> PrimaryChanges:
    """Records the groups' primary region in the asked region's log, then in its Redis. Blocking.

    The log is durable, and `sluice offsets` copies it to Redis anyway. A group that already lives
    there gets no new record, so that repeating an interrupted action completes it.

    Args:
        locations: the groups, as the region that records the change knows them.
        region: primary region of the groups; None for any region.

    Raises:
        AdminUnreachable: earlier records are not known.
        AdminError, WriteUnknown: the log cannot be written.
    """
    recording = appliance.region(locations.region)
    name = ClusterName.aggregate(locations.region)
    if locations.records is None:
        raise AdminUnreachable(name, "what was decided before is not known")
    at_ms = time.time_ns() // 1_000_000
    changes = []
    for group in locations.groups:
        record = locations.records.get(group)
        is_new = (record.region if record else None) != region
        if is_new:
            record = decided(record, group, region, at_ms=at_ms, who=who, why=why)
        changes.append(PrimaryChange(group, record, is_new))
    problems: tuple[str, ...] = ()
    log = PrimaryLog(name, recording.aggregate, timeout_seconds)
    try:
        with PrimaryStore(recording.redis_url(), timeout_seconds=timeout_seconds) as store:
            RegionDecisions(store, log).record(
                (it.record for it in changes if it.is_new and it.record),
                (it.record for it in changes if it.record),
            )
    except StoreUnreachable as trouble:
        problems = (
            f"recorded in the log, but {trouble}; `sluice offsets` copies the record to Redis when "
            "Redis answers again",
        )
    groups = ", ".join(each.group for each in changes if each.is_new)
    if groups:
        text = f"primary region {region or 'any'} of {groups}: {why}"
        note_event(recording, "decision", who, text, "recorded")
    return PrimaryChanges(tuple(changes), problems)
