"""Snapshot of a route: the knowledge that the rounds of its streams decide from."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from math import inf

from balancer.decision.freeze import MEASURED_PART_MIN
from balancer.demand.demand import measured_part
from balancer.demand.load_model import LoadModel
from balancer.demand.throughput_file import Throughput
from balancer.demand.window import Rate
from balancer.topic_partition import TopicPartition
from replicator.mirror.offset_map.reports import PartitionReport
from replicator.orders.active_plan import ActivePlan
from replicator.orders.order_log import OrderLog
from replicator.placement.rounds.route_settings import COSTS_DEFAULT


@dataclass(frozen=True, slots=True)
class RouteSnapshot:
    """Knowledge about a route at one time.

    Args:
        now_ms: Unix time in milliseconds.
        uptime_ms: time for which balancers of the target region have been active.
        order_log, active_plan: of the target region.
        rates: expected rates of the source's partitions.
        fresh: partitions that were measured lately.
        plan_seconds: time for which this process has seen the plan; infinite if it looks once.
        reports: newest report of each of this route's partitions.
        unchanged_seconds: by carrier, the time for which this process has seen the same reports; 0
            for a carrier that is not in it.
        degraded: reason why no rate can be believed; None if rates can be.
        costs: cost of carrying, if no capacity is configured.
        throughput: content of the throughput file for the source's partitions.
    """

    now_ms: int
    order_log: OrderLog
    active_plan: ActivePlan
    uptime_ms: int = 0
    plan_seconds: float = inf
    rates: Mapping[TopicPartition, Rate] = field(default_factory=dict)
    fresh: Set[TopicPartition] = frozenset()
    reports: Mapping[TopicPartition, PartitionReport] = field(default_factory=dict)
    unchanged_seconds: Mapping[int, float] = field(default_factory=dict)
    degraded: str | None = None
    costs: LoadModel = COSTS_DEFAULT
    throughput: Throughput = field(default_factory=Throughput)

    def with_file_rates(self, partitions: Set[TopicPartition]) -> RouteSnapshot:
        """Returns the snapshot with rates of the throughput file if measured rates cannot be
        believed.

        The file has to cover at least MEASURED_PART_MIN of the partitions. File rates do not count
        as measured: the guard against too few measured partitions still applies.
        """
        if self.degraded is None:
            return self
        in_file = {each for each in partitions if self.throughput.rate(each)}
        if not in_file:
            return self
        if measured_part(in_file, partitions) < MEASURED_PART_MIN:
            few = f"throughput_file has rates of {len(in_file)} of {len(partitions)} partitions"
            return replace(self, degraded=f"{self.degraded}; {few}")
        older = {each: rate for each, rate in self.rates.items() if each not in in_file}
        return replace(self, rates=older, degraded=None)
