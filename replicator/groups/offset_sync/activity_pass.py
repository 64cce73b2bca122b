"""Passes that publish this region's groups: those with members, and those that no plan moves.

The first also reads the groups with members of the other regions. So groups with members outside
their primary region are found.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from replicator.config.cluster_name import ClusterName
from replicator.config.names import OWN_PREFIX
from replicator.config.topology import Appliance
from replicator.groups.membership.activity import ActivityStore
from replicator.groups.membership.group_types import unmovable
from replicator.groups.membership.groups import Groups
from replicator.groups.membership.out_of_place import OutOfPlace, out_of_place
from replicator.groups.membership.primary_store import PrimaryStore
from replicator.groups.membership.unmovable_store import UnmovableStore
from replicator.groups.offset_sync.passes import PassFailed
from replicator.kafka.admin.admin_error import AdminError
from replicator.runtime.store_errors import StoreUnreachable

logger = logging.getLogger(__name__)

# Timeout for a server that is away. What was published last stays fresh for three times as long.
ASK_SECONDS_MAX = 5.0


class ActivityPass:
    """Pass of one region. Blocking; a Redis that is away holds up no other."""

    def __init__(
        self,
        region: str,
        groups: Groups,
        primaries: PrimaryStore,
        stores: Mapping[str, ActivityStore],
        now_ms: Callable[[], int],
    ) -> None:
        """Takes the clients of the pass.

        Args:
            groups: of this region's aggregate.
            primaries: in this region's Redis.
            stores: by region, of every region, with this one's.
            now_ms: a clock.
        """
        self._region = region
        self._groups = groups
        self._primaries = primaries
        self._stores = stores
        self._now_ms = now_ms
        self._seen: Mapping[str, OutOfPlace] = {}
        self._found: Mapping[str, OutOfPlace] = {}
        self.out_of_place: Mapping[str, OutOfPlace] | None = None
        """Groups with members outside their primary region, as last found; None: not known."""

    def once(self) -> None:
        """Publishes this region's groups, reads those of all, and logs what began or ended.

        Raises PassFailed once all that could be done is done.
        """
        troubles: list[Exception] = []
        try:
            groups = self._groups.members()
        except AdminError as trouble:
            troubles.append(trouble)
        else:
            troubles += self._publish(
                frozenset(
                    group
                    for group, has_members in groups.items()
                    if has_members and not group.startswith(OWN_PREFIX)
                )
            )
        try:
            self._look_for_out_of_place()
        except StoreUnreachable as trouble:
            self.out_of_place = None
            troubles.append(trouble)
        if troubles:
            raise PassFailed("; ".join(dict.fromkeys(map(str, troubles))))

    def _publish(self, groups: frozenset[str]) -> list[Exception]:
        def publish(store: ActivityStore) -> Exception | None:
            try:
                store.publish(self._region, groups, self._now_ms())
            except StoreUnreachable as trouble:
                return trouble
            return None

        with ThreadPoolExecutor(len(self._stores)) as threads:
            return [trouble for trouble in threads.map(publish, self._stores.values()) if trouble]

    def _look_for_out_of_place(self) -> None:
        active = self._stores[self._region].active(self._now_ms())
        seen = out_of_place(self._primaries.all(), active)
        # A group seen only once may just have moved: each region publishes at its own time.
        found = {group: it for group, it in seen.items() if group in self._seen}
        for group, it in found.items():
            if it != self._found.get(group):
                _report(it)
        for group in self._found.keys() - found.keys():
            silent = [region for region in self._found[group].outside if region not in active]
            why = f"; {' and '.join(silent)} published nothing lately" if silent else ""
            logger.warning("event=group-in-place group %r is not out of place now%s", group, why)
        self._seen, self._found, self.out_of_place = seen, found, found


class UnmovablePass:
    """Pass that publishes one region's groups that no plan moves, to the Redis of all regions."""

    def __init__(
        self,
        region: str,
        groups: Groups,
        stores: Iterable[UnmovableStore],
        now_ms: Callable[[], int],
    ) -> None:
        self._region = region
        self._groups = groups
        self._stores = tuple(stores)
        self._now_ms = now_ms

    def once(self) -> None:
        """Publishes the groups. Raises AdminError, or PassFailed for each Redis that is away."""
        found = unmovable({name: it.type for name, it in self._groups.listed().items()})
        troubles = []
        for store in self._stores:
            try:
                store.publish(self._region, found, self._now_ms())
            except StoreUnreachable as trouble:
                troubles.append(str(trouble))
        if troubles:
            raise PassFailed("; ".join(troubles))


def activity_pass(appliance: Appliance, region: str) -> ActivityPass:
    """Returns a region's pass, with connections to its aggregate and to all regions' Redis."""
    here = appliance.region(region)
    return ActivityPass(
        region,
        Groups(ClusterName.aggregate(region), here.aggregate, timeout_seconds=ASK_SECONDS_MAX),
        PrimaryStore(here.redis_url(), timeout_seconds=ASK_SECONDS_MAX),
        {name: ActivityStore(it.redis_url()) for name, it in appliance.regions.items()},
        lambda: time.time_ns() // 1_000_000,
    )


def unmovable_pass(appliance: Appliance, region: str) -> UnmovablePass:
    """Returns a region's pass, with connections to its aggregate and to all regions' Redis."""
    here = appliance.region(region)
    return UnmovablePass(
        region,
        Groups(ClusterName.aggregate(region), here.aggregate, timeout_seconds=ASK_SECONDS_MAX),
        [UnmovableStore(it.redis_url()) for it in appliance.regions.values()],
        lambda: time.time_ns() // 1_000_000,
    )


def _report(it: OutOfPlace) -> None:
    if it.is_twice:
        logger.error("event=group-active-twice %s", it)
    else:
        logger.warning("event=group-out-of-place %s", it)
