"""Probe for consumer groups: asks one region's servers for primary regions and for members.

The region's Redis has reports of other regions' members, and copies of their decisions. A region
without a current report or a complete copy is asked directly, so a lost region costs a timeout.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from replicator.config.cluster_name import ClusterName
from replicator.config.names import OWN_PREFIX
from replicator.config.topology import Appliance, KafkaCluster
from replicator.groups.membership.activity import ActivityStore
from replicator.groups.membership.groups import Groups
from replicator.groups.membership.primary_log import PrimaryLog
from replicator.groups.membership.primary_region import PrimaryRegion, joined
from replicator.groups.membership.primary_store import PrimaryCopies, PrimaryStore
from tui.state.group_locations import GroupLocations
from tui.state.inquiry import Inquiry, Reply

REDIS_FIRST_PART = 0.3
"""Part of the timeout after which a region is asked although Redis may still tell about it."""

Stored = tuple[Mapping[str, frozenset[str]], frozenset[str], Mapping[str, PrimaryRegion]]
"""Groups with members by other region, the other regions whose decisions are copied in full, and
the record of each group."""


class GroupProbe:
    """Probe of one region. Blocking. An unreachable server becomes a problem, not an exception."""

    def __init__(self, appliance: Appliance, region: str, timeout_seconds: float) -> None:
        """Raises UnknownRegion."""
        self._appliance = appliance
        self._region = region
        self._url = appliance.region(region).redis_url()
        self._timeout_seconds = timeout_seconds

    def read(self) -> GroupLocations:
        """Returns all groups known in the region, except Sluice's own (prefix `sluice.`).

        Takes the timeout at the longest.
        """
        inquiry = Inquiry(self._timeout_seconds)
        asked_redis = inquiry.ask(f"{self._region} Redis", self._stored)
        asked_members = {
            region: self._ask_members(inquiry, region, asked_redis)
            for region in self._appliance.regions
        }
        asked_decisions = [
            self._ask_decisions(inquiry, region, asked_redis) for region in self._appliance.regions
        ]
        stored = asked_redis.answer()
        reported, _, records = stored or ({}, frozenset(), {})
        found = {region: reply.answer() for region, reply in asked_members.items()}
        members = {region: counts for region, counts in found.items() if counts is not None}
        decisions = [it for reply in asked_decisions if (it := reply.answer()) is not None]
        active = dict(reported) | {
            region: frozenset(group for group, has_members in counts.items() if has_members)
            for region, counts in members.items()
        }
        known = set(members.get(self._region, ())).union(*active.values())
        newest = joined([*records.values(), *(it for some in decisions for it in some.values())])
        is_known = stored is not None or bool(decisions)
        return GroupLocations(
            region=self._region,
            records=newest if is_known else None,
            active=active,
            silent=tuple(region for region in self._appliance.regions if region not in active),
            groups=tuple(sorted(it for it in known | set(newest) if _is_application(it))),
            problems=tuple(dict.fromkeys(inquiry.problems.values())),
        )

    def _stored(self) -> Stored:
        """Reads the region's Redis."""
        now_ms = time.time_ns() // 1_000_000
        copied = set()
        for region in self._appliance.regions:
            with PrimaryCopies(self._url, region, timeout_seconds=self._timeout_seconds) as copies:
                if copies.age(now_ms) is not None:
                    copied.add(region)
        # Read after the ages, so that no decision from before those times is missing.
        with PrimaryStore(self._url, timeout_seconds=self._timeout_seconds) as store:
            records = store.all()
        with ActivityStore(self._url, timeout_seconds=self._timeout_seconds) as activity:
            active = activity.active(now_ms)
        # The own region is left out, so that it is asked directly: its Redis may lag behind it.
        own = self._region
        others = {region: groups for region, groups in active.items() if region != own}
        return others, frozenset(copied - {own}), records

    def _ask_members(
        self, inquiry: Inquiry, region: str, asked_redis: Reply[Stored]
    ) -> Reply[dict[str, bool]]:
        """Asks a region's aggregate which groups have members, unless Redis has its report."""
        name, cluster = self._cluster(region)
        needed = inquiry.ask(name, lambda: self._lacks(asked_redis, lambda it: region in it[0]))
        groups = Groups(name, cluster, self._timeout_seconds)
        return inquiry.ask_cluster(name, cluster, lambda _: groups.members(), [needed])

    def _ask_decisions(
        self, inquiry: Inquiry, region: str, asked_redis: Reply[Stored]
    ) -> Reply[dict[str, PrimaryRegion]]:
        """Asks a region's aggregate for its decisions, unless Redis has a copy of them."""
        name, cluster = self._cluster(region)
        needed = inquiry.ask(name, lambda: self._lacks(asked_redis, lambda it: region in it[1]))
        log = PrimaryLog(name, cluster, self._timeout_seconds)
        return inquiry.ask_cluster(name, cluster, lambda _: log.read(), [needed])

    def _lacks(self, asked_redis: Reply[Stored], has: Callable[[Stored], bool]) -> bool | None:
        """Returns True if Redis lacks something or does not answer soon; None if it has it."""
        stored = asked_redis.early(self._timeout_seconds * REDIS_FIRST_PART)
        return None if stored is not None and has(stored) else True

    def _cluster(self, region: str) -> tuple[ClusterName, KafkaCluster]:
        return ClusterName.aggregate(region), self._appliance.region(region).aggregate


def _is_application(group: str) -> bool:
    return not group.startswith(OWN_PREFIX)
