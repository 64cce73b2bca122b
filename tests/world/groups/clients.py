"""Clients of one region in a world, as the product's plan writer, planner and offset sync use them.

They are cut where librdkafka begins. Redis is reached by the product's own clients.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

from typing_extensions import override

from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance
from replicator.groups.failover.fresh_plans import FreshPlans
from replicator.groups.failover.positions import Logs
from replicator.groups.failover.survey import Makers, Survey
from replicator.groups.membership.primary_region import PrimaryRegion
from replicator.groups.membership.primary_store import PrimaryCopies, PrimaryStore
from replicator.groups.planning.failover_plan import Plan
from replicator.groups.planning.knowledge import Request
from tests.world.groups.group_offsets import OnWrite, WorldGroups
from tests.world.groups.members import Members
from tests.world.groups.primary_log import WorldPrimaryLog
from tests.world.groups.surveying import OneAfterTheOther, entries_of
from tests.world.kafka.admin import WorldAdmin
from tests.world.kafka.kafka_cluster import KafkaCluster

TIMEOUT_SECONDS = 5.0
OnGet = Callable[[str], None]
OnPlan = Callable[[Plan, float], None]


class Clients:
    """Makers of the clients of one region.

    Args:
        cluster: the region's aggregate.
        members: of its groups.
    """

    def __init__(
        self,
        appliance: Appliance,
        region: str,
        cluster: KafkaCluster,
        members: Members,
        dice: random.Random,
    ) -> None:
        self.region = region
        self._appliance, self._cluster, self._members = appliance, cluster, members
        self._dice = dice
        self._name = ClusterName.aggregate(region)
        self._settings = appliance.region(region).aggregate
        self.url = appliance.region(region).redis_url()

    def admin(self) -> WorldAdmin:
        return WorldAdmin(self._name, self._settings, self._cluster)

    def groups(
        self, on_write: OnWrite = lambda *_: None, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> WorldGroups:
        return WorldGroups(self.admin(), self._settings, timeout_seconds, self._members, on_write)

    def log(
        self, on_write: Callable[[list[PrimaryRegion]], None] = lambda _: None
    ) -> WorldPrimaryLog:
        return WorldPrimaryLog(
            self._name, self._settings, TIMEOUT_SECONDS, self._cluster, self._dice, on_write
        )

    def store(self, on_get: OnGet = lambda _: None) -> WatchedStore:
        return WatchedStore(self.url, on_get)

    def copies(self, on_get: OnGet, on_pass: Callable[[], None]) -> WatchedCopies:
        return WatchedCopies(self.url, self.region, on_get, on_pass)

    def survey(self, source: str) -> Survey:
        """Returns the survey of moves from another region to this one."""
        makers = Makers(
            admin=lambda *_: self.admin(),
            groups=lambda *_: self.groups(),
            entries=entries_of,
            threads=OneAfterTheOther,
        )
        return Survey(
            self._appliance,
            source,
            self.region,
            timeout_seconds=TIMEOUT_SECONDS,
            asks_source=False,
            makers=makers,
        )

    def plans(self, on_plan: OnPlan = lambda *_: None) -> WatchedPlans:
        """Returns a planner of moves to this region."""
        return WatchedPlans(
            on_plan,
            self._appliance,
            timeout_seconds=TIMEOUT_SECONDS,
            make_log=lambda *_: self.log(),
            make_survey=lambda _, source, *__, **___: self.survey(source),
        )


class WatchedPlans(FreshPlans):
    """Planner of moves.

    Args:
        on_plan: called with each plan, and when it was asked for.
    """

    def __init__(self, on_plan: OnPlan, appliance: Appliance, **options: Any) -> None:
        super().__init__(appliance, **options)
        self._on_plan = on_plan

    @override
    def plan(self, request: Request, **asked: Any) -> tuple[Plan, Logs]:
        asked_at = time.monotonic()
        made, logs = super().plan(request, **asked)
        self._on_plan(made, asked_at)
        return made, logs


class WatchedStore(PrimaryStore):
    """Decisions in a region's Redis, for plan writers and planners.

    Args:
        on_get: called with a group just before its decision is asked for.
    """

    def __init__(self, url: str, on_get: OnGet) -> None:
        super().__init__(url, timeout_seconds=TIMEOUT_SECONDS)
        self._on_get = on_get

    def get(self, group: str) -> PrimaryRegion | None:
        self._on_get(group)
        return super().get(group)


class WatchedCopies(PrimaryCopies):
    """Decisions in a region's Redis, for its offset sync; asking is watched in the same way.

    Args:
        on_pass: called once a pass has read all decisions.
    """

    def __init__(self, url: str, region: str, on_get: OnGet, on_pass: Callable[[], None]) -> None:
        super().__init__(url, region, timeout_seconds=TIMEOUT_SECONDS)
        self._on_get, self._on_pass = on_get, on_pass

    def all(self) -> dict[str, PrimaryRegion]:
        found = super().all()
        self._on_pass()
        return found

    def get(self, group: str) -> PrimaryRegion | None:
        self._on_get(group)
        return super().get(group)
