"""Inputs of one route's rounds: traffic of its source, reports of its carriers, throughput file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf

from balancer.demand.load_model import LoadModel
from balancer.topic_partition import TopicPartition
from replicator.config.topology import Route
from replicator.mirror.offset_map.carrier_reports import CarrierReports
from replicator.mirror.offset_map.reports import PartitionReport
from replicator.orders.active_plan import ActivePlan
from replicator.orders.order_log import OrderLog
from replicator.placement.rounds.route_snapshot import RouteSnapshot
from replicator.placement.rounds.source_watch import SourceWatch
from replicator.placement.rounds.throughput_watch import ThroughputWatch
from replicator.runtime.clock import monotonic
from replicator.runtime.run_in_thread import run_in_thread

Reports = dict[TopicPartition, PartitionReport]


class HeardCarriers:
    """Carriers of a route, and since when each one's reports are the same.

    Time is this process's own. A carrier's clock may be ahead of it or behind: the time in a report
    only tells that it is another one.
    """

    def __init__(self) -> None:
        self._seen: dict[int, tuple[float, float]] = {}
        """The time in the newest report of each carrier, and when this report was seen first."""

    def unchanged_seconds(self, reports: Iterable[PartitionReport], now: float) -> dict[int, float]:
        """Returns, by carrier, for how long its newest report has been seen; 0 for a new one.

        Args:
            reports: all that are there now.
            now: monotonic time in seconds.
        """
        newest: dict[int, float] = {}
        for report in reports:
            newest[report.carrier] = max(report.at, newest.get(report.carrier, report.at))
        seen = self._seen
        self._seen = {
            carrier: seen[carrier] if carrier in seen and seen[carrier][0] == at else (at, now)
            for carrier, at in newest.items()
        }
        return {carrier: now - since for carrier, (_, since) in self._seen.items()}


class RouteInputs:
    """Inputs of one route's rounds.

    Args:
        source: traffic of the route's source; closed with the inputs.
        report_store: reports of the route's carriers; closed with the inputs.
        file: throughput file.
        clock: monotonic time in seconds.
    """

    def __init__(
        self,
        route: Route,
        source: SourceWatch,
        report_store: CarrierReports,
        file: ThroughputWatch,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.source = source
        self._route, self._report_store, self._file = route, report_store, file
        self._heard, self._clock = HeardCarriers(), clock

    async def reports(self) -> Reports:
        """Returns the newest report of each partition.

        Raises:
            StoreUnreachable: Redis does not answer.
            ValueError: another version of Sluice wrote the reports.
        """
        (found,) = await run_in_thread(self._report_store.reports, [self._route.key])
        return {TopicPartition(topic, number): it for (_, topic, number), it in found.items()}

    async def snapshot(
        self,
        now_ms: int,
        order_log: OrderLog,
        active_plan: ActivePlan,
        reports: Reports,
        costs: LoadModel,
        plan_seconds: float = inf,
        uptime_ms: int | None = None,
    ) -> RouteSnapshot:
        """Returns the knowledge about the route.

        Args:
            now_ms: Unix time in milliseconds.
            costs: cost of carrying, if no capacity is configured.
            plan_seconds: time for which this process has seen the plan.
            uptime_ms: of the region's balancers; None: as the order log has it.
        """
        topics = {each.topic for each in active_plan.partitions(self._route.key)}
        throughput = await run_in_thread(self._file.throughput, topics)
        return RouteSnapshot(
            now_ms=now_ms,
            order_log=order_log,
            active_plan=active_plan,
            uptime_ms=order_log.uptime_ms() if uptime_ms is None else uptime_ms,
            plan_seconds=plan_seconds,
            rates=self.source.rates(now_ms),
            fresh=self.source.fresh(now_ms),
            reports=reports,
            unchanged_seconds=self._heard.unchanged_seconds(reports.values(), self._clock()),
            degraded=self.source.degraded(now_ms),
            costs=costs,
            throughput=throughput,
        )

    async def aclose(self) -> None:
        """Closes the connections to the source, its history and Redis."""
        try:
            await self.source.close()
        finally:
            self._report_store.close()
