"""Connections of a region's balancer: made here, and used by rounds and previews."""

from __future__ import annotations

from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance, Route
from replicator.kafka.tail import compacted_topic
from replicator.mirror.offset_map.carrier_reports import CarrierReports
from replicator.orders import status_board
from replicator.orders.balance_log import BalanceLog
from replicator.orders.status_board import StatusBoard
from replicator.placement.rounds.route_inputs import RouteInputs
from replicator.placement.rounds.source_watch import SourceWatch
from replicator.placement.rounds.throughput_watch import ThroughputWatch


class BalancerConnections:
    """Maker of the connections of one region's balancer. The caller closes what is returned.

    Args:
        timeout_seconds: for the order log and for Redis; None: the defaults of each.
    """

    def __init__(
        self, appliance: Appliance, region: str, timeout_seconds: float | None = None
    ) -> None:
        self._appliance, self._region = appliance, region
        self._settings = appliance.region(region)
        self._timeout_seconds = timeout_seconds

    def balance_log(self) -> BalanceLog:
        seconds = self._timeout_seconds or compacted_topic.TIMEOUT_SECONDS
        return BalanceLog(ClusterName.aggregate(self._region), self._settings.aggregate, seconds)

    def status_board(self) -> StatusBoard:
        seconds = self._timeout_seconds or status_board.TIMEOUT_SECONDS
        return StatusBoard(self._settings.redis_url(), self._region, seconds)

    def source_watch(self, route: Route) -> SourceWatch:
        return SourceWatch(self._appliance, route)

    def report_store(self) -> CarrierReports:
        return CarrierReports(self._settings.redis_url())

    def route_inputs(self, route: Route) -> RouteInputs:
        """Returns the inputs of a route into the region."""
        file = ThroughputWatch(self._appliance.balance.throughput_file, route.source)
        return RouteInputs(route, self.source_watch(route), self.report_store(), file)
