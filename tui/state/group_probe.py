"""Probe for consumer groups: asks one region's servers for primary regions and for members.

The region's Redis has reports of other regions' members, and copies of their decisions. A region
without a current report or a complete copy is asked directly, so a lost region costs a timeout.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from replicator.config.cluster_name import ClusterName
from replicator.config.names import OWN_PREFIX
from replicator.config.topology import Appliance
from replicator.groups.membership.activity import ActivityStore
from replicator.groups.membership.groups import Groups
from replicator.groups.membership.primary_log import PrimaryLog
from replicator.groups.membership.primary_region import PrimaryRegion, joined
from replicator.groups.membership.primary_store import PrimaryCopies, PrimaryStore
from tui.state.group_locations import GroupLocations
from tui.state.problems import answer_or_none


class GroupProbe:
    """Probe of one region. Blocking. An unreachable server becomes a problem, not an exception."""

    def __init__(self, appliance: Appliance, region: str, timeout_seconds: float) -> None:
        """Raises UnknownRegion."""
        self._appliance = appliance
        self._region = region
        self._url = appliance.region(region).redis_url()
        self._timeout_seconds = timeout_seconds
        self._problems: list[str] = []

    def read(self) -> GroupLocations:
        """Returns all groups known in the region, except Sluice's own (prefix `sluice.`)."""
        stored = answer_or_none(self._stored, self._problems.append)
        active, copied, records = stored or ({}, frozenset(), {})
        members, decisions = self._asked(
            [region for region in self._appliance.regions if region not in active],
            [region for region in self._appliance.regions if region not in copied],
        )
        active = dict(active) | {
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
            problems=tuple(dict.fromkeys(self._problems)),
        )

    def _stored(
        self,
    ) -> tuple[Mapping[str, frozenset[str]], frozenset[str], Mapping[str, PrimaryRegion]]:
        """Reads the region's Redis.

        Returns the groups with members by other region, the other regions whose decisions are
        copied in full, and the record of each group.
        """
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

    def _asked(
        self, for_members: Iterable[str], for_decisions: Iterable[str]
    ) -> tuple[dict[str, dict[str, bool]], list[dict[str, PrimaryRegion]]]:
        """Asks the aggregate clusters of these regions, all at the same time.

        Returns, by region, whether each group has members; and the decisions of each region that
        answered.
        """
        note = self._problems.append
        with ThreadPoolExecutor(2 * len(self._appliance.regions)) as threads:
            members = {
                region: threads.submit(answer_or_none, self._groups(region).members, note)
                for region in for_members
            }
            decisions = [
                threads.submit(answer_or_none, self._log(region).read, note)
                for region in for_decisions
            ]
        found = {region: it.result() for region, it in members.items()}
        return (
            {region: counts for region, counts in found.items() if counts is not None},
            [records for it in decisions if (records := it.result()) is not None],
        )

    def _groups(self, region: str) -> Groups:
        cluster = self._appliance.region(region).aggregate
        return Groups(ClusterName.aggregate(region), cluster, self._timeout_seconds)

    def _log(self, region: str) -> PrimaryLog:
        cluster = self._appliance.region(region).aggregate
        return PrimaryLog(ClusterName.aggregate(region), cluster, self._timeout_seconds)


def _is_application(group: str) -> bool:
    return not group.startswith(OWN_PREFIX)
