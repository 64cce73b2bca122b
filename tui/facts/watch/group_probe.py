"""Probe for consumer groups: asks one region's servers for primary regions and for members.

The region's Redis has reports of other regions' members, and copies of their decisions. A region
without a current report or a complete copy is asked directly, so a lost region costs a timeout.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial

from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance
from replicator.groups.membership.activity import ActivityStore
from replicator.groups.membership.groups import Groups
from replicator.groups.membership.primary_log import PrimaryLog
from replicator.groups.membership.primary_region import PrimaryRegion, joined
from replicator.groups.membership.primary_store import PrimaryCopies, PrimaryStore
from replicator.groups.membership.unmovable_store import UnmovableStore
from replicator.kafka.protocol.group_list import ListedGroup
from tui.facts.group_locations import GroupLocations, is_application
from tui.facts.watch.inquiry import Inquiry, Reply
from tui.facts.watch.problems import Answer

REDIS_FIRST_PART = 0.3
"""Part of the timeout after which a region is asked although Redis may still tell about it."""

Stored = tuple[
    Mapping[str, frozenset[str]],
    frozenset[str],
    Mapping[str, PrimaryRegion],
    Mapping[str, str],
]
"""Groups with members by other region, the other regions whose decisions are copied in full, the
record of each group, and the types of the groups that no plan moves."""


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
        asked_members: dict[str, Reply[dict[str, ListedGroup]]] = {}
        asked_decisions: list[Reply[dict[str, PrimaryRegion]]] = []
        for region in self._appliance.regions:
            is_reported, is_copied = partial(_is_reported, region), partial(_is_copied, region)
            groups, log = self._groups(region), self._log(region)
            asked_members[region] = self._ask(
                inquiry, region, asked_redis, is_reported, groups.listed
            )
            asked_decisions.append(self._ask(inquiry, region, asked_redis, is_copied, log.read))
        stored = asked_redis.answer()
        reported, _, records, types = stored or ({}, frozenset(), {}, {})
        found = {region: reply.answer() for region, reply in asked_members.items()}
        members = {region: listed for region, listed in found.items() if listed is not None}
        decisions = [it for reply in asked_decisions if (it := reply.answer()) is not None]
        active = dict(reported) | {
            region: frozenset(name for name, group in listed.items() if group.has_members)
            for region, listed in members.items()
        }
        asked = {name: it.type for listed in members.values() for name, it in listed.items()}
        known = set(members.get(self._region, ())).union(types, *active.values())
        newest = joined([*records.values(), *(it for some in decisions for it in some.values())])
        is_known = stored is not None or bool(decisions)
        return GroupLocations(
            region=self._region,
            records=newest if is_known else None,
            active=active,
            silent=tuple(region for region in self._appliance.regions if region not in active),
            groups=tuple(sorted(it for it in known | set(newest) if is_application(it))),
            problems=tuple(dict.fromkeys(inquiry.problems.values())),
            types={**types, **asked},
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
        with UnmovableStore(self._url, timeout_seconds=self._timeout_seconds) as unmovable:
            types = [unmovable.get(it) or {} for it in self._appliance.regions if it != own]
        named = {group: type_ for some in types for group, type_ in some.items()}
        return others, frozenset(copied - {own}), records, named

    def _ask(
        self,
        inquiry: Inquiry,
        region: str,
        asked_redis: Reply[Stored],
        has: Callable[[Stored], bool],
        question: Callable[[], Answer],
    ) -> Reply[Answer]:
        """Asks a region's aggregate, unless Redis has the answer and tells it soon."""

        def lacks() -> bool | None:
            stored = asked_redis.early(inquiry.left(REDIS_FIRST_PART))
            return None if stored is not None and has(stored) else True

        name, cluster = ClusterName.aggregate(region), self._appliance.region(region).aggregate
        needed = inquiry.ask(name, lacks)
        return inquiry.ask_cluster(name, cluster, lambda _: question(), [needed])

    def _groups(self, region: str) -> Groups:
        cluster = self._appliance.region(region).aggregate
        return Groups(ClusterName.aggregate(region), cluster, self._timeout_seconds)

    def _log(self, region: str) -> PrimaryLog:
        cluster = self._appliance.region(region).aggregate
        return PrimaryLog(ClusterName.aggregate(region), cluster, self._timeout_seconds)


def _is_reported(region: str, stored: Stored) -> bool:
    reported, *_ = stored
    return region in reported


def _is_copied(region: str, stored: Stored) -> bool:
    _, copied, *_ = stored
    return region in copied
