"""Who plans: the shape a balancer has to fill, and the one in place until it does."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from balancer.plan import Plan, TopicPartition, carriers_shared_out, sticky_round_robin


class Planner(Protocol):
    """Decides the next plan; called each time that topics were looked at."""

    def plan(
        self,
        partitions_by_route: Mapping[str, Collection[TopicPartition]],
        slots: int,
        previous: Plan,
    ) -> Plan:
        """The next plan, or the previous one itself when nothing needs to change.

        Args:
            partitions_by_route: by route key, what is to be carried.
            slots: how many Spark tasks can run at once.
            previous: the plan in force; the one before the first has version 0 and no loads.
        """
        ...


@dataclass(frozen=True, slots=True)
class EvenPlanner:
    """Places partitions by count alone; knows nothing of load."""

    carriers_per_route: int
    """0: the task slots are shared out among the routes."""

    def plan(
        self,
        partitions_by_route: Mapping[str, Collection[TopicPartition]],
        slots: int,
        previous: Plan,
    ) -> Plan:
        routes = tuple(partitions_by_route)
        if self.carriers_per_route:
            carriers = dict.fromkeys(routes, self.carriers_per_route)
        else:
            carriers = carriers_shared_out(routes, slots)
        return sticky_round_robin(partitions_by_route, carriers, previous)
