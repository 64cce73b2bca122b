"""Offset sync of `sluice offsets`: keeps offsets here in step for groups of other regions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance
from replicator.groups.failover.survey import Survey
from replicator.groups.membership.activity import ActivityStore
from replicator.groups.membership.groups import Groups
from replicator.groups.membership.primary_store import PrimaryCopies
from replicator.groups.offset_sync.passes import PassFailed
from replicator.groups.offset_sync.region_commits import ANSWER_SECONDS_MAX, RegionCommits
from replicator.groups.offset_sync.region_sync import (
    REST_SHARE,
    Here,
    OtherRegion,
    RegionSync,
    WrittenPositions,
)
from replicator.groups.offset_sync.vector_limit import VectorLimit
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.admin_error import AdminError
from replicator.runtime.store_errors import StoreUnreachable

DECISIONS_AGE_MS_MAX = 15_000
"""Age of the decisions above which nothing is written. A working copier keeps them below a second
(daemon.py).
"""


@dataclass(frozen=True, slots=True)
class SyncCounts:
    """Figures for metrics.

    Args:
        groups: groups that live in another configured region.
        active: those of them that have members here, so that nothing is written.
        unknown: positions of which nothing was known when they were last planned.
        refused: positions that stay where they are, because Redis contradicts Kafka about them.
        written: positions written since the start.
    """

    groups: int = 0
    active: int = 0
    unknown: int = 0
    refused: int = 0
    written: int = 0


class OffsetSync:
    """Offset sync of one region. Blocking; two at the same time do no harm.

    Args:
        others: returns another region by its name; `other_region` unless given.
        here: this region; `this_region` unless given.
        timeout_seconds: for each server's answer.
        rest_share: how many times its duration a pass pauses after work.
    """

    def __init__(
        self,
        appliance: Appliance,
        region: str,
        *,
        others: Callable[[str], OtherRegion] | None = None,
        here: Here | None = None,
        timeout_seconds: float = 5.0,
        rest_share: float = REST_SHARE,
    ) -> None:
        self._appliance = appliance
        self._here = here or this_region(appliance, region, timeout_seconds)
        self._activity = ActivityStore(self._here.redis_url, timeout_seconds=timeout_seconds)
        self._others = others or (
            lambda other: other_region(appliance, other, region, timeout_seconds)
        )
        self._rest_share = rest_share
        self._limit = VectorLimit()
        self._regions: dict[str, RegionSync] = {}
        self._counts = SyncCounts()
        self._written = WrittenPositions()

    @property
    def counts(self) -> SyncCounts:
        """Figures of the last pass, and the positions written so far."""
        return replace(self._counts, written=self._written.count)

    def once(self, now_ms: int) -> None:
        """Plans the groups for which something has changed, and writes what differs.

        Does nothing until Redis is known to have this region's own decisions. A flushed Redis may
        receive the other regions' decisions first, by which a group still lives elsewhere.

        Raises PassFailed once all that could be done is done, or StoreUnreachable.
        """
        age_ms = self._here.primaries.age(now_ms)
        if age_ms is None:
            return
        if age_ms > DECISIONS_AGE_MS_MAX:
            raise PassFailed(
                f"the last known decisions of {self._here.name} are {age_ms / 1000:.0f} s old; "
                "nothing is written until newer ones are known"
            )
        living = self._living_elsewhere()
        for name in self._regions.keys() - living.keys():
            del self._regions[name]
        if not living:
            self._counts = SyncCounts()
            return
        active = self._activity.active(now_ms).get(self._here.name, frozenset())
        errors = []
        for name, groups in sorted(living.items()):
            try:
                self._region(name).once(groups, active, now_ms)
            except (AdminError, StoreUnreachable) as error:
                errors.append(f"{name}: {error}")
        everyone = set().union(*living.values())
        self._counts = SyncCounts(
            groups=len(everyone),
            active=len(everyone & active),
            unknown=sum(region.unknown for region in self._regions.values()),
            refused=sum(region.refused for region in self._regions.values()),
        )
        if errors:
            raise PassFailed("; ".join(errors))

    def _living_elsewhere(self) -> dict[str, set[str]]:
        """Returns the groups that live in another configured region, by region."""
        living: dict[str, set[str]] = {}
        for group, record in self._here.primaries.all().items():
            if record.region in self._appliance.regions and record.region != self._here.name:
                living.setdefault(str(record.region), set()).add(group)
        return living

    def _region(self, name: str) -> RegionSync:
        if name not in self._regions:
            self._regions[name] = RegionSync(
                self._others(name),
                self._here,
                self._limit,
                self._written,
                rest_share=self._rest_share,
            )
        return self._regions[name]


def this_region(appliance: Appliance, region: str, timeout_seconds: float) -> Here:
    """Returns a region of the appliance, with clients of its own servers."""
    here = appliance.region(region)
    url, name = here.redis_url(), ClusterName.aggregate(region)
    return Here(
        region,
        url,
        Admin(name, here.aggregate, timeout_seconds),
        Groups(name, here.aggregate, timeout_seconds),
        PrimaryCopies(url, region, timeout_seconds=timeout_seconds),
        timeout_seconds,
    )


def other_region(
    appliance: Appliance, other: str, here: str, timeout_seconds: float
) -> OtherRegion:
    """Returns another region of the appliance, whose own servers are asked for commits only."""
    aggregate = appliance.region(other).aggregate
    return OtherRegion(
        other,
        tuple(appliance.routes_into(other)),
        Survey(appliance, other, here, timeout_seconds=timeout_seconds, asks_source=False),
        RegionCommits(other, Groups(ClusterName.aggregate(other), aggregate, ANSWER_SECONDS_MAX)),
    )
