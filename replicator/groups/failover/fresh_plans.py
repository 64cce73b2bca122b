"""Fresh plans, made from what the target region and, if it answers, the source region know now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance, KafkaCluster
from replicator.groups.failover.survey import Survey
from replicator.groups.membership.decisions import RegionDecisions
from replicator.groups.membership.primary_log import PrimaryLog
from replicator.groups.membership.primary_region import PrimaryRegion, regions
from replicator.groups.membership.primary_store import PrimaryStore
from replicator.groups.planning.failover_plan import VALID_MS, Plan
from replicator.groups.planning.knowledge import Knowledge, LogRange, Request
from replicator.groups.planning.offset_planner import plan


class NoWay(ValueError):
    """Groups cannot move from the one region to the other. Name others, or configure routes."""


def checked(appliance: Appliance, source: str, target: str) -> None:
    """Raises NoWay, or UnknownRegion, where groups cannot move between these regions at all."""
    appliance.region(source)
    if source == target:
        raise NoWay(f"groups are in {source} already: --from and --to name the same region")
    for region in (source, target):
        if not appliance.routes_into(region):
            raise NoWay(f"no route leads into {region}: its aggregate holds nothing to read")


class FreshPlans:
    """Planner that asks the servers of one appliance anew for each plan.

    Args:
        make_log, make_survey: of the target region.
    """

    def __init__(
        self,
        appliance: Appliance,
        *,
        timeout_seconds: float = 15.0,
        make_log: Callable[[str, KafkaCluster, float], PrimaryLog] = PrimaryLog,
        make_survey: Callable[..., Survey] = Survey,
    ) -> None:
        self._appliance = appliance
        self._make_log, self._make_survey = make_log, make_survey
        self._timeout_seconds = timeout_seconds
        self._surveys: dict[tuple[str, str], Survey] = {}

    def groups(self, source: str, target: str) -> dict[str, str | None]:
        """Returns all groups that have committed, or live, in the source, as far as the target
        knows.

        The value is the region that the group lives in; None without a record. Raises as plan()
        does.
        """
        living = regions(self._decided(target))
        known = {*self._survey(source, target).groups()}
        known |= {group for group, region in living.items() if region == source}
        return {group: living.get(group) for group in known}

    def unmovable(self, source: str, target: str) -> Mapping[str, str]:
        """Returns the source's groups that no plan moves, with their types, as far as known."""
        return self._survey(source, target).unmovable()

    def knowledge(self, request: Request, now_ms: int) -> Knowledge:
        """Returns what is known now."""
        return self._survey(request.source, request.target).knowledge(request, now_ms)

    def plan(
        self, request: Request, *, plan_id: str, now_ms: int, valid_ms: int = VALID_MS
    ) -> tuple[Plan, Mapping[TopicPartition, LogRange | None]]:
        """Returns the plan, and the target's logs that it was made with.

        Raises AdminError, LogUnreadable or StoreUnreachable where the target does not answer.
        """
        # Read before everything else: a group that is moved meanwhile then has a newer record.
        records = self._decided(request.target)
        cluster_id = self._survey(request.source, request.target).cluster_id()
        known = self.knowledge(request, now_ms)
        known = replace(known, primary_regions={**regions(records), **known.primary_regions})
        made = plan(request, known, plan_id=plan_id, now_ms=now_ms, valid_ms=valid_ms)
        groups = tuple(
            replace(each, generation=record.generation)
            if (record := records.get(each.group))
            else each
            for each in made.groups
        )
        made = replace(made, groups=groups, target_cluster_id=cluster_id)
        return made, {partition: facts.there_log for partition, facts in known.partitions.items()}

    def _decided(self, target: str) -> dict[str, PrimaryRegion]:
        region = self._appliance.region(target)
        log = self._make_log(ClusterName.aggregate(target), region.aggregate, self._timeout_seconds)
        with PrimaryStore(region.redis_url(), timeout_seconds=self._timeout_seconds) as store:
            return RegionDecisions(store, log).all()

    def _survey(self, source: str, target: str) -> Survey:
        """Returns the survey of two regions, kept with its connections for the next call."""
        if (source, target) not in self._surveys:
            self._surveys[source, target] = self._make_survey(
                self._appliance, source, target, timeout_seconds=self._timeout_seconds
            )
        return self._surveys[source, target]
