"""Primary regions of consumer groups, as an operator records them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance
from replicator.groups.membership.decisions import RegionDecisions
from replicator.groups.membership.primary_log import PrimaryLog
from replicator.groups.membership.primary_region import PrimaryRegion, decided
from replicator.groups.membership.primary_store import PrimaryStore
from replicator.kafka.admin.admin_error import AdminUnreachable
from replicator.runtime.store_errors import StoreUnreachable
from tui.facts.group_view import GroupView
from tui.orders.operator_events import note_event


@dataclass(frozen=True, slots=True)
class PrimaryChange:
    """Change of the primary region of one group.

    Args:
        record: record that counts now; None when the group has none and needs none.
        is_new: True when the change made the record; False when the group lived there already.
    """

    group: str
    record: PrimaryRegion | None
    is_new: bool


@dataclass(frozen=True, slots=True)
class PrimaryChanges:
    """Changes of all groups that an operator names, and what could not be finished."""

    changes: tuple[PrimaryChange, ...]
    problems: tuple[str, ...] = ()


def set_primary_region(
    appliance: Appliance,
    recorded_by: str,
    groups: Sequence[GroupView],
    region: str | None,
    *,
    why: str,
    who: str,
    timeout_seconds: float,
) -> PrimaryChanges:
    """Records the groups' primary region in a region's log, then in its Redis. Blocking.

    The log is durable, and `sluice offsets` copies it to Redis anyway. A group that already lives
    there gets no new record, so that repeating an interrupted action completes it.

    Args:
        recorded_by: region that records the change.
        groups: as that region knows them.
        region: primary region of the groups; None for any region.

    Raises:
        AdminUnreachable: earlier records are not known.
        AdminError, WriteUnknown: the log cannot be written.
    """
    recording = appliance.region(recorded_by)
    name = ClusterName.aggregate(recorded_by)
    if any(each.has_record is None for each in groups):
        raise AdminUnreachable(name, "what was decided before is not known")
    at_ms = time.time_ns() // 1_000_000
    changes = []
    for each in groups:
        record = record_of(each)
        is_new = each.primary != region
        if is_new:
            record = decided(record, each.group, region, at_ms=at_ms, who=who, why=why)
        changes.append(PrimaryChange(each.group, record, is_new))
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
    changed = ", ".join(each.group for each in changes if each.is_new)
    if changed:
        text = f"primary region {region or 'any'} of {changed}: {why}"
        note_event(recording, "decision", who, text, "recorded")
    return PrimaryChanges(tuple(changes), problems)


def record_of(group: GroupView) -> PrimaryRegion | None:
    """Returns the record of a group's primary region; None where it has none, or none is known."""
    if group.decided_at_ms is None:
        return None
    return PrimaryRegion(
        group=group.group,
        region=group.primary,
        generation=group.generation or 0,
        at_ms=group.decided_at_ms,
        who=group.who or "",
        why=group.why or "",
        plan_id=group.plan_id,
        previous=group.previous,
    )
